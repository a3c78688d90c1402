"""What each policy means, node by node: plain loops over plain objects, the specification.

A twin tells of one node whether it is refused, and its score before any normalising.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from moorage.api import quantity
from moorage.api.node import Node
from moorage.api.node_selectors import term_matches
from moorage.api.pod import Pod
from moorage.api.resource_amounts import node_allocatable, pod_nonzero_requests, pod_requests
from moorage.policies.telemetry.node_measurements import (
    CPU_ANNOTATION,
    MEMORY_ANNOTATION,
    TIME_ANNOTATION,
)

GPU = "nvidia.com/gpu"
HAIR = 1e-9
NOW = 1_000_000.0


class World(NamedTuple):
    """Nodes, the pods on them, one that is to be placed, and its namespace's labels."""

    nodes: dict[str, Node]
    residents: dict[str, list[Pod]]
    pod: Pod
    namespace: dict[str, str]


class Said(NamedTuple):
    refused: bool
    score: float


Twin = Callable[[Any, World, Node], Said]


def asked(pod: Pod, name: str) -> int:
    return pod_requests(pod).get(name, 0)


def nonzero(pod: Pod, name: str) -> int:
    return pod_nonzero_requests(pod)[("cpu", "memory").index(name)]


def offered(node: Node, name: str) -> int:
    return node_allocatable(node).get(name, 0)


def used(world: World, node: Node, name: str, more: int) -> float:
    """The used part of a node, NaN where it has none of it."""
    residents = world.residents[node.name]
    if name == "pods":
        return (len(residents) + more) / offered(node, "pods")
    count = nonzero if name in ("cpu", "memory") else asked
    total = sum(count(resident, name) for resident in residents) + more
    return total / offered(node, name) if offered(node, name) else math.nan


def number(node: Node, key: str) -> float:
    return float(node.annotations.get(key, node.labels.get(key, "nan")))


def gpu_priority(plugin: Any, world: World, node: Node) -> Said:
    needs, has = asked(world.pod, GPU) > 0, offered(node, GPU) > 0
    if needs:
        return Said(not has, plugin.gpu_weight if has else 0)
    return Said(has and plugin.reserve_gpu_nodes, 10 if has else 50)


def business_affinity(plugin: Any, world: World, node: Node) -> Said:
    pod = world.pod.labels
    core = pod.get("business-level") == "core" and node.labels.get("node-level") != "core"
    edge = pod.get("business-type") == "database" and node.labels.get("zone") == "edge"
    wanted = pod.get("preferred-zone")
    near = wanted is not None and wanted == node.labels.get("zone")
    return Said(core or edge, 100 if near else 20)


def _worth(metrics: Any, cpu: int, memory: int, gpus: int) -> float:
    total: float = cpu * (metrics.cpu / 1000) + memory * (metrics.memory / 2**30)
    return total + gpus * float(metrics.gpu)


def price(plugin: Any, world: World, node: Node, spot_ratio: float) -> float:
    """What the pod costs there per hour."""
    metrics, pod = plugin.cost_metrics, world.pod
    own = _worth(
        metrics,
        nonzero(pod, "cpu") or 100,
        nonzero(pod, "memory") or 200 * 2**20,
        asked(pod, GPU),
    )
    true = plugin.instance_prices.get(node.labels.get("node.kubernetes.io/instance-type", ""))
    listed = _worth(metrics, offered(node, "cpu"), offered(node, "memory"), offered(node, GPU))
    whole = listed if true is None else true
    if node.labels.get("node-type") == "spot":
        whole *= spot_ratio
    parts = [
        (nonzero(pod, "cpu") or 100, offered(node, "cpu")),
        (nonzero(pod, "memory") or 200 * 2**20, offered(node, "memory")),
        (asked(pod, GPU), offered(node, GPU)),
    ]
    shares = [wanted / has for wanted, has in parts if has > 0 and wanted]
    return whole * max(shares) if shares else own


def cost(plugin: Any, world: World, node: Node) -> Said:
    ratio = plugin.spot_price_ratio if plugin.prefer_spot_instances else 1.0
    costs = price(plugin, world, node, ratio)
    dear = plugin.max_cost_threshold is not None and costs > plugin.max_cost_threshold
    return Said(dear, 1 << 62 if dear else max(1, int(costs * 1_000_000)))


