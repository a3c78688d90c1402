"""A progress bar for the runs of a sweep; only on a terminal."""

from types import TracebackType

from rich.progress import TimeRemainingColumn

from moorage.cli.stage_progress import terminal_bar
from moorage.simulate.scenario_run import RunResult
from moorage.simulate.sweep import Task


class RunProgress:
    """Counts runs, on standard error."""

    def __init__(self, total: int) -> None:
        self._bar = terminal_bar(TimeRemainingColumn())
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
