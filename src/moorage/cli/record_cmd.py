"""`moorage record`: recordings cut, and made anonymous."""

from pathlib import Path

import click

from moorage.cli.common import PLUGIN, exit_on_bad_input
from moorage.cli.standard_streams import echo, stdout_to_stderr

FOLDER = click.Path(path_type=Path)


@click.group("record", short_help="Cut recordings, or make them anonymous.")
def record_command() -> None:
    """Look after recordings, as `moorage run --record DIR` makes them.

    \b
    Examples:
      moorage record cut prod incident --around 2026-03-01T12:05:00Z --minutes 5
      moorage record cut prod incident --around 3f2a --minutes 1
      moorage record anonymize incident for-the-bug-report
    """


@record_command.command("cut", short_help="Keep the minutes around an incident.")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.argument("target", metavar="NEW", type=FOLDER)
@click.option(
    "--around",
    required=True,
    metavar="TIME|ATTEMPT",
    help="A time, as 2026-03-01T12:05:00Z; an attempt by its id, or by its number, as #17.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    help="How much to keep before and after.",
)
@PLUGIN
@exit_on_bad_input
def cut_command(
    folder: Path, target: Path, around: str, minutes: float, plugins: tuple[str, ...]
) -> None:
    """Write a recording that begins and ends around an incident; `moorage replay NEW` plays it.

    The new recording starts with the cluster of its first moment: nodes, pods and other objects.
    """
    from moorage.recording.configuration import LoadedPlugins
    from moorage.recording.cut import Span, cut_entries, span_around
    from moorage.recording.journal import write_recording
    from moorage.recording.moments import parse_time

    at, seconds = parse_time(around), 60 * minutes
    with stdout_to_stderr():
        span = (
            span_around(folder, around, seconds) if at is None else Span(at - seconds, at + seconds)
        )
        count = write_recording(target, cut_entries(folder, span, LoadedPlugins(plugins)))
    echo(f"{target}: {count} entries, {_size(target)} bytes")


@record_command.command("anonymize", short_help="Replace names, labels, namespaces and images.")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.argument("target", metavar="NEW", type=FOLDER)
@PLUGIN
@exit_on_bad_input
def anonymize_command(folder: Path, target: Path, plugins: tuple[str, ...]) -> None:
    """Write a copy to hand on: pseudonyms for names, and every decision the same.

    Names, namespaces, labels and images are replaced, equal ones by equal ones. Amounts, constants
    and devices stay, by the field that holds them. Annotations are dropped, except those that
    decide. Every attempt is made again without names, and must have the
    same result. The configuration, and names in it, stay as they are: read it before you share it.
    """
    from moorage.recording.anonymous import anonymous_entries
    from moorage.recording.configuration import LoadedPlugins
    from moorage.recording.journal import write_recording

    with stdout_to_stderr():
        count = write_recording(target, anonymous_entries(folder, LoadedPlugins(plugins)))
    echo(f"{target}: {count} entries, {_size(target)} bytes; every decision is the same")


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())
