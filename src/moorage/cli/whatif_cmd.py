"""`moorage whatif`: what happens to a cluster if it is changed."""

import sys
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from moorage.app.inputs import read_configuration
from moorage.cli.cluster_options import (
    ClusterChoice,
    ManifestCommand,
    say_of_run,
    with_cluster_options,
)
from moorage.cli.command_exit import FAILED
from moorage.cli.common import TABLE_OR_JSON, exit_on_bad_input
from moorage.cli.server_question import without_server
from moorage.cli.standard_streams import echo, stdout_to_stderr
from moorage.cli.terminal import Terminal
from moorage.cli.whatif_text import print_answers
from moorage.config.field_errors import InputError
from moorage.explain.what_if_answer import Start, answer, settle
from moorage.explain.what_if_changes import AddedNodes, Changes, read_changes
from moorage.simulate.size_limits import MOST_NODES, MOST_PODS, read_count


@click.command("whatif", cls=ManifestCommand, short_help="Say what happens if a cluster changes.")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("--scenarios", "-f", "file", metavar="FILE", help="A WhatIf: many scenarios at once.")
@click.option("--add-node", "added", multiple=True, metavar="COUNT=FILE|NODE", help="Add nodes.")
@click.option("--drain", "drained", multiple=True, metavar="NODE", help="Drain a node.")
@click.option("--remove", "removed", multiple=True, metavar="NODE", help="Take a node away.")
@click.option(
    "--lose-zone", "zones", multiple=True, metavar="ZONE", help="Remove all nodes of a zone."
)
@click.option(
    "--scale", "scaled", multiple=True, metavar="KIND/NAME=COUNT", help="Scale a workload."
)
@click.option(
    "--to-config", default="", metavar="FILE", help="Schedule with another configuration."
)
@without_server
@with_cluster_options
@TABLE_OR_JSON
@exit_on_bad_input
def whatif_command(
    paths: tuple[str, ...],
    file: str | None,
    added: tuple[str, ...],
    drained: tuple[str, ...],
    removed: tuple[str, ...],
    zones: tuple[str, ...],
    scaled: tuple[str, ...],
    to_config: str,
    output: str,
    **given: Any,
) -> None:
    """Tell what moves, what becomes pending and what becomes placed if a cluster is changed.

    PATHs are manifests as `moorage simulate` reads them. Without PATHs a live cluster is read, with
    lists only. Waiting pods are scheduled first, and every scenario starts from that. The flags
    make one scenario; a file may have many. Nothing is changed outside this process. The exit code
    is 1 if a plugin raised.

    \b
    Examples:
      moorage whatif cluster/ app.yaml --lose-zone eu-1a
      moorage whatif --context staging --drain node-3 --add-node 2=node-1
      moorage whatif snapshot.yaml -f scenarios.yaml -o json
    """
    flags = _flags(added, drained, removed, zones, scaled, to_config)
    scenarios = [*(read_changes(file) if file else ()), *([flags] if flags is not None else ())]
    if not scenarios:
        raise InputError(["nothing to change: give --drain, --add-node ..., or -f FILE"])
    with stdout_to_stderr():
        named = {each.config: f"-f {file}: config" for each in scenarios if each.config}
        if to_config:
            named[to_config] = "--to-config"
        start = _start(ClusterChoice(paths, **given), named)
        say_of_run(start.settled)
        answers = [answer(start, each) for each in scenarios]
    if output == "json":
        echo(msgspec.json.encode(answers))
    else:
        print_answers(answers, Terminal(highlight=False))
    if start.settled.errors or any(each.errors for each in answers):
        sys.exit(FAILED)


def _start(choice: ClusterChoice, named: Mapping[str, str]) -> Start:
    """The cluster that scenarios start from. Their configurations, and the files that name them,
    are read before it is scheduled."""
    found = choice.read()
    configured = {
        file: found.with_policies(read_configuration(file, found.known, option))
        for file, option in named.items()
    }
    return settle(*found[:3], choice.seed, configured.__getitem__, validate=choice.validate)


def _flags(
    added: tuple[str, ...],
    drained: tuple[str, ...],
    removed: tuple[str, ...],
    zones: tuple[str, ...],
    scaled: tuple[str, ...],
    config: str,
) -> Changes | None:
    """The scenario of the flags; None without any flag."""
    if not any((added, drained, removed, zones, scaled, config)):
        return None
    return Changes(
        name="as given",
        add_nodes=tuple(AddedNodes(count, like) for like, count in map(_counted, added)),
        drain=drained,
        remove=removed,
        lose_zones=zones,
        scale=dict(map(_scaled, scaled)),
        config=config,
    )


def _counted(words: str) -> tuple[str, int]:
    count, _, what = words.partition("=")
    if not count.isdecimal() or not what:
        raise InputError([f"--add-node {words}: write COUNT=FILE or COUNT=NODE, as in 3=node-1"])
    return what, read_count(count, MOST_NODES, "nodes of a template", f"--add-node {words}")


def _scaled(words: str) -> tuple[str, int]:
    what, _, count = words.rpartition("=")
    if not count.isdecimal() or not what:
        raise InputError([f"--scale {words}: write KIND/[NAMESPACE/]NAME=COUNT"])
    return what, read_count(count, MOST_PODS, "pods of a workload", f"--scale {words}")
