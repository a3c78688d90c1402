"""GPUTopology: packs GPU pods onto the nodes and NUMA domains they fill best."""

from collections.abc import Hashable
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.events import MEASURED, Action, ClusterEvent, EventHint, Resource
from moorage.framework.plugin import Carried
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import MAX_SCORE, Rejection, unresolvable, unschedulable
from moorage.policies.argument_types import Percent
from moorage.policies.gpu import gpu_resources, numa_domains
from moorage.policies.gpu.devices import choice
from moorage.policies.gpu.devices.choice import Alignment
from moorage.policies.gpu.devices.domains import DomainCounts, domain_counts
from moorage.policies.gpu.devices.node_devices import PER_NUMA
from moorage.policies.gpu.devices.pod_dialects import InvalidRequest, gpu_request
from moorage.policies.gpu.gpu_packing import packed_gpus
from moorage.policies.gpu.gpu_request import WHOLE, GPURequest
from moorage.policies.gpu.numa_domains import NumaDomains
from moorage.policies.telemetry.metric_sources import Source, TopologySource

NO_DOMAIN: Final = "node(s) had no NUMA domain with enough free GPUs"
TOO_SMALL: Final = "node(s) had no NUMA domain with enough GPUs"

_OCCUPIED, _TOO_SMALL = 1, 2
_READ_SECONDS = 15.0

NO_GPUS: Final = GPURequest(0, 0)


class GPUTopology(Filter, Score, frozen=True):
    """Prefers nodes where a pod leaves few GPUs free and needs few NUMA or NVLink domains.

    The device columns tell which GPUs are taken (devices/columns.py): by the pods' annotations, or
    else as a kubelet would assign them. Domains are NUMA domains or NVLink islands. For nodes that
    do not list domains by device, `numaLabel` tells how many GPUs share a NUMA domain; without it,
    all do. NodeResourceTopologies, if served, take precedence (numa_domains.py). A node scores 100
    less the percentage of its GPUs that would be left. `numaWeight` (30) hundredths of the score
    instead depend on whether the pod needs no more domains there than necessary. A pod chooses the
    kind of domain by `topologyAnnotation`: `prefer-same-numa`, `prefer-same-nvlink`. With
    `same-numa` or `same-nvlink`, the filter refuses nodes where no single domain has all the GPUs.
    Pods without GPUs are not affected.
    """

    resource_names: tuple[str, ...] = gpu_resources.GPU_RESOURCE_NAMES
    numa_label: str = PER_NUMA
    topology_annotation: str = choice.TOPOLOGY
    numa_weight: Percent = 30
    read_topologies: bool = True

    aliases = ("GPUTopologyPlugin",)
    depends = Depends.USAGE
    carried: ClassVar[Carried] = {numa_domains.ZONES: None}

    @cached_property
    def domains(self) -> NumaDomains:
        """The free GPUs of each domain, as reported or else as assigned here."""
        return NumaDomains(self.resource_names, self.numa_label)

    @cached_property
    def knows_devices(self) -> bool:
        """Whether the device columns contain the GPUs with these names."""
        known = set(self.resource_names) <= set(gpu_resources.GPU_RESOURCE_NAMES)
        return known and self.numa_label == PER_NUMA

    def sources(self) -> tuple[Source, ...]:
        return (TopologySource(_READ_SECONDS),) if self.read_topologies else ()

    def sign(self, cycle: Cycle) -> Hashable:
        version = numa_domains.served_zones(cycle.shared).version
        return self.asked(cycle), self.wanted(cycle.pod), version

    def asked(self, cycle: Cycle) -> GPURequest:
        """The number of GPUs that the pod requests, and the milli of each."""
        if self.knows_devices:
            try:
                request = gpu_request(cycle.incoming)
            except InvalidRequest:
                return NO_GPUS
            return request._replace(cpu=0, memory=0, models=frozenset())
        names = self.resource_names
        count = gpu_resources.requested_gpus(cycle.incoming, cycle.table, names)
        return GPURequest(0, 0, count, WHOLE)

    def wanted(self, pod: Pod) -> Alignment:
        """The domains that the pod asks for."""
        return choice.alignment(pod.annotations, self.topology_annotation)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        asked = self.asked(cycle)
        if asked.gpus and self.wanted(pod).is_strict:
            found = self._counts(cycle, asked, self.wanted(pod).kind, nodes)
            out[found.largest_free() < asked.gpus] = _OCCUPIED
            out[found.largest() < asked.gpus] = _TOO_SMALL

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(TOO_SMALL) if code == _TOO_SMALL else unschedulable(NO_DOMAIN)

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        asked = self.asked(cycle)
        if not asked.gpus:
            return
        found = self._counts(cycle, asked, self.wanted(pod).kind, nodes)
        free, offered = found.free.sum(axis=1), np.maximum(found.size.sum(axis=1), 1)
        fit = 1.0 - np.maximum(free - asked.gpus, 0) / offered
        aligned = found.is_aligned(asked.gpus)
        total = (MAX_SCORE - self.numa_weight) * fit + self.numa_weight * aligned
        score_range.write_scores(np.where(free >= asked.gpus, total, 0.0), out)

    def events(self) -> tuple[EventHint, ...]:
        changed = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_LABEL
        changed |= Action.UPDATE_NODE_ANNOTATION
        gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        node, own = (
            ClusterEvent(Resource.NODE, changed),
            ClusterEvent(Resource.TARGET_POD, Action.UPDATE),
        )
        return EventHint(node), EventHint(gone), EventHint(own), EventHint(MEASURED)

    def _counts(self, cycle: Cycle, asked: GPURequest, kind: str, nodes: Nodes) -> DomainCounts:
        """The domains of each node: as reported, or else by the devices of its pods."""
        table, zones = cycle.table, numa_domains.served_zones(cycle.shared)
        rows = np.arange(table.rows)[nodes.rows]
        if not self.knows_devices:
            return self.domains.counts(table, zones, rows.tolist(), None)
        columns = packed_gpus(table).columns
        columns.catch_up(table)
        milli = np.array([asked.on(size).milli for size in columns.memory[rows].tolist()])
        found = domain_counts(columns, rows, milli, kind)
        if kind == choice.SAME_NVLINK or not zones.nodes:
            return found
        served = [place for place, row in enumerate(rows) if table.node(row).name in zones.nodes]
        told = self.domains.counts(table, zones, rows[served].tolist(), columns)
        return found.replaced(np.array(served, dtype=np.int64), told)