def business_score(plugin: Any, world: World, node: Node) -> Said:
    costs = price(plugin, world, node, 1.0)
    cheap = next((step.score for step in plugin.cost_steps if costs <= step.cost), 20)
    labels = (f"moorage.io/{part}-performance" for part in ("cpu", "network", "storage"))
    values = [number(node, label) for label in labels]
    fast = sum(50 if math.isnan(v) else min(max(v, 0), 100) for v in values) / 3
    said = number(node, "moorage.io/reliability")
    spot = node.labels.get("node-type") == "spot"
    sure = (30 if spot else 100) if math.isnan(said) else min(max(said, 0), 100)
    weights = plugin.weights
    total = weights.cost * cheap + weights.performance * fast + weights.reliability * sure
    return Said(False, total / (weights.cost + weights.performance + weights.reliability))


def compliance(plugin: Any, world: World, node: Node) -> Said:
    ranks = {"low": 0, "medium": 1, "high": 2}
    both = (world.pod.labels, world.namespace)
    regions = [labels["data-region"] for labels in both if "data-region" in labels]
    level = max((ranks[labels.get("security-level", "low")] for labels in both), default=0)
    has = ranks[node.labels.get("security-level", "low")]
    outside = any(node.labels.get("zone") != region for region in regions)
    return Said(outside or has < level, 100 * (1 - max(has - level, 0) / 2))


def tenant_isolation(plugin: Any, world: World, node: Node) -> Said:
    own, order = world.namespace.get("tenant", ""), list(plugin.tier_order)
    tier = order.index(plugin.tenant_tiers[own]) if own in plugin.tenant_tiers else len(order)
    label = node.labels.get("tenant-tier")
    there = order.index(label) if label is not None else len(order)
    whose = node.labels.get("tenant")
    shared = False  # all pods of this world are of one namespace, and so of one tenant
    refused = shared or there < tier or (whose is not None and whose != own)
    if whose is not None and whose == own:
        return Said(refused, 100)
    if label is not None:
        return Said(refused, 75 if there == tier else 25)
    settled = plugin.exclusive and bool(own) and bool(world.residents[node.name])
    return Said(refused, 60 if settled else 50)


def energy(plugin: Any, world: World, node: Node) -> Said:
    heat, watts = number(node, plugin.temperature_key), number(node, plugin.power_key)

    def falling(value: float, low: float, high: float) -> float:
        return 100 * (1 - min(max((value - low) / (high - low), 0), 1))

    cores = max(offered(node, "cpu"), 1) / 1000
    parts = [falling(heat, 40, 80), falling(watts / cores, 5, 25)]
    known = [part for part, said in zip(parts, (heat, watts), strict=True) if not math.isnan(said)]
    return Said(heat > plugin.max_celsius, sum(known) / len(known) if known else 50)


