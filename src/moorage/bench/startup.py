"""Measures start-up: from the first byte of the lists to the first decision."""

import random
import resource
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.bench import workload_kinds
from moorage.cache.cache import Cache
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle


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
    profile = next(iter(profiles.values()))
    began = time.perf_counter()
    found_nodes = [decode_as(raw, Node) for raw in _items(raw_nodes)]
    found_pods = [decode_as(raw, Pod) for raw in _items(raw_pods)]
    decoded = time.perf_counter()
    cache = Cache()
    for node in found_nodes:
        cache.put_node(node)
    for pod in found_pods:
        cache.put_pod(pod)
    believed = time.perf_counter()
    incoming = cache.info(workload_kinds.pod("varied", pods))
    cycle = Cycle(cache, incoming, random=random.Random(seed), shared=profile.shared)
    decided = attempt.run(profile, cycle)
    ended = time.perf_counter()
    if not isinstance(decided, Decision):
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
