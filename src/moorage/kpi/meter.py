"""The meter records nodes and pods as they come and go, and computes the KPIs of a run."""

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from moorage.kpi.fairness import Fairness
from moorage.kpi.fragmentation import Fragmentation
from moorage.kpi.node_costs import NodeCosts
from moorage.kpi.pod_times import PodKind, PodTimes
from moorage.kpi.resource_totals import ResourceTotals
from moorage.kpi.samples import Samples
from moorage.kpi.settings import KpiSettings
from moorage.kpi.spread import SpreadKept


class PodFacts(msgspec.Struct, frozen=True, gc=False):
    """What KPIs need to know of a pod.

    `usage` is the share of its requests that it uses. `workload` names the workload it is a replica
    of. `gang` names the group that is of use only with `gang_size` pods.
    """

    kind: PodKind
    requests: Mapping[str, float]
    usage: float = 1.0
    workload: str = ""
    gang: str = ""
    gang_size: int = 0


class Moment(msgspec.Struct, frozen=True):
    """The cluster at one time."""

    waiting: int
    running: int
    nodes: int
    nodes_in_use: int
    cost_per_hour: float
    allocation: dict[str, float]
    fragmentation: dict[str, float]


class _Pod:
    __slots__ = ("arrived", "facts", "node", "placed")

    def __init__(self, facts: PodFacts, now: float) -> None:
        self.facts = facts
        self.arrived = now
        self.node = ""
        self.placed = False


class _Gang:
    __slots__ = ("pods", "running", "size", "whole")

    def __init__(self, size: int) -> None:
        self.size = size
        self.pods = self.running = 0
        self.whole = False


