"""`moorage replay`: a recording played back, decision by decision."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
import yaml

from moorage.app.output_files import write_private
from moorage.cli.command_exit import FAILED
from moorage.cli.common import PLUGIN, PORT, exit_on_bad_input, warn
from moorage.cli.replay_text import print_attempt, print_played
from moorage.cli.serve_options import DEFAULT_PORT, refuse_port_without
from moorage.cli.standard_streams import echo, stdout_to_stderr
from moorage.cli.terminal import Terminal
from moorage.config.field_errors import InputError
from moorage.simulate.manifest_files import Manifest

if TYPE_CHECKING:  # imported only if something is replayed
    from moorage.recording.configuration import LoadedPlugins


@click.command("replay", short_help="Play a recording back, decision by decision.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@PLUGIN
@click.option(
    "--until",
    default="",
    metavar="ATTEMPT|TIME",
    help="Stop at an attempt, by its id, or by its number, as #17, and tell how it came out; or at "
    "a time, as 2026-03-01T12:05:00Z.",
)
@click.option(
    "--changed-plugins",
    "changed",
    is_flag=True,
    help="Take a --plugin whose code is not that of the recording, to see what differs.",
)
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="FILE",
    help="With --until: what would this configuration have made of it, from there on? May be "
    "repeated.",
)
@click.option(
    "--snapshot",
    default="",
    metavar="FILE.yaml",
    help="With --until: keep the cluster as it was just before, as manifests.",
)
@click.option(
    "--dashboard",
    is_flag=True,
    help="Afterwards, show the cluster of that moment and the decisions up to it, until Ctrl-C.",
)
@click.option(
    "--http-port",
    type=PORT,
    default=DEFAULT_PORT,
    show_default=True,
    metavar="PORT",
    help="The port of 127.0.0.1 that --dashboard serves it at; 0: any free one.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Words to read, or data to process.",
)
@exit_on_bad_input
def replay_command(
    folder: Path,
    plugins: tuple[str, ...],
    changed: bool,
    until: str,
    configs: tuple[str, ...],
    snapshot: str,
    dashboard: bool,
    http_port: int,
    output: str,
) -> None:
    """Make every decision of a recording again, and compare it with the one that was made.

    DIR is the folder that `moorage run --record DIR`, `simulate` or `shadow` has written. Either
    the decisions are bit-identical, or the first that differs is shown: the pod, the plugin, both
    scores or verdicts, and which code or configuration differs. Nothing leaves this machine, and
    nothing is written to any cluster. Plugins that are not installed are given with --plugin: no
    file that a recording names is run.

    \b
    Examples:
      moorage simulate examples/demo/cluster examples/demo/workloads --record demo
      moorage replay demo
      moorage replay incident --plugin rules.py --changed-plugins
      moorage replay incident --until 3f2a --snapshot moment.yaml
      moorage replay incident --until 3f2a --config other.yaml
      moorage replay incident --until 3f2a --dashboard
      moorage explain --recording incident --at 3f2a

    The exit code is 0 where every decision is the same, 1 where one differs, and 2 where the input
    is at fault. With --config it is 1 where a plugin raised.
    """
    from moorage.cli.replay_dashboard import ReplayedRecords, serve_replay
    from moorage.recording.configuration import LoadedPlugins
    from moorage.recording.manifests import manifests_at
    from moorage.recording.play import Player

    if (snapshot or configs) and not until:
        raise InputError(["--snapshot and --config: name the moment with --until ATTEMPT"])
    if configs and (snapshot or dashboard):
        raise InputError(["--config compares: run --snapshot and --dashboard by themselves"])
    if not dashboard:
        refuse_port_without("--dashboard")
    if configs:
        _compare(folder, until, configs, LoadedPlugins(plugins, changed), output)
        return
    with stdout_to_stderr():
        kept = ReplayedRecords()
        heard = kept.made if dashboard else _ignore
        player = Player(folder, LoadedPlugins(plugins, changed), heard=heard)
        if until:
            stop = player.play_until(until)
            if snapshot:
                _keep(snapshot, yaml_of(manifests_at(stop.replay)))
            if stop.entry is not None:
                player.replay.apply(stop.entry)
        played = player.played() if until else player.play()
    warn(played.torn)
    if until and output != "json":
        print_attempt(stop, Terminal(highlight=False))
    if output == "json":
        echo(msgspec.json.encode(played))
    else:
        print_played(played, Terminal(highlight=False))
    if dashboard:
        serve_replay(player.replay, kept.records, http_port)
    sys.exit(0 if played.divergence is None else FAILED)


def _ignore(made: object) -> None:
    """Ignore an attempt: no dashboard shows it."""


def _compare(
    folder: Path, until: str, configs: tuple[str, ...], plugins: "LoadedPlugins", output: str
) -> None:
    from moorage.cli import comparison_output
    from moorage.recording.past import compared

    with stdout_to_stderr():
        found = compared(folder, until, configs, plugins)
    if output == "json":
        comparison_output.write_json(found.as_data())
    else:
        comparison_output.print_comparison(found)
    if comparison_output.say_what_failed(found):
        sys.exit(FAILED)


def _keep(file: str, content: bytes) -> None:
    try:
        write_private(file, content)
    except OSError as error:
        raise InputError([f"--snapshot {file}: {(error.strerror or str(error)).lower()}"]) from None


def yaml_of(manifests: Iterable[Manifest]) -> bytes:
    """Manifests as the documents of one YAML file."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return b"".join(
        yaml.dump(each.raw, Dumper=dumper, sort_keys=False, explicit_start=True).encode()
        for each in manifests
    )
