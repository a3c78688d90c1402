import datetime

import pytest

from moorage.api.meta import ObjectMeta
from moorage.api.pod import Pod, PodSpec, PodStatus
from moorage.preemption.candidates import least_harmful
from moorage.preemption.victims import Victims


def victim(priority: int, started: int | None = 0) -> Pod:
    start = None if started is None else datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    if start is not None and started:
        start += datetime.timedelta(seconds=started)
    return Pod(
        metadata=ObjectMeta(name="victim", namespace="default"),
        spec=PodSpec(priority=priority),
        status=PodStatus(start_time=start),
    )


def victims(*priorities: int, violations: int = 0) -> Victims:
    return Victims(tuple(victim(priority) for priority in priorities), violations)


@pytest.mark.parametrize(
    ("candidates", "want"),
    [
        pytest.param({}, [], id="nobody is chosen from nothing"),
        pytest.param({"a": victims(5)}, ["a"], id="a single candidate is chosen"),
        pytest.param(
            {"a": victims(0, violations=1), "b": victims(1000, 1000)},
            ["b"],
            id="budgets come before priorities",
        ),
        pytest.param(
            {"a": victims(10), "b": victims(9, 9, 9)},
            ["b"],
            id="the most important victim comes before the number of victims",
        ),
        pytest.param(
            {"a": victims(10, 8), "b": victims(10, 7)}, ["b"], id="then the sum of priorities"
        ),
        pytest.param(
            {"a": victims(-5, -5), "b": victims(-5)},
            ["b"],
            id="more victims cost more, even with priorities below zero",
        ),
        pytest.param(
            {"a": victims(2, 0, 0), "b": victims(2, 2)}, ["b"], id="few victims cost less than many"
        ),
        pytest.param(
            {
                "a": Victims((victim(5, started=10), victim(5, started=90))),
                "b": Victims((victim(5, started=20), victim(5, started=20))),
            },
            ["b"],
            id="then the latest start of the oldest victim",
        ),
        pytest.param(
            {
                "a": Victims((victim(5, started=10), victim(1, started=90))),
                "b": Victims((victim(5, started=20), victim(1, started=0))),
            },
            ["b"],
            id="only victims of the highest priority are asked for their start",
        ),
        pytest.param(
            {"a": Victims((victim(5, None),)), "b": Victims((victim(5, started=90),))},
            ["a"],
            id="a victim that has not started is the youngest",
        ),
        pytest.param(
            {"a": victims(5), "b": victims(6), "c": victims(5)},
            ["a", "c"],
            id="what no rule tells apart is a tie",
        ),
    ],
)
def test_the_node_that_hurts_least(candidates: dict[str, Victims], want: list[str]) -> None:
    assert want == least_harmful(candidates)