class Meter:
    """Everything that KPIs are computed from. Times never decrease; pods have any unique names.

    A run ends with the last event of a pod, which nobody knows in advance. So a change of a node is
    held until a later event of a pod; without one, it never counts.
    """

    def __init__(self, settings: KpiSettings, start: float) -> None:
        self.settings = settings
        self.start = start
        self.end = start
        self.times = PodTimes()
        self.totals = ResourceTotals()
        self.costs = NodeCosts()
        self.fairness = Fairness()
        self.fragmentation = Fragmentation(settings.typical)
        self.spread = SpreadKept(settings.max_skew)
        self.samples = Samples[Moment](start, settings.sample_seconds, settings.samples)
        self.attempts = self.evictions = self.rejections = 0
        self.work_lost = 0.0
        self.gangs_never_placed = self.gangs = 0
        self.running = 0
        self._zones: dict[str, str] = {}
        self._pods: dict[str, _Pod] = {}
        self._gangs: dict[str, _Gang] = {}
        self._held: list[tuple[float, Callable[[float], None]]] = []
        for part in (self.totals, self.costs, self.fairness):
            part.begin(start)

    @property
    def waiting(self) -> int:
        """How many pods have no node now."""
        return len(self._pods) - self.running

    def node_joined(
        self,
        now: float,
        name: str,
        allocatable: Mapping[str, float],
        price_per_hour: float = 0.0,
        zone: str = "",
    ) -> None:
        """An empty node joined."""
        self._node_changes(now, partial(self._join, name, allocatable, price_per_hour, zone))

    def node_left(self, now: float, name: str) -> None:
        """A node left; its pods were stopped before."""
        self._node_changes(now, partial(self._leave, name))

    def has_room(self, node: str, requests: Mapping[str, float]) -> bool:
        """Whether the node exists and has room for a pod now."""
        self._catch_up()
        return self.totals.has_room(node, requests)

    def fills(self) -> list[float]:
        """How full each node is; call this only while more pods are certain to come."""
        self._catch_up()
        return self.totals.fills()

    def pod_arrived(self, now: float, pod: str, facts: PodFacts) -> None:
        """A pod arrived, and waits."""
        now = self._pod_changes(now)
        self._pods[pod] = _Pod(facts, now)
        self.times.arrived(facts.kind)
        self.fairness.pod_came(now, facts.kind.tenant)
        if facts.gang_size > 0:
            gang = self._gangs.get(facts.gang)
            if gang is None:
                gang = self._gangs[facts.gang] = _Gang(facts.gang_size)
                self.gangs += 1
            gang.pods += 1

    def pod_placed(self, now: float, pod: str, node: str) -> None:
        """A pod runs on a node from now on."""
        now = self._pod_changes(now)
        known = self._pods[pod]
        facts = known.facts
        if not known.placed:
            known.placed = True
            self.times.placed(facts.kind, now - known.arrived)
        known.node = node
        self.running += 1
        tenant = facts.kind.tenant
        self.totals.shift(now, node, facts.requests, 1, facts.usage)
        self.costs.pod_came(now, node, tenant, facts.requests)
        self.fairness.shift(now, tenant, facts.requests, 1)
        self.fragmentation.shift(node, facts.requests, 1)
        self.spread.placed(facts.workload, self._zones[node])
        if facts.gang_size > 0:
            gang = self._gangs[facts.gang]
            gang.running += 1
            gang.whole = gang.whole or gang.running >= gang.size

    def pod_stopped(self, now: float, pod: str, *, work_lost: float = 0.0) -> None:
        """A pod was stopped before it completed, for any reason, and waits again."""
        self._release(self._pod_changes(now), self._pods[pod])
        self.evictions += 1
        self.work_lost += work_lost

    def pod_completed(self, now: float, pod: str) -> None:
        """A pod completed its work."""
        known = self._pods[pod]
        now = self._pod_changes(now)
        self._release(now, known)
        self.times.completed(known.facts.kind, now - known.arrived)
        self._forget(now, pod)

    def pod_withdrawn(self, now: float, pod: str) -> None:
        """A pod was removed, running or waiting; it neither completed nor was evicted."""
        now = self._pod_changes(now)
        known = self._pods[pod]
        if known.node:
            self._release(now, known)
        self._forget(now, pod)

    def settled(self, now: float) -> None:
        """An event of a pod that only moves the end of the run."""
        self._pod_changes(now)

    def finish(self) -> float:
        """End the run; returns the time of the last event of a pod."""
        self.samples.skip_to(self.end, self.moment())
        self.samples.end(self.end, self.moment())
        self.costs.settle(self.end)
        for gang in self._gangs.values():
            self.gangs_never_placed += not gang.whole
        self._gangs.clear()
        return self.end

    def moment(self) -> Moment:
        """The current state of the cluster."""
        return Moment(
            self.waiting,
            self.running,
            self.costs.present,
            self.costs.in_use,
            self.costs.hourly(),
            self.totals.shares(),
            self.fragmentation.shares(),
        )

    def _node_changes(self, now: float, change: Callable[[float], None]) -> None:
        if now > self.end:
            self._held.append((now, change))
        else:
            change(self._look(now))

    def _pod_changes(self, now: float) -> float:
        self._catch_up()
        self.end = self._look(now)
        return self.end

    def _catch_up(self) -> None:
        """Apply the held changes of nodes, because an event of a pod follows them."""
        if self._held:
            for when, change in self._held:
                change(self._look(when))
            self._held.clear()

    def _join(
        self, name: str, allocatable: Mapping[str, float], price: float, zone: str, now: float
    ) -> None:
        self._zones[name] = zone
        self.totals.node_joined(now, name, allocatable)
        self.costs.node_joined(now, name, price, allocatable)
        self.fragmentation.node_joined(name, allocatable)
        self.spread.zone_joined(zone)
        self.fairness.resized(now, self.totals.capacity)

    def _leave(self, name: str, now: float) -> None:
        self.totals.node_left(now, name)
        self.costs.node_left(now, name)
        self.fragmentation.node_left(name)
        self.spread.zone_left(self._zones.pop(name))
        self.fairness.resized(now, self.totals.capacity)

    def _look(self, now: float) -> float:
        """Take samples that are due, before a change; times before the start count as the start."""
        if now <= self.start:
            return self.start
        if self.samples.due < now:
            self.samples.skip_to(now, self.moment())
        return now

    def _release(self, now: float, pod: _Pod) -> None:
        facts, node = pod.facts, pod.node
        tenant = facts.kind.tenant
        pod.node = ""
        self.running -= 1
        self.totals.shift(now, node, facts.requests, -1, facts.usage)
        self.costs.pod_left(now, node, tenant, facts.requests)
        self.fairness.shift(now, tenant, facts.requests, -1)
        self.fragmentation.shift(node, facts.requests, -1)
        self.spread.left(facts.workload, self._zones[node])
        if facts.gang_size > 0:
            self._gangs[facts.gang].running -= 1

    def _forget(self, now: float, pod: str) -> None:
        facts = self._pods.pop(pod).facts
        self.fairness.pod_left(now, facts.kind.tenant)
        if facts.gang_size > 0:
            gang = self._gangs[facts.gang]
            gang.pods -= 1
            if not gang.pods:
                self.gangs_never_placed += not gang.whole
                del self._gangs[facts.gang]
