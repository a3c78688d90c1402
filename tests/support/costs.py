"""What tests cost in seconds of processor time, of processes that they start and await too.

The slowest ten are listed after a run. In CI those that take more than DEAR_SECONDS are listed,
too: no failure, for a busy machine and the first import of a module would fail at random.
"""

import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest

SHOWN = 10
DEAR_SECONDS = 2.0


def cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Costs:
    """Measures where tests run; adds up and tells where they are reported: with xdist elsewhere."""

    def __init__(self, in_ci: bool) -> None:
        self.seconds = defaultdict[str, float](float)
        self._in_ci = in_ci
        self._since = 0.0
        self._shared = defaultdict[str, float](float)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._since = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """What many tests share is no cost of the first of them."""
        before = cpu_seconds()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                spent = cpu_seconds() - before
                self._shared[f"{fixturedef.baseid}: fixture {fixturedef.argname}"] += spent
                self._since += spent

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = cpu_seconds()
        vars(report)["cpu_seconds"] = {report.nodeid: now - self._since, **self._shared}
        self._since = now
        self._shared.clear()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, seconds in getattr(report, "cpu_seconds", {}).items():
            self.seconds[name] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for title, lines in self.summary():
            terminalreporter.section(title)
            terminalreporter.write("".join(f"{line}\n" for line in lines))

    def summary(self) -> list[tuple[str, list[str]]]:
        """Titles, and the lines below each."""
        order = sorted(self.seconds.items(), key=lambda each: -each[1])
        slowest = [f"{seconds:7.2f}  {name}" for name, seconds in order[:SHOWN]]
        dear = [f"{seconds:7.2f}  {name}" for name, seconds in order if seconds > DEAR_SECONDS]
        shown = [("the slowest ten, in seconds of processor time", slowest)] if slowest else []
        if self._in_ci and dear:
            title = f"MORE THAN {DEAR_SECONDS:g} s OF PROCESSOR TIME: to be made quick"
            shown.append((title, [*dear, "Named, not failed: a time is no test."]))
        return shown


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs(in_ci=os.environ.get("CI", "") not in ("", "false", "0")))
