"""Changes to a cluster before a simulation: add, remove or drain nodes, scale workloads."""

import copy
import re
from collections.abc import Iterable
from typing import Any, Final

from moorage.config.field_errors import InputError
from moorage.simulate import manifest_files
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.size_limits import MOST_NODES, MOST_PODS, REPLICA_FIELDS, read_count

_ADD: Final = re.compile(r"(\d+)=(.+)")
_SCALE: Final = re.compile(r"([A-Za-z]+)/(?:([a-z0-9.-]+)/)?([a-z0-9.-]+)=(\d+)")
_GIVEN_BY_SERVER: Final = frozenset({"uid", "creationTimestamp", "resourceVersion"})
_ZONE: Final = "topology.kubernetes.io/zone"


def add_nodes(found: list[Manifest], given: Iterable[str]) -> list[Manifest]:
    """With `3=template.yaml`, add three nodes like that of the file; with `3=node-1`, like node-1.

    Each gets a name of its own.
    """
    added = list(found)
    for words in given:
        match = _ADD.fullmatch(words)
        if match is None:
            raise InputError(
                [f"--add-node {words}: write COUNT=FILE or COUNT=NODE, as in 3=template.yaml"]
            )
        count = read_count(match[1], MOST_NODES, "nodes of a template", f"--add-node {words}")
        alike = (each for each in found if each.kind == "Node" and each.name == match[2])
        template = next(alike, None) or read_node(match[2])
        taken = {each.name for each in added if each.kind == "Node"}
        names = (f"{template.name}-{number}" for number in range(1, len(taken) + count + 1))
        free = [name for name in names if name not in taken][:count]
        added += [template._replace(raw=_named(template.raw, name)) for name in free]
    return added


def read_node(file: str) -> Manifest:
    """The one node of a file."""
    nodes = [each for each in manifest_files.read_manifests([file]) if each.kind == "Node"]
    if len(nodes) != 1 or not nodes[0].name:
        raise InputError(
            [f"--add-node {file}: {len(nodes)} nodes in it, where one is the template"]
        )
    return nodes[0]


def _named(raw: dict[str, Any], name: str) -> dict[str, Any]:
    node = copy.deepcopy(raw)
    node["metadata"] = {
        key: value for key, value in node["metadata"].items() if key not in _GIVEN_BY_SERVER
    }
    node["metadata"]["name"] = name
    labels = node["metadata"].get("labels")
    if isinstance(labels, dict) and "kubernetes.io/hostname" in labels:
        labels["kubernetes.io/hostname"] = name
    return node


def drain_nodes(found: list[Manifest], given: Iterable[str]) -> list[Manifest]:
    """Cordon these nodes, and make their pods pending again, except those of DaemonSets."""
    names = _known_nodes(found, given, "--drain")
    return [_drained(each, names) for each in found] if names else found


def remove_nodes(found: list[Manifest], given: Iterable[str]) -> list[Manifest]:
    """Remove these nodes with their DaemonSet pods; their other pods are pending again."""
    return _without(found, _known_nodes(found, given, "--remove"))


def lose_zones(found: list[Manifest], given: Iterable[str]) -> list[Manifest]:
    """Remove every node of these zones, as `remove_nodes` does."""
    zones = set(given)
    nodes = {each.name: _labels(each).get(_ZONE, "") for each in found if each.kind == "Node"}
    missing = sorted(zones - set(nodes.values()))
    if missing:
        raise InputError([f"--lose-zone {zone}: no node is in it" for zone in missing])
    return _without(found, {name for name, zone in nodes.items() if zone in zones})


def _known_nodes(found: list[Manifest], given: Iterable[str], option: str) -> set[str]:
    names = set(given)
    missing = sorted(names - {each.name for each in found if each.kind == "Node"})
    if missing:
        raise InputError([f"{option} {name}: there is no such node" for name in missing])
    return names


def _labels(manifest: Manifest) -> dict[str, str]:
    labels = manifest.raw["metadata"].get("labels")
    return labels if isinstance(labels, dict) else {}


def _without(found: list[Manifest], names: set[str]) -> list[Manifest]:
    left = [each for each in found if not (each.kind == "Node" and each.name in names)]
    waiting = [_drained(each, names) for each in left] if names else left
    return [each for each in waiting if not _is_on(each, names)]


def _is_on(manifest: Manifest, names: set[str]) -> bool:
    """Whether a manifest is a pod that is bound to one of these nodes."""
    spec = manifest.raw.get("spec")
    return manifest.kind == "Pod" and isinstance(spec, dict) and spec.get("nodeName") in names


def _drained(manifest: Manifest, names: set[str]) -> Manifest:
    raw = manifest.raw
    spec = raw.get("spec")
    if manifest.kind == "Node" and manifest.name in names:
        return manifest._replace(raw={**raw, "spec": {**(spec or {}), "unschedulable": True}})
    if manifest.kind != "Pod" or not isinstance(spec, dict) or spec.get("nodeName") not in names:
        return manifest
    owners = raw["metadata"].get("ownerReferences") or ()
    if any(owner.get("kind") == "DaemonSet" for owner in owners):
        return manifest
    waiting = {key: value for key, value in spec.items() if key != "nodeName"}
    return manifest._replace(raw={**raw, "spec": waiting, "status": {}})


def scale_workloads(found: list[Manifest], given: Iterable[str]) -> list[Manifest]:
    """With `deployment/web=20` or `deployment/NAMESPACE/web=20`, set the replicas to 20."""
    scaled = list(found)
    for words in given:
        match = _SCALE.fullmatch(words)
        if match is None or match[1].lower() not in REPLICA_FIELDS:
            kinds = ", ".join(REPLICA_FIELDS)
            raise InputError(
                [f"--scale {words}: write KIND/[NAMESPACE/]NAME=COUNT, KIND of {kinds}"]
            )
        kind, namespace, name, digits = match.groups()
        count = read_count(digits, MOST_PODS, "pods of a workload", f"--scale {words}")
        hits = [
            index
            for index, each in enumerate(scaled)
            if each.kind.lower() == kind.lower()
            and each.name == name
            and (namespace is None or _namespace(each) == namespace)
        ]
        if len(hits) != 1:
            said = "there is no such workload" if not hits else "several: name the namespace"
            raise InputError([f"--scale {words}: {said}"])
        raw = scaled[hits[0]].raw
        spec = {**(raw.get("spec") or {}), REPLICA_FIELDS[kind.lower()]: count}
        scaled[hits[0]] = scaled[hits[0]]._replace(raw={**raw, "spec": spec})
    return scaled


def _namespace(manifest: Manifest) -> str:
    return str(manifest.raw["metadata"].get("namespace") or "default")
