"""Measures throughput: pop, filter, score, choose and assume, for every pod."""

import random
import resource
import time
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from moorage import garbage
from moorage.api.pod import Pod
from moorage.bench import group_attempts, surroundings, whole_groups, workload_kinds
from moorage.bench.device_workloads import DEVICE_KINDS, complete_claims, device_objects
from moorage.bench.group_attempts import GroupAttempts
from moorage.bench.group_preemption import GroupPreemption
from moorage.bench.workload_kinds import DISRUPTION
from moorage.cache.cache import Cache
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import give_handles
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import Nominated
from moorage.gang.directory import Directory
from moorage.queue.backoff import Backoff
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.placement import Placement, place
from moorage.scheduler.queue_order import queue_for


class Throughput(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of output. `p99_ms` and `max_ms` are of single attempts, which block the loop: of
    one pod or, with `gangs`, of a whole gang. `gangs_scheduled` are those placed completely.

    `pods_per_s` counts from popping a pod to assuming it. The time to read and queue a pod before
    that is in `enqueue_ms_per_pod`.
    """

    kind: str
    nodes: int
    pods: int
    scheduled: int
    pods_per_s: float
    cpu_ms_per_pod: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    max_per_node: int
    nodes_used: int
    peak_rss_mb: float
    rows_per_attempt: float
    start_s: float
    enqueue_ms_per_pod: float
    gangs: int = 0
    gangs_scheduled: int = 0
    gangs_per_s: float | None = None


class Bench(NamedTuple):
    """A cluster with waiting pods."""

    kind: str
    cache: Cache
    queue: SchedulingQueue
    profile: Profile
    pods: list[Pod]
    groups: Directory
    start_s: float
    whole: Directory | None = None
    """Groups on the cluster that can only be evicted as a whole."""


def prepare(kind: str, nodes: int, pods: int, profiles: Mapping[str, Profile]) -> Bench:
    """Build the cluster and create the pods."""
    cache = Cache()
    began = time.perf_counter()
    for node in workload_kinds.nodes(kind, nodes):
        cache.put_node(node)
    if kind in DEVICE_KINDS:
        for obj in device_objects(kind, nodes, pods):
            cache.objects.put(obj)
    if kind in workload_kinds.PREEMPTION_KINDS:
        for index in range(4 * nodes):
            cache.put_pod(workload_kinds.resident(index, f"node-{index // 4}"))
    profile = next(iter(profiles.values()))
    whole = whole_groups.settle(cache, profile, nodes) if kind == DISRUPTION else None
    surroundings.furnish(kind, cache, nodes, pods)
    start_s = time.perf_counter() - began
    arriving = [workload_kinds.pod(kind, index) for index in range(pods)]
    groups = group_attempts.group_directory(profiles, arriving)
    for each in profiles.values():
        each.handles = give_handles(each.plugins, cache, each.shared)
    queue = queue_for(profiles.values(), lambda: 0.0, Backoff(), groups.ranked_as)
    return Bench(kind, cache, queue, profile, arriving, groups, start_s, whole)


def measure_throughput(
    kind: str, nodes: int, pods: int, profiles: Mapping[str, Profile], seed: int
) -> Throughput:
    """Decide every pod once, and measure how long that takes."""
    bench = prepare(kind, nodes, pods, profiles)
    rng = random.Random(seed)
    placed: Counter[str] = Counter()
    times: list[float] = []
    gangs = _group_attempts(bench, rng)
    whole = decided = 0
    surroundings.crowd(kind, bench.cache, bench.queue, pods)
    enqueued = _enqueue(bench)
    garbage.freeze()
    cpu = time.process_time()
    began = time.perf_counter()
    while decided < pods:
        start = time.perf_counter()
        nodes_of = gangs.decide(rng) if bench.groups.in_use else [_decide(bench, rng)]
        times.append(time.perf_counter() - start)
        placed.update(filter(None, nodes_of))
        whole += all(nodes_of)
        decided += len(nodes_of)
        if kind == "churn" and decided % 10 == 0:
            _churn(bench, decided - 1)
        surroundings.disturb(kind, bench.cache, bench.queue, bench.pods[decided - 1], decided)
    elapsed, cpu = time.perf_counter() - began, time.process_time() - cpu
    seconds, groups = np.array(times), len(bench.groups)
    return Throughput(
        kind=kind,
        nodes=nodes,
        pods=pods,
        scheduled=placed.total(),
        pods_per_s=round(pods / elapsed, 1),
        cpu_ms_per_pod=round(1000 * cpu / pods, 4),
        p50_ms=round(1000 * float(np.percentile(seconds, 50)), 4),
        p99_ms=round(1000 * float(np.percentile(seconds, 99)), 3),
        max_ms=round(1000 * float(seconds.max()), 3),
        max_per_node=max(placed.values(), default=0),
        nodes_used=len(placed),
        peak_rss_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        rows_per_attempt=round(bench.profile.columns.rows_recomputed / pods, 1),
        start_s=round(bench.start_s, 3),
        enqueue_ms_per_pod=round(1000 * enqueued / pods, 4),
        gangs=groups,
        gangs_scheduled=whole if groups else 0,
        gangs_per_s=round(groups / elapsed, 1) if groups else None,
    )


def _group_attempts(bench: Bench, rng: random.Random) -> GroupAttempts:
    where = bench.cache, bench.queue, bench.profile, bench.groups
    preempts = bench.kind == workload_kinds.GANG_PREEMPTION
    return GroupAttempts(*where, GroupPreemption(*where, rng) if preempts else None)


def _enqueue(bench: Bench) -> float:
    """Compute each pod's requests and queue it; returns the seconds that took."""
    began = time.perf_counter()
    for pod in bench.pods:
        bench.queue.add(bench.cache.info(pod), 0.0)
    return time.perf_counter() - began


def _decide(bench: Bench, rng: random.Random) -> str:
    """One attempt; returns the node's name, or "" if none fits."""
    queued = bench.queue.pop(0.0)
    if queued is None:
        raise LookupError("the queue ran dry")
    cycle = Cycle(bench.cache, queued.info, random=rng, shared=bench.profile.shared)
    outcome = attempt.run(bench.profile, cycle)
    if isinstance(outcome, Decision):
        placed = place(bench.profile, cycle, queued, outcome)
        if isinstance(placed, Placement):
            complete_claims(bench.cache, cycle)
            bench.queue.done(queued.info.uid)
            return outcome.node
        return ""
    bench.queue.put_back(queued, outcome.diagnosis.unschedulable_plugins, (), False, 0.0)
    if outcome.nominated is None or not outcome.nominated.node:
        return ""
    bench.queue.delete(queued.info.uid)
    _make_room(bench, queued, outcome.nominated)
    return outcome.nominated.node


def _make_room(bench: Bench, queued: QueuedPod, nominated: Nominated) -> None:
    """Remove the victims and place the pod; or keep the victims, and nominate the node for it."""
    if bench.kind == workload_kinds.NOMINATED:
        bench.cache.nominations.put(queued.info, nominated.node)
        return
    for victim in nominated.victims:
        bench.cache.remove_pod(victim.uid)
        if bench.whole is not None:
            bench.whole.remove_pod(victim.uid)
    bench.cache.assume(queued.info, nominated.node)


def _churn(bench: Bench, index: int) -> None:
    """End a pod, and remove and re-add a node with another label."""
    table = bench.cache.table
    ended = bench.pods[index // 2]
    bench.cache.remove_pod(ended.uid)
    name = f"node-{index % len(table)}"
    node = table.node(table.row_of[name])
    bench.cache.remove_node(node)
    labels = {**node.labels, "seen": str(index)}
    metadata = msgspec.structs.replace(node.metadata, labels=labels)
    bench.cache.put_node(msgspec.structs.replace(node, metadata=metadata))
