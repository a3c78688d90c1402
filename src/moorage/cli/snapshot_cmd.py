"""`moorage snapshot`: a live cluster as manifests, to simulate on and to ask about."""

import click
import msgspec
import yaml

from moorage.cli import common
from moorage.cli.cluster_options import ClusterChoice
from moorage.cli.standard_streams import echo
from moorage.recording.manifests import anonymous_manifests
from moorage.recording.redaction import without_annotations
from moorage.watch.api_server import Raw


@click.command("snapshot", short_help="Save a live cluster as manifests.")
@common.LIVE_CLUSTER[0]
@common.LIVE_CLUSTER[1]
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="YAML documents, or a JSON object a line.",
)
@click.option(
    "--anonymize",
    is_flag=True,
    help="Replace names, namespaces, labels and images, as `moorage record anonymize` does, and "
    "keep only what decisions depend on.",
)
@click.option(
    "--annotation",
    "annotations",
    multiple=True,
    metavar="KEY",
    help="Keep this annotation, too, because a configuration names it; may be repeated.",
)
@common.exit_on_bad_input
def snapshot_command(
    context: str | None,
    kubeconfig: str | None,
    output: str,
    anonymize: bool,
    annotations: tuple[str, ...],
) -> None:
    """Write what scheduling reads of a live cluster to standard output.

    Only lists are asked for, so a role that may list is enough; nodes and pods are needed, other
    kinds are left out where they may not be listed. Secrets, ConfigMaps, environment variables,
    commands, probes and managedFields are not kept, nor annotations that Moorage does not read.
    `moorage simulate`, `explain` and `capacity` read the result.

    \b
    Examples:
      moorage snapshot --context staging > cluster.yaml
      moorage simulate cluster.yaml app.yaml --drain node-3
      moorage snapshot --anonymize > for-the-bug-report.yaml
    """
    read = (each.raw for each in ClusterChoice((), context or "", kubeconfig or "").objects())
    kept = (without_annotations(raw, annotations) for raw in read)
    for raw in anonymous_manifests(kept, annotations) if anonymize else kept:
        echo(_line(raw) if output == "json" else _document(raw), nl=False)


def _line(raw: Raw) -> bytes:
    return msgspec.json.encode(raw) + b"\n"


def _document(raw: Raw) -> bytes:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    try:
        text = yaml.dump(
            raw, Dumper=dumper, sort_keys=False, allow_unicode=True, explicit_start=True
        )
    except RecursionError:
        return b"---\n" + _line(raw)  # which is YAML too, and may be nested more deeply
    return text.encode()
