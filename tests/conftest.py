"""What holds for all tests."""

import gc
import os
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any, Final

import pytest

from moorage import kernels
from tests.support.profiles import PROFILE  # HYPOTHESIS_PROFILE=fast, or long in long-tests

pytest_plugins = ["tests.support.costs"]


@pytest.fixture(autouse=True)
def _no_kernel_refused() -> Iterator[None]:
    """A kernel that refuses goes unnoticed otherwise: its numpy form does the work."""
    yield
    refused = dict(kernels.refusals)
    kernels.refusals.clear()
    assert refused == {}


KUBE_SECONDS = 400.0
"""A control plane that starts in seconds may take minutes where everybody wants the processor."""
LONG_SECONDS = 1800.0
"""A thousand examples of a property take minutes."""
ELSEWHERE: Final = {
    "long": "make long-tests",
    "browser": "make browser-tests",
    "kube": "make kube-tests",
}
"""What runs tests of a marker that `make test` leaves out; of two markers, the first decides."""
LEFT_OUT: Final = pytest.StashKey[Counter[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = Counter()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("timeout"):
            continue
        if item.get_closest_marker("kube"):
            item.add_marker(pytest.mark.timeout(KUBE_SECONDS))
        elif PROFILE == "long" or item.get_closest_marker("long"):
            item.add_marker(pytest.mark.timeout(LONG_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """What is collected stays: a look for garbage would go through all of it, each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where Kubernetes' programs are required, no test of theirs is skipped."""
    report = yield
    of_theirs = item.get_closest_marker("kube") and not item.get_closest_marker("browser")
    if report.skipped and of_theirs and os.environ.get("REQUIRE_KUBE") == "1":
        report.outcome = "failed"
        report.longrepr = f"{report.longrepr}, and REQUIRE_KUBE=1"
    return report


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        marker = next((name for name in ELSEWHERE if item.get_closest_marker(name)), None)
        if marker is not None:
            item.config.stash[LEFT_OUT][marker] += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        left_out = session.config.stash[LEFT_OUT]
        output["left out"] = dict(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every worker of pytest-xdist collects, and so leaves out, the same tests."""
    told = getattr(node, "workeroutput", {}).get("left out", {})
    node.config.stash[LEFT_OUT].update(Counter(told) - node.config.stash[LEFT_OUT])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what was left out, and what runs it."""
    left_out = config.stash[LEFT_OUT]
    if left_out and not config.option.keyword:
        parts = [f"{count} ({ELSEWHERE[name]})" for name, count in sorted(left_out.items())]
        terminalreporter.write_line(f"left out: {', '.join(parts)}")
