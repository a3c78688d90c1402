"""Clusters and pods of a scenario from manifests, also from a snapshot of a live cluster.

A pod with a node is on it from the start. The annotations `moorage/arrives-at` and
`moorage/runs-for`, in seconds, say when a pod arrives and how long it runs.
"""

import math
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.clock import VirtualClock
from moorage.config.field_errors import InputError
from moorage.memory import manifest_loader
from moorage.memory.controllers.standard_controllers import standard_controllers
from moorage.simulate import manifest_files, simulated_feeds, simulation
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.pod_template import class_of, template_of
from moorage.simulate.scenario import Arrival, PricedNode
from moorage.watch.api_resources import RESOURCES

ARRIVES_AT: Final = "moorage/arrives-at"
RUNS_FOR: Final = "moorage/runs-for"
PRICE: Final = "moorage/price-per-hour"
"""The annotation with a node's price per hour."""
_MADE: Final = frozenset({"Namespace", "Event", "Lease"})


class ScenarioManifests(NamedTuple):
    """What manifests say."""

    nodes: list[PricedNode]
    arrivals: list[Arrival]
    objects: list[KubeObject]


Group = tuple[list[Path], float, float | None]
"""Files, when their pods arrive, and how long those run; times in seconds."""


def read_scenario_manifests(cluster: list[Path], arriving: Iterable[Group]) -> ScenarioManifests:
    """Every node, pod and other object of some files."""
    nodes: list[PricedNode] = []
    arrivals: list[Arrival] = []
    objects: dict[str, KubeObject] = {}
    for files, at, runs in ((cluster, 0.0, None), *arriving):
        if not files:
            continue
        for found in _objects(files):
            if isinstance(found, Node):
                nodes.append(PricedNode(found, _number(found, PRICE, 0.0) or 0.0))
            elif isinstance(found, Pod):
                if not found.is_terminal:
                    arrivals.append(_arrival(found, at, runs))
            elif type(found).__name__ not in _MADE:
                objects[f"{type(found).__name__}/{found.key}"] = found
    return ScenarioManifests(nodes, arrivals, list(objects.values()))


def _objects(files: list[Path]) -> list[KubeObject]:
    """The objects as an API server would hold them, with the pods that controllers create."""
    read = [each for each in manifest_files.read_manifests(files) if _is_kept(each)]
    cluster = simulation.load_cluster(read, VirtualClock(simulation.START), random.Random(0))
    standard_controllers(cluster)[0].settle()
    return [each for resource in RESOURCES.values() for each in cluster.objects(resource)]


def _is_kept(manifest: Manifest) -> bool:
    """Whether to load an object; one with a wrong apiVersion is loaded so that it is refused."""
    if simulated_feeds.is_measurement(manifest.raw):
        return False
    kept = manifest_loader.find_resource(manifest.raw) is not None
    return kept or bool(manifest_loader.version_complaint(manifest.raw))


def _arrival(pod: Pod, at: float, runs: float | None) -> Arrival:
    spec = msgspec.structs.replace(pod.spec, node_name="")
    cls = class_of(pod.requests)
    template = template_of(pod, pod.namespace, pod.labels, cls)
    template = msgspec.structs.replace(template, spec=spec, annotations=pod.annotations)
    time = _number(pod, ARRIVES_AT, at)
    assert time is not None
    return Arrival(time, pod.name, template, _number(pod, RUNS_FOR, runs), node=pod.spec.node_name)


def _number(found: KubeObject, annotation: str, default: float | None) -> float | None:
    text = found.annotations.get(annotation)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value >= 0 and math.isfinite(value)):
        kind = type(found).__name__
        raise InputError([f"{kind} {found.key}: annotation {annotation}: {text!r} is no number"])
    return value
