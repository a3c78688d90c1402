"""Measures start-up: from the first byte of the lists to the first decision."""

import resource
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.bench import workload_kinds
from moorage.bench.throughput import scheduler_of
from moorage.cycle.profile import Profile
from moorage.scheduler.placement import Placement


class Startup(msgspec.Struct, frozen=True):
    """One line of output; seconds of each step, and of all of them."""

    kind: str
    nodes: int
    pods: int
    decode_s: float
    believe_s: float
    first_decision_s: float
    total_s: float
    peak_rss_mb: float


class _List(msgspec.Struct):
    items: list[msgspec.Raw]


def measure_startup(nodes: int, pods: int, profiles: Mapping[str, Profile], seed: int) -> Startup:
    """Read lists of nodes and running pods as API servers send them, and decide one pod."""
    raw_nodes = _encoded([workload_kinds.raw_node("basic", index) for index in range(nodes)])
    raw_pods = _encoded([_running(index, nodes) for index in range(pods)])
    scheduler = scheduler_of(profiles, seed)
    began = time.perf_counter()
    found_nodes = [decode_as(raw, Node) for raw in _items(raw_nodes)]
    found_pods = [decode_as(raw, Pod) for raw in _items(raw_pods)]
    decoded = time.perf_counter()
    cache = scheduler.cache
    for node in found_nodes:
        cache.put_node(node)
    for pod in found_pods:
        cache.put_pod(pod)
    believed = time.perf_counter()
    incoming = workload_kinds.pod("varied", pods, next(iter(profiles)))
    scheduler.queue.add(cache.info(incoming), 0.0)
    queued = scheduler.queue.pop(0.0)
    if queued is None:
        raise LookupError("the first pod is not in the queue")
    _, decided = scheduler.decide(queued)
    ended = time.perf_counter()
    if not isinstance(decided, Placement):
        raise LookupError(f"the first pod fits nowhere: {decided.message}")
    return Startup(
        kind="startup",
        nodes=nodes,
        pods=pods,
        decode_s=round(decoded - began, 3),
        believe_s=round(believed - decoded, 3),
        first_decision_s=round(ended - believed, 4),
        total_s=round(ended - began, 3),
        peak_rss_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    )


def _encoded(items: list[dict[str, Any]]) -> bytes:
    return msgspec.json.encode({"kind": "List", "items": items})


def _items(raw: bytes) -> list[msgspec.Raw]:
    return msgspec.json.decode(raw, type=_List).items


def _running(index: int, nodes: int) -> dict[str, Any]:
    raw = workload_kinds.raw_pod("varied", index)
    raw["spec"]["nodeName"] = f"node-{index % nodes}"
    raw["status"] = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
    return raw