def gpu_topology(plugin: Any, world: World, node: Node) -> Said:
    """GPUs are handed out pod by pod: of the domain that is filled best, or the emptiest ones."""
    wanted, has = asked(world.pod, GPU), offered(node, GPU)
    if not wanted:
        return Said(False, 0)
    free = has - sum(asked(pod, GPU) for pod in world.residents[node.name])
    said = number(node, plugin.numa_label)
    size = max(min(int(said) if said >= 1 else has, max(has, 1)), 1)
    whole, rest = divmod(has, size)
    domains = [size] * whole + ([rest] if rest else [])
    for resident in world.residents[node.name]:
        left = asked(resident, GPU)
        fitting = [at for at, count in enumerate(domains) if count >= left]
        emptiest = sorted(range(len(domains)), key=lambda at: -domains[at])
        for at in [min(fitting, key=lambda at: domains[at])] if fitting else emptiest:
            count = min(domains[at], left)
            domains[at], left = domains[at] - count, left - count
    best = sorted(domains, reverse=True)
    aligned = sum(best[: -(-wanted // size)]) >= wanted
    strict = world.pod.annotations.get("moorage.io/gpu-topology") == "same-numa"
    fit = 1 - max(free - wanted, 0) / max(has, 1)
    score = 70 * fit + 30 * aligned if free >= wanted else 0
    return Said(strict and (wanted > size or max(domains, default=0) < wanted), score)


def load_balancing(plugin: Any, world: World, node: Node) -> Said:
    shares = []
    for name in plugin.resources:
        count = nonzero if name in ("cpu", "memory") else asked
        more = 1 if name == "pods" else count(world.pod, name)
        share = used(world, node, name, more)
        shares.append(1.0 if math.isnan(share) and more else share)
    return Said(False, 100 * (1 - max(share for share in shares if not math.isnan(share))))


def low_cpu(plugin: Any, world: World, node: Node) -> Said:
    keys = {"cpu": CPU_ANNOTATION, "memory": MEMORY_ANNOTATION}
    read: dict[str, Callable[[str], int]] = {"cpu": quantity.milli_value, "memory": quantity.value}
    at = float(node.annotations.get(TIME_ANNOTATION, NOW - 60))
    trust, total, refused = min(max((300 - (NOW - at)) / 240, 0), 1), 0.0, False
    for name, key in keys.items():
        by_requests = used(world, node, name, 0)
        by_requests = 1.0 if math.isnan(by_requests) else by_requests
        share = by_requests
        if key in node.annotations:
            measured = read[name](node.annotations[key]) / max(offered(node, name), 1)
            refused |= trust > 0 and measured > 0.8
            share = trust * measured + (1 - trust) * by_requests
        total += min(max(share, 0), 1)
    return Said(refused, 100 * (1 - total / 2))


def network_latency(plugin: Any, world: World, node: Node) -> Said:
    """The mean over the database's pods of how far each is."""
    if "moorage.io/talks-to" not in world.pod.annotations:
        return Said(False, 0)
    peers = [
        there
        for there, pods in world.residents.items()
        for pod in pods
        if pod.labels.get("app") == "db"
    ]
    if not peers:
        return Said(False, 0)
    mean = sum(_apart(plugin, node, world.nodes[there]) for there in peers) / len(peers)
    limit = plugin.max_latency_ms
    return Said(mean > limit * (1 + HAIR), plugin.latency_weight * (1 - mean / limit))


def _apart(plugin: Any, here: Node, there: Node) -> float:
    if here.name == there.name:
        return 0.0
    start, end = here.labels.get("zone"), there.labels.get("zone")
    if start is None or end is None:
        return float(plugin.max_latency_ms)
    table = plugin.latencies
    known = table.get(start, {}).get(end, table.get(end, {}).get(start))
    unknown = plugin.same_zone_ms if start == end else plugin.max_latency_ms
    return float(unknown if known is None else known)


def adaptive(weights: tuple[int, int, str]) -> Twin:
    """By the strategy that is in force."""
    cpu, memory, goal = weights

    def twin(plugin: Any, world: World, node: Node) -> Said:
        shares = []
        for name in ("cpu", "memory"):
            share = used(world, node, name, nonzero(world.pod, name))
            shares.append(1.0 if math.isnan(share) else min(share, 1.0))
        share = (cpu * shares[0] + memory * shares[1]) / (cpu + memory)
        return Said(False, 100 * (share if goal == "pack" else 1 - share))

    return twin


def node_affinity(plugin: Any, world: World, node: Node) -> Said:
    return Said(False, sum(weight for weight, term in _preferred(world.pod) if _holds(term, node)))


def _preferred(pod: Pod) -> Iterator[tuple[int, Any]]:
    affinity = pod.spec.affinity
    wants = affinity.node_affinity if affinity is not None else None
    for each in wants.preferred_during_scheduling_ignored_during_execution if wants else ():
        yield each.weight, each.preference


def _holds(term: Any, node: Node) -> bool:
    return bool(term_matches(term, node))


def scheduling_policies(plugin: Any, world: World, node: Node) -> Said:
    """Cpu weighs 3 and GPUs 5, of what the node has and the pod asks for; a zone is required."""
    total, weights = 0.0, 0
    for name, weight in (("cpu", 3), (GPU, 5)):
        more = nonzero(world.pod, name) if name == "cpu" else asked(world.pod, name)
        share = used(world, node, name, more)
        if (more or name == "cpu") and not math.isnan(share):
            total += weight * (1 - min(share, 1))
            weights += weight
    return Said("zone" not in node.labels, 100 * total / max(weights, 1))


def always_best(plugin: Any, world: World, node: Node) -> Said:
    """No policy's twin: refuses nobody, and finds every node perfect."""
    return Said(False, 100)
