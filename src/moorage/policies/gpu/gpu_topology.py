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
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.plugin import Carried
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import MAX_SCORE, Rejection, unresolvable, unschedulable
from moorage.policies import label_values
from moorage.policies.argument_types import Percent
from moorage.policies.gpu import gpu_resources, numa_domains
from moorage.policies.gpu.numa_domains import NumaDomains
from moorage.policies.telemetry.metric_sources import Source, TopologySource

SAME_NUMA: Final = "same-numa"
NO_DOMAIN: Final = "node(s) had no NUMA domain with enough free GPUs"
TOO_SMALL: Final = "node(s) had no NUMA domain with enough GPUs"

_OCCUPIED, _TOO_SMALL = 1, 2
_READ_SECONDS = 15.0

Counts = NDArray[np.int64]


class GPUTopology(Filter, Score, frozen=True):
    """The fewer GPUs a pod leaves free on a node, the better; and the fewer domains it needs.

    `numaLabel` says how many GPUs of a node share a NUMA domain; without it, all do. Which are free
    is worked out from the pods that came and went, or read from NodeResourceTopologies where they
    are served (numa_domains.py). A node scores 100 less the percentage of its GPUs that would be
    left, but `numaWeight` (30) hundredths of the score go to nodes where the pod needs no more
    domains than it must. As a filter, a pod annotated `topologyAnnotation: same-numa` is kept off
    nodes where no single domain has all the GPUs it asks for. Pods without GPUs are not concerned.
    """

    resource_names: tuple[str, ...] = gpu_resources.GPU_RESOURCE_NAMES
    numa_label: str = "moorage.io/gpus-per-numa"
    topology_annotation: str = "moorage.io/gpu-topology"
    numa_weight: Percent = 30
    read_topologies: bool = True

    aliases = ("GPUTopologyPlugin",)
    depends = Depends.USAGE
    carried: ClassVar[Carried] = {numa_domains.ZONES: None}

    @cached_property
    def domains(self) -> NumaDomains:
        """Which GPUs are free, by domain."""
        return NumaDomains(self.resource_names, self.numa_label)

    def sources(self) -> tuple[Source, ...]:
        return (TopologySource(_READ_SECONDS),) if self.read_topologies else ()

    def sign(self, cycle: Cycle) -> Hashable:
        version = numa_domains.served_zones(cycle.shared).version
        return self.asked(cycle), self.is_strict(cycle.pod), version

    def asked(self, cycle: Cycle) -> int:
        """How many GPUs the pod asks for."""
        return gpu_resources.requested_gpus(cycle.incoming, cycle.table, self.resource_names)

    def is_strict(self, pod: Pod) -> bool:
        """Whether all the pod's GPUs must be in one domain."""
        return pod.annotations.get(self.topology_annotation) == SAME_NUMA

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        asked = self.asked(cycle)
        if asked and self.is_strict(pod):
            one = np.ones(nodes.count, dtype=np.int64)
            zones = numa_domains.served_zones(cycle.shared)
            out[self.domains.most_free(nodes, zones, one) < asked] = _OCCUPIED
            out[self._domain_size(nodes) < asked] = _TOO_SMALL

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(TOO_SMALL) if code == _TOO_SMALL else unschedulable(NO_DOMAIN)

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        asked = self.asked(cycle)
        if not asked:
            return
        offered = np.maximum(gpu_resources.offered_gpus(nodes, self.resource_names), 1)
        free = gpu_resources.free_gpus(nodes, self.resource_names)
        fit = 1.0 - np.maximum(free - asked, 0) / offered
        aligned = self._is_aligned(asked, cycle, nodes)
        total = (MAX_SCORE - self.numa_weight) * fit + self.numa_weight * aligned
        score_range.write_scores(np.where(free >= asked, total, 0.0), out)

    def events(self) -> tuple[EventHint, ...]:
        changed = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_LABEL
        gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        return EventHint(ClusterEvent(Resource.NODE, changed)), EventHint(gone)

    def _is_aligned(self, asked: int, cycle: Cycle, nodes: Nodes) -> NDArray[np.bool_]:
        """Whether the pod needs no more domains than so many GPUs must take.  bool (node)"""
        zones = numa_domains.served_zones(cycle.shared)
        needed = -(-asked // np.maximum(self._domain_size(nodes), 1))
        enough: NDArray[np.bool_] = self.domains.most_free(nodes, zones, needed) >= asked
        return enough

    def _domain_size(self, nodes: Nodes) -> Counts:
        """How many GPUs a domain has; all of the node's, where it does not say.  int64 (node)"""
        said = label_values.node_numbers(nodes.table, self.numa_label)[nodes.rows]
        offered = gpu_resources.offered_gpus(nodes, self.resource_names)
        size = np.where(said >= 1, np.nan_to_num(said), offered).astype(np.int64)
        return np.minimum(size, np.maximum(offered, 1))
