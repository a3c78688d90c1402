"""A progress bar for the stages of a command, on a terminal, once they take over a second."""

import sys
import threading
from types import TracebackType
from typing import Final

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from moorage.cli.terminal import Terminal
from moorage.observe.records import Attempt

PATIENCE_SECONDS: Final = 1.0
SCHEDULING: Final = "scheduling pods"


def terminal_bar(timing: ProgressColumn) -> Progress:
    """A bar on standard error that disappears when it is done; hidden if that is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        timing,
        console=Terminal(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


class StageProgress:
    """Stages of a command, on standard error; the last stage counts pods at their first attempt."""

    def __init__(self, first: str) -> None:
        self._bar = terminal_bar(TimeElapsedColumn())
        self._task = self._bar.add_task(first, total=None)
        self._timer = threading.Timer(PATIENCE_SECONDS, self._bar.start)
        self._timer.daemon = True

    def __enter__(self) -> "StageProgress":
        if not self._bar.disable:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if not self._bar.disable:
            self._timer.cancel()
            self._timer.join()
            self._bar.stop()

    def begin(self, pods: int) -> None:
        """This many pods are about to be scheduled."""
        self._bar.update(self._task, description=SCHEDULING, total=pods, completed=0)

    def attempted(self, attempt: Attempt) -> None:
        """An attempt at a pod ended."""
        if attempt.attempts == 1 and not self._bar.disable:
            self._bar.advance(self._task)
