"""Measures throughput: pop, decide as `moorage run` does, and assume, for every pod."""

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
from moorage.app.assembly import assemble, tap_for
from moorage.bench import gangs, surroundings, workload_kinds
from moorage.bench.device_workloads import DEVICE_KINDS, complete_claims, device_objects
from moorage.bench.gangs import GroupAttempts
from moorage.cache.cache import Cache
from moorage.clock import VirtualClock
from moorage.cycle.profile import Profile
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import Nominated, Rejection
from moorage.gang.feature import Gangs
from moorage.memory.memory_cluster import MemoryCluster
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.placement import Placement
from moorage.scheduler.resource_claims import NEEDED, ResourceClaims
from moorage.scheduler.scheduler import Scheduler
from moorage.watch.api_resources import RESOURCES


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
    """A cluster with waiting pods, and the scheduler that `moorage run` would have."""

    kind: str
    scheduler: Scheduler
    profile: Profile
    pods: list[Pod]
    groups: int
    """How many groups the pods make."""
    start_s: float

    @property
    def cache(self) -> Cache:
        return self.scheduler.cache

    @property
    def queue(self) -> SchedulingQueue:
        return self.scheduler.queue


def prepare(
    kind: str, nodes: int, pods: int, profiles: Mapping[str, Profile], seed: int = 0
) -> Bench:
    """Build the cluster and create the pods."""
    scheduler = scheduler_of(profiles, seed)
    cache, profile = scheduler.cache, next(iter(profiles.values()))
    began = time.perf_counter()
    for node in workload_kinds.nodes(kind, nodes):
        cache.put_node(node)
    if kind in DEVICE_KINDS:
        for obj in device_objects(kind, nodes, pods):
            cache.objects.put(obj)
    claims = scheduler.feature(ResourceClaims)
    for plural in NEEDED:
        claims.listed(RESOURCES[plural], served=True)
    if kind in workload_kinds.PREEMPTION_KINDS:
        for index in range(4 * nodes):
            cache.put_pod(workload_kinds.resident(index, f"node-{index // 4}"))
    if kind == workload_kinds.DISRUPTION:
        gangs.fill_with_whole_groups(scheduler, nodes)
    surroundings.furnish(kind, cache, nodes, pods)
    start_s = time.perf_counter() - began
    named = profile.scheduler_name
    arriving = [workload_kinds.pod(kind, index, named) for index in range(pods)]
    groups = gangs.put_groups(scheduler, arriving)
    return Bench(kind, scheduler, profile, arriving, groups, start_s)


def scheduler_of(profiles: Mapping[str, Profile], seed: int) -> Scheduler:
    """A scheduler assembled as in `moorage run`, on an API server that is never asked."""
    clock = VirtualClock()
    return assemble(
        MemoryCluster(clock=clock),
        profiles,
        clock=clock,
        rng=random.Random(seed),
        tap=tap_for(None, clock.now),
        sparing=True,
    )


class _Attempts:
    """The attempts at a cluster's pods, and what happens between them."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        preempts = bench.kind == workload_kinds.GANG_PREEMPTION
        self._groups = GroupAttempts(bench.scheduler, preempts=preempts) if bench.groups else None
        surroundings.crowd(bench.kind, bench.cache, bench.queue, len(bench.pods))

    def next(self) -> list[str]:
        """One attempt, at a pod or at a whole group: the node of each pod, "" if none fits."""
        return [decide(self._bench)] if self._groups is None else self._groups.decide()

    def between(self, decided: int) -> None:
        """The events after so many pods were decided about."""
        bench = self._bench
        if bench.kind == "churn" and decided % 10 == 0:
            _churn(bench, decided - 1)
        last = bench.pods[decided - 1]
        surroundings.disturb(bench.kind, bench.cache, bench.queue, last, decided)


def placements(bench: Bench) -> list[str]:
    """Decide every pod once; the nodes in the order of the attempts, "" if none fits."""
    attempts, found = _Attempts(bench), list[str]()
    _enqueue(bench)
    while len(found) < len(bench.pods):
        found += attempts.next()
        attempts.between(len(found))
    return found


def measure_throughput(
    kind: str, nodes: int, pods: int, profiles: Mapping[str, Profile], seed: int
) -> Throughput:
    """Decide every pod once, and measure how long that takes."""
    bench = prepare(kind, nodes, pods, profiles, seed)
    placed: Counter[str] = Counter()
    times: list[float] = []
    attempts = _Attempts(bench)
    whole = decided = 0
    enqueued = _enqueue(bench)
    garbage.freeze()
    cpu = time.process_time()
    began = time.perf_counter()
    while decided < pods:
        start = time.perf_counter()
        nodes_of = attempts.next()
        times.append(time.perf_counter() - start)
        placed.update(filter(None, nodes_of))
        whole += all(nodes_of)
        decided += len(nodes_of)
        attempts.between(decided)
    elapsed, cpu = time.perf_counter() - began, time.process_time() - cpu
    seconds, groups = np.array(times), bench.groups
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


def _enqueue(bench: Bench) -> float:
    """Compute each pod's requests and queue it; returns the seconds that took."""
    began = time.perf_counter()
    for pod in bench.pods:
        bench.queue.add(bench.cache.info(pod), 0.0)
    return time.perf_counter() - began


def decide(bench: Bench) -> str:
    """One attempt; returns the node's name, or "" if none fits."""
    queue, queued = bench.queue, bench.queue.pop(0.0)
    if queued is None:
        raise LookupError("the queue ran dry")
    cycle, outcome = bench.scheduler.decide(queued)
    if isinstance(outcome, Placement):
        complete_claims(bench.cache, cycle)
        queue.done(queued.info.uid)
        return outcome.node.name
    if isinstance(outcome, Rejection):
        queue.put_back(queued, {outcome.plugin}, (), False, 0.0)
        return ""
    queue.put_back(queued, outcome.diagnosis.unschedulable_plugins, (), False, 0.0)
    bench.scheduler.refused(cycle, outcome)
    if outcome.nominated is None or not outcome.nominated.node:
        return ""
    queue.delete(queued.info.uid)
    _make_room(bench, queued, outcome.nominated)
    return outcome.nominated.node


def _make_room(bench: Bench, queued: QueuedPod, nominated: Nominated) -> None:
    """Remove the victims and place the pod; or keep the victims, and nominate the node for it."""
    if bench.kind == workload_kinds.NOMINATED:
        bench.cache.nominations.put(queued.info, nominated.node)
        return
    groups = bench.scheduler.feature(Gangs).groups
    for victim in nominated.victims:
        bench.cache.remove_pod(victim.uid)
        groups.remove_pod(victim.uid)
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
