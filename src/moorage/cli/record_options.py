"""`--record DIR`, `--record-keep` and `--anonymize`, for `run`, `simulate` and `shadow`."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from moorage.api import quantity
from moorage.app.config_bundle import ConfigBundle
from moorage.cli.common import F, with_options
from moorage.cli.standard_streams import echo
from moorage.config.durations import Duration
from moorage.config.field_errors import InputError
from moorage.framework.plugin import Plugin
from moorage.scheduler.attempt import Tap, TapOf

if TYPE_CHECKING:  # imported only if something is recorded
    from moorage.recording.entries import Configured
    from moorage.recording.retention import Retention

RECORD: Final = (
    click.option(
        "--record",
        default="",
        metavar="DIR",
        help="Keep everything decisions depend on in this folder, for `moorage replay`. It is "
        "secret material: names, labels and annotations of the whole cluster.",
    ),
    click.option(
        "--record-keep",
        default="",
        metavar="SIZE|TIME",
        help="Keep that much of a recording, as 10GiB or 48h: what is older is removed, file by "
        "file, and the rest can be replayed. [default: all]",
    ),
    click.option(
        "--anonymize",
        is_flag=True,
        help="Replace names, labels, namespaces and images in the recording when the command ends, "
        "as `moorage record anonymize` does; what was recorded with names is removed then.",
    ),
)
SECRET: Final = (
    "{} will hold names, labels and annotations of the whole cluster: keep it as you keep secrets; "
    "`moorage record anonymize` makes a copy to hand on"
)
NOT_YET_ANONYMOUS: Final = (
    "{} holds names, labels and annotations of the whole cluster until the command ends: "
    "pseudonyms keep the order of names, so all of them have to be known first"
)
WITH_NAMES: Final = ".with-names"
"""The suffix of the folder that holds a recording until it is anonymized."""
BAD_KEEP: Final = "--record-keep {}: write a size, as 10GiB, or a length of time, as 48h"


def record_options(command: F) -> F:
    """Give a command these options."""
    return with_options(RECORD, command)


class RecordTo(NamedTuple):
    """Where to record to, if anywhere; the options as given."""

    folder: str = ""
    anonymize: bool = False
    keep: str = ""

    def retention(self) -> "Retention":
        """How much to keep; raises InputError if the option is neither a size nor a time."""
        from moorage.recording.retention import Retention

        if not self.keep:
            return Retention()
        seconds, size = _seconds(self.keep), _bytes(self.keep)
        if seconds > 0:
            return Retention(seconds=seconds)
        if size <= 0:
            raise InputError([BAD_KEEP.format(self.keep)])
        return Retention(size=size)

    def check(self) -> None:
        """Raise InputError if the options contradict each other."""
        if not self.folder and (self.anonymize or self.keep):
            raise InputError(["--record-keep and --anonymize: name a folder with --record DIR"])


def _seconds(text: str) -> float:
    """A duration in seconds; 0 if the text is none."""
    try:
        return Duration.parse(text).seconds
    except ValueError:
        return 0.0


def _bytes(text: str) -> int:
    """A size in bytes, such as `10Gi` or `10GiB`; 0 if the text is none."""
    try:
        return quantity.value(text.removesuffix("B"))
    except ValueError:
        return 0


NOT_RECORDED: Final = RecordTo()


class Recordings:
    """The recordings of a command; this class makes none."""

    tap_of: TapOf | None = None
    """Creates the tap of a scheduler."""

    def applied(
        self, found: ConfigBundle, known: Mapping[str, type[Plugin]], plugins: Sequence[str] = ()
    ) -> None:
        """A configuration became active; `plugins` are the `--plugin` arguments."""


class RecordingTo(Recordings):
    """A recording in a folder, appended to what it holds already."""

    def __init__(self, folder: Path, failed: Callable[[str], None], kept: "Retention") -> None:
        from moorage.recording.journal import Journal
        from moorage.recording.recorder import Recorder
        from moorage.recording.segments import SegmentWriter

        self.journal = Journal(SegmentWriter(folder), failed, kept=kept)
        self._recorder: Recorder | None = None
        self._configured: Configured | None = None
        self.plugins: tuple[str, ...] = ()
        """The `--plugin` arguments of the last configuration."""
        self.tap_of = self._tap

    def applied(
        self, found: ConfigBundle, known: Mapping[str, type[Plugin]], plugins: Sequence[str] = ()
    ) -> None:
        from moorage.recording.configuration import configured

        self.plugins = tuple(plugins)
        self._configured = configured(found, known, plugins)
        if self._recorder is not None:
            self._recorder.configured(self._configured)

    def _tap(self, now: Callable[[], float]) -> Tap:
        from moorage.recording.recorder import Recorder

        self._recorder = Recorder(self.journal.write, now, self.journal.rotation)
        if self._configured is not None:
            self._recorder.configured(self._configured)
        return self._recorder


def _warn(line: str) -> None:
    echo(f"warning: {line}", err=True)


@contextmanager
def recording_to(given: RecordTo, say: Callable[[str], None] = _warn) -> Iterator[Recordings]:
    """A recording while a command runs, or none; tells what became of it."""
    given.check()
    if not given.folder:
        yield Recordings()
        return
    folder = Path(f"{given.folder}{WITH_NAMES}" if given.anonymize else given.folder)
    say((NOT_YET_ANONYMOUS if given.anonymize else SECRET).format(folder))
    made = RecordingTo(folder, say, given.retention())
    try:
        yield made
    finally:
        made.journal.close()
        if not made.journal.trouble:
            count, size = made.journal.entries, made.journal.written
            echo(f"recorded {count} entries in {size} bytes: {folder}", err=True)
        if given.anonymize:
            _anonymize(folder, Path(given.folder), made.plugins, say)


def _anonymize(
    folder: Path, target: Path, plugins: tuple[str, ...], say: Callable[[str], None]
) -> None:
    """Keep only the anonymous copy; if it cannot be made, say so, and keep the original."""
    from moorage.recording.anonymous import anonymous_entries
    from moorage.recording.configuration import LoadedPlugins
    from moorage.recording.journal import write_recording

    try:
        count = write_recording(target, anonymous_entries(folder, LoadedPlugins(plugins)))
    except InputError as error:
        say(f"{error}; {folder} holds it with names")
        return
    shutil.rmtree(folder)
    echo(f"{target}: {count} entries without names; every decision is the same", err=True)
