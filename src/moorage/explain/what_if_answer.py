"""A cluster after a change: which pods move, which wait, and the KPIs."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from moorage.api.pod import Pod
from moorage.config.loader import Loaded
from moorage.explain.what_if_changes import Changes
from moorage.framework.plugin_registry import Registry
from moorage.kpi.meter import Meter, Moment, PodFacts
from moorage.kpi.pod_times import PodKind
from moorage.kpi.settings import KpiSettings, TypicalPod
from moorage.memory.cluster_resources import KEPT_RESOURCES
from moorage.memory.memory_cluster import MemoryCluster
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.node_pool import offered
from moorage.simulate.pod_template import class_of
from moorage.simulate.scenario_manifests import PRICE
from moorage.simulate.simulated_feeds import is_measurement
from moorage.simulate.simulation import Simulation, pods_of, simulate

_LEFT_OUT: Final = frozenset({"events", "leases"})


class Move(msgspec.Struct, frozen=True):
    """A pod that goes from one node to another."""

    pod: str
    source: str
    target: str


class Waits(msgspec.Struct, frozen=True):
    """A pod that waits, and why."""

    pod: str
    message: str
    source: str = ""


class WhatIfAnswer(msgspec.Struct, frozen=True):
    """The outcome of one scenario, in the shape that `-o json` shows."""

    name: str
    moves: tuple[Move, ...]
    becomes_pending: tuple[Waits, ...]
    becomes_placed: tuple[Move, ...]
    """Pods that were pending or did not exist, and have a node now; `source` is empty."""
    gone: tuple[str, ...]
    still_pending: int
    before: Moment
    after: Moment
    errors: tuple[str, ...] = ()


class Start(NamedTuple):
    """The settled cluster that every scenario starts from, and the first nodes of its pods."""

    settled: Simulation
    objects: list[Manifest]
    loaded: Loaded
    known: Registry
    seed: int
    bound: frozenset[str]
    configured: Callable[[str], Loaded]


def settle(
    objects: list[Manifest],
    loaded: Loaded,
    known: Registry,
    seed: int,
    configured: Callable[[str], Loaded],
    *,
    validate: bool = False,
) -> Start:
    """Schedule the pending pods of the cluster as it is: the baseline of all scenarios.

    `configured` loads the configuration that a scenario names.
    """
    ran = _simulated(objects, loaded, known, seed, validate=validate)
    bound = frozenset(
        f"{each.raw['metadata'].get('namespace') or 'default'}/{each.name}"
        for each in objects
        if each.kind == "Pod" and (each.raw.get("spec") or {}).get("nodeName")
    )
    measured = [each for each in objects if is_measurement(each.raw)]
    return Start(ran, _written(ran.cluster) + measured, loaded, known, seed, bound, configured)


def _simulated(
    objects: list[Manifest], loaded: Loaded, known: Registry, seed: int, *, validate: bool = False
) -> Simulation:
    guard = loaded.moorage.plugin_guard
    return simulate(objects, loaded.configuration, known, seed, guard, validate=validate)


def _written(cluster: MemoryCluster) -> list[Manifest]:
    """Every object of a cluster, as it is now."""
    found: list[Manifest] = []
    for plural, resource in KEPT_RESOURCES.items():
        if plural not in _LEFT_OUT:
            for entry in cluster.registry.store.table(resource).in_order():
                raw = {"apiVersion": resource.api_version, "kind": resource.kind, **entry.raw}
                found.append(Manifest(raw, "the cluster", 1, len(found)))
    return found


def answer(start: Start, changes: Changes) -> WhatIfAnswer:
    """The outcome of one scenario, compared with the baseline."""
    loaded, objects = start.loaded, start.objects
    if changes.config:
        loaded = start.configured(changes.config)
        objects = [_unbound(each, start.bound) for each in objects]
    ran = _simulated(changes.apply(objects), loaded, start.known, start.seed)
    return _compared(changes.name, start.settled, ran)


def _unbound(manifest: Manifest, bound: frozenset[str]) -> Manifest:
    """The manifest; a pod that the baseline placed is pending again."""
    raw = manifest.raw
    if manifest.kind != "Pod" or f"{raw['metadata'].get('namespace')}/{manifest.name}" in bound:
        return manifest
    spec = {key: value for key, value in raw["spec"].items() if key != "nodeName"}
    return manifest._replace(raw={**raw, "spec": spec, "status": {}})


def _compared(name: str, was: Simulation, ran: Simulation) -> WhatIfAnswer:
    before, after = _nodes_by_pod(pods_of(was)), _nodes_by_pod(pods_of(ran))
    waiting = {pod for pod, node in before.items() if not node}
    now = [Move(pod, before.get(pod, ""), node) for pod, node in sorted(after.items()) if node]
    messages = {pod.key: pod.uid for pod in pods_of(ran)}
    pending = tuple(
        Waits(pod, _message(ran, messages[pod]), before.get(pod, ""))
        for pod, node in sorted(after.items())
        if not node and pod not in waiting
    )
    typical = _typical(pods_of(was))
    return WhatIfAnswer(
        name,
        tuple(each for each in now if each.source and each.source != each.target),
        pending,
        tuple(each for each in now if not each.source),
        gone=tuple(sorted(set(before) - set(after))),
        still_pending=sum(not after.get(pod, "-") for pod in waiting),
        before=_moment(was, typical),
        after=_moment(ran, typical),
        errors=tuple(dict.fromkeys(ran.errors)),
    )


def _nodes_by_pod(pods: Iterable[Pod]) -> dict[str, str]:
    return {pod.key: pod.spec.node_name for pod in pods if not pod.is_terminal}


def _message(ran: Simulation, uid: str) -> str:
    last = ran.story.last.get(uid)
    queued = ran.scheduler.queue.find(uid)
    if last is not None and last.message:
        return last.message
    return queued.gated_reason if queued is not None and queued.gated_reason else "not attempted"


def _typical(pods: Iterable[Pod]) -> tuple[TypicalPod, ...]:
    """The shapes of all pods, weighted by frequency: fragmentation is measured with them."""
    shapes: dict[tuple[tuple[str, float], ...], int] = {}
    for pod in pods:
        asked = _requests(pod)
        if asked:
            key = tuple(sorted(asked.items()))
            shapes[key] = shapes.get(key, 0) + 1
    common = sorted(shapes.items(), key=lambda item: -item[1])[:20]
    return tuple(TypicalPod(dict(shape), float(count)) for shape, count in common)


def _requests(pod: Pod) -> dict[str, float]:
    return {name: float(amount) for name, amount in pod.requests.items() if amount}


def _moment(ran: Simulation, typical: tuple[TypicalPod, ...]) -> Moment:
    """The KPIs of a cluster at the end of a run."""
    meter = Meter(KpiSettings(typical=typical), 0.0)
    table = ran.scheduler.cache.table
    for name, row in sorted(table.row_of.items()):
        node = table.node(row)
        price = float(node.metadata.annotations.get(PRICE, "0") or "0")
        meter.node_joined(0.0, name, offered(node), price, node.zone)
    for pod in pods_of(ran):
        if pod.is_terminal:
            continue
        kind = PodKind(pod.namespace, pod.priority, class_of(pod.requests))
        meter.pod_arrived(0.0, pod.key, PodFacts(kind, _requests(pod)))
        if pod.spec.node_name in table.row_of:
            meter.pod_placed(0.0, pod.key, pod.spec.node_name)
    return meter.moment()
