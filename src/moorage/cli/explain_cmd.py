"""`moorage explain`: why a pod is on its node, or why it waits and what would help."""

import sys
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from moorage.cli.cluster_options import ClusterChoice, ManifestCommand, with_cluster_options
from moorage.cli.command_exit import FAILED
from moorage.cli.common import exit_on_bad_input, given_options
from moorage.cli.explain_text import print_explanation
from moorage.cli.server_question import asked_server, with_server_options
from moorage.cli.standard_streams import echo, stdout_to_stderr
from moorage.cli.terminal import Terminal
from moorage.config.field_errors import InputError
from moorage.explain.explanation import Explanation
from moorage.explain.sources import full_name

_OF_THE_PRESENT: Final = frozenset(
    {"server", "token_file", "authority", "insecure", "context", "kubeconfig", "as_is", "seed"}
)
"""The parameters that describe a current cluster."""


@click.command("explain", cls=ManifestCommand, short_help="Say why a pod waits or is where it is.")
@click.argument("paths", nargs=-1, metavar="[PATH...] [POD]")
@click.option("--pod", "pod", default="", metavar="[NAMESPACE/]NAME", help="The pod to explain.")
@click.option("--namespace", "-n", default="", metavar="NAME", help="The pod's namespace.")
@click.option(
    "--recording",
    default="",
    metavar="DIR",
    help="Explain a moment of the past: the cluster as a recording has it just before --at.",
)
@click.option(
    "--at",
    default="",
    metavar="ATTEMPT|TIME",
    help="An attempt by its id, or by its number, as #17; a time, as 2026-03-01T12:05:00Z.",
)
@with_server_options
@with_cluster_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Words to read, or data to process.",
)
@exit_on_bad_input
def explain_command(
    paths: tuple[str, ...],
    pod: str,
    namespace: str,
    recording: str,
    at: str,
    server: str,
    token_file: str,
    authority: str,
    insecure: bool,
    output: str,
    **given: Any,
) -> None:
    """Explain one pod: why this node and no other, or why none and what would help.

    PATHs are manifests as `moorage simulate` reads them. They are scheduled on an embedded cluster,
    and the pod is explained as the cluster is then. Without PATHs a live cluster is read, with
    lists only; any scheduler may run there. Every change that is shown was tried: apply its patch
    (-o json), and the pod fits. The exit code is 1 if a plugin raised.

    \b
    Examples:
      moorage explain cluster.yaml --pod default/web-0
      moorage explain cluster/ workloads/ team-a/train-3 -o json
      moorage explain --context staging team-a/train-3
      kubectl moorage explain pod/web-0 -n team-a
      moorage explain --server https://localhost:10259 --token-file token team-a/train-3
      moorage explain --recording incident --at 3f2a
    """
    failed = False
    if recording or at:
        with stdout_to_stderr():
            told = _of_the_past(recording, at, pod or "".join(paths), namespace, given)
        _show(told, output)
        return
    files, named = _files_and_pod(paths, pod)
    running = asked_server(files, server, token_file, authority, insecure)
    if running is not None:
        body = {"pod": full_name(named, namespace)}
        told = running.ask("/debug/explain", body, Explanation)
    else:
        choice = ClusterChoice(files, **given)
        with stdout_to_stderr():
            source = choice.source()
            failed = bool(source.errors)
            told = source.explain(named, namespace or choice.namespace())
    _show(told, output)
    if failed:
        sys.exit(FAILED)


def _show(told: Explanation, output: str) -> None:
    if output == "json":
        echo(msgspec.json.encode(told))
    else:
        print_explanation(told, Terminal(highlight=False))


def _of_the_past(
    folder: str, at: str, pod: str, namespace: str, given: dict[str, Any]
) -> Explanation:
    """Explain a pod in a recording; without a pod, the pod of the attempt."""
    if not (folder and at):
        raise InputError(["--recording DIR and --at ATTEMPT go together"])
    if given_now := given_options(_OF_THE_PRESENT).values():
        raise InputError([f"{each}: --recording reads no cluster" for each in given_now])
    from moorage.recording.configuration import LoadedPlugins
    from moorage.recording.past import explained

    return explained(
        Path(folder), at, pod, namespace, given["config"], LoadedPlugins(given["plugins"])
    )


def _files_and_pod(paths: tuple[str, ...], pod: str) -> tuple[tuple[str, ...], str]:
    """The manifests, and the pod: the last argument, unless --pod names it."""
    if pod:
        return paths, pod
    if not paths:
        raise InputError(["name the pod: moorage explain [PATH...] POD"])
    *files, named = paths
    if files in (["pod"], ["pods"]) and not Path(files[0]).exists():
        files = []
    if not files and (named == "-" or Path(named).exists()):
        raise InputError([f"{named}: name the manifests, then the pod: moorage explain PATH POD"])
    return tuple(files), named
