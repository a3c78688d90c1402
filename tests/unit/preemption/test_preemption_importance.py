import datetime

import pytest

from moorage.api.meta import ObjectMeta
from moorage.api.pod import Pod, PodSpec, PodStatus
from moorage.cache.cache import Cache
from moorage.preemption import victims

NEW_YEAR = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def pod(name: str, priority: int = 0, started: int | None = 0) -> Pod:
    start = None if started is None else NEW_YEAR + datetime.timedelta(seconds=started)
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=name),
        spec=PodSpec(priority=priority),
        status=PodStatus(start_time=start),
    )


def ranked(pods: list[Pod]) -> list[str]:
    cache = Cache()
    return [info.pod.name for info in victims.rank(map(cache.info, pods)).infos]


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([pod("a", 2, 9), pod("b", 1, 0)], id="the higher priority"),
        pytest.param([pod("a", 1, 3), pod("b", 1, 4)], id="of equal priorities the earlier start"),
        pytest.param(
            [pod("a", 1, 5), pod("b", 1, None)], id="a pod that has started before one that has not"
        ),
    ],
)
def test_the_more_important_pod(pods: list[Pod]) -> None:
    assert ranked(pods) == ranked(pods[::-1]) == ["a", "b"]


def test_equals_stay_as_they_came() -> None:
    assert ranked([pod("b"), pod("a")]) == ["b", "a"]


def test_pods_that_have_not_started_stay_as_they_came_however_many() -> None:
    """They count as starting one after the other, so no two of them are equal."""
    pods = [pod(f"{number:02}", number % 3, None) for number in range(40)]
    want = [f"{n:02}" for rest in (2, 1, 0) for n in range(40) if n % 3 == rest]

    assert ranked(pods) == want


def test_many_equals_are_exchanged_as_go_exchanges_them() -> None:
    pods = [pod(str(number), -(number * number % 5)) for number in range(13)]

    assert list(map(int, ranked(pods))) == [5, 10, 0, 9, 4, 6, 1, 11, 3, 7, 8, 2, 12]


def test_some_of_a_ranking_are_put_in_order_again() -> None:
    cache = Cache()
    ranking = victims.rank(map(cache.info, [pod("a", 3), pod("b", 2), pod("c", 1)]))

    assert ranking.in_order([2, 0]) == [0, 2]
