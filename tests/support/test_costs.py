"""Dear tests are named, wherever they ran."""

import pytest

from tests.support.costs import DEAR_SECONDS, Costs


def a_report(name: str, **seconds: float) -> pytest.TestReport:
    """A report as the controller of xdist gets it from a worker."""
    report = pytest.TestReport(
        name, ("file", 1, name), {}, "passed", None, "call", cpu_seconds=seconds
    )
    return pytest.TestReport._from_json(report._to_json())


def costs_of(in_ci: bool) -> Costs:
    costs = Costs(in_ci)
    for number in range(12):
        costs.pytest_runtest_logreport(a_report("quick", **{f"quick {number}": 0.5}))
    costs.pytest_runtest_logreport(a_report("dear", dear=DEAR_SECONDS))
    costs.pytest_runtest_logreport(a_report("dear", dear=0.25))  # its teardown
    return costs


def test_the_slowest_ten_are_listed_first_the_slowest() -> None:
    [(_, lines)] = costs_of(in_ci=False).summary()

    assert lines[0] == "   2.25  dear"
    assert len(lines) == 10


def test_ci_names_what_is_dear_and_nothing_else() -> None:
    [_, (title, lines)] = costs_of(in_ci=True).summary()

    assert "MORE THAN 2 s" in title
    assert lines == ["   2.25  dear", "Named, not failed: a time is no test."]


def test_a_run_without_tests_lists_nothing() -> None:
    costs = costs_of(in_ci=True)
    assert costs.summary()
    costs.seconds.clear()

    assert costs.summary() == []


@pytest.fixture(scope="module")
def shared() -> int:
    return sum(range(2_000_000))


def test_a_shared_fixture_is_charged_to_itself(shared: int, request: pytest.FixtureRequest) -> None:
    (costs,) = (
        each for each in request.config.pluginmanager.get_plugins() if isinstance(each, Costs)
    )

    assert shared
    assert f"{request.node.parent.nodeid}: fixture shared" in costs.seconds
