"""A bar that shows how many runs of a sweep are done; only on a terminal."""

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from moorage.simulate.scenario_run import RunResult
from moorage.simulate.sweep import Task


class RunProgress:
    """Counts runs, on standard error."""

    def __init__(self, total: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("runs", total=total)

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def done(self, task: Task, result: RunResult) -> None:
        """One more run is done."""
        self._bar.update(self._task, advance=1, description=f"{task.candidate.name}, {task.seed}")
