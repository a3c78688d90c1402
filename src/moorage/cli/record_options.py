"""`--record DIR`: what `run`, `simulate` and `shadow` have in common."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from moorage.app.config_bundle import ConfigBundle
from moorage.framework.plugin import Plugin
from moorage.scheduler.attempt import Tap, TapOf

if TYPE_CHECKING:  # imported where something is recorded
    from moorage.recording.entries import Configured

RECORD: Final = click.option(
    "--record",
    default="",
    metavar="DIR",
    help="Keep everything decisions depend on in this folder, for `moorage replay`. It is secret "
    "material: names, labels and annotations of the whole cluster.",
)
SECRET: Final = (
    "{} will hold names, labels and annotations of the whole cluster: keep it as you keep secrets; "
    "`moorage record anonymize` makes a copy to hand on"
)


class Recordings:
    """No recording is made."""

    tap_of: TapOf | None = None
    """What a scheduler is to be tapped by."""

    def applied(
        self, found: ConfigBundle, known: Mapping[str, type[Plugin]], plugins: Sequence[str] = ()
    ) -> None:
        """A configuration takes over; `plugins` are the `--plugin` arguments."""


class RecordingTo(Recordings):
    """A recording in a folder, after what is there already."""

    def __init__(self, folder: Path, failed: Callable[[str], None]) -> None:
        from moorage.recording.journal import Journal
        from moorage.recording.recorder import Recorder
        from moorage.recording.segments import SegmentWriter

        self.journal = Journal(SegmentWriter(folder), failed)
        self._recorder: Recorder | None = None
        self._configured: Configured | None = None
        self.tap_of = self._tap

    def applied(
        self, found: ConfigBundle, known: Mapping[str, type[Plugin]], plugins: Sequence[str] = ()
    ) -> None:
        from moorage.recording.configuration import configured

        self._configured = configured(found, known, plugins)
        if self._recorder is not None:
            self._recorder.configured(self._configured)

    def _tap(self, now: Callable[[], float]) -> Tap:
        from moorage.recording.recorder import Recorder

        self._recorder = Recorder(self.journal.write, now)
        if self._configured is not None:
            self._recorder.configured(self._configured)
        return self._recorder


def _warn(line: str) -> None:
    click.echo(f"warning: {line}", err=True)


@contextmanager
def recording_to(folder: str, say: Callable[[str], None] = _warn) -> Iterator[Recordings]:
    """A recording for the length of a command, or none; what becomes of it is said."""
    if not folder:
        yield Recordings()
        return
    say(SECRET.format(folder))
    made = RecordingTo(Path(folder), say)
    try:
        yield made
    finally:
        made.journal.close()
        if not made.journal.trouble:
            count, size = made.journal.entries, made.journal.written
            click.echo(f"recorded {count} entries in {size} bytes: {folder}", err=True)
