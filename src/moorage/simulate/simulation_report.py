"""The report of a simulation: where pods were placed, why others were not, how full nodes are."""

from collections import Counter
from collections.abc import Container, Iterator
from typing import Any, Literal

import msgspec

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.podinfo import BASE_RESOURCES
from moorage.memory.cluster_resources import REPLICA_SETS
from moorage.memory.controllers import owned_pods
from moorage.simulate.evictions import Eviction
from moorage.simulate.simulation import Simulation, pods_of

PodState = Literal["placed", "bound", "pending", "finished", "lost"]
"""Placed by this run; on its node before; pending; Succeeded or Failed; on an unknown node."""


class PodReport(msgspec.Struct, frozen=True, rename="camel"):
    """One pod: its node and score, or why it waits."""

    namespace: str
    name: str
    scheduler: str
    node: str = ""
    score: int | None = None
    message: str = ""
    attempts: int = 0
    state: PodState = "pending"
    owner: str = ""
    """Kind and name of its workload; for a pod of a ReplicaSet, those of the Deployment."""

    @property
    def is_pending(self) -> bool:
        return self.state == "pending"


class ResourceUse(msgspec.Struct, frozen=True, rename="camel"):
    """What is requested of one resource, in millicores, bytes or a count."""

    requested: int
    allocatable: int

    @property
    def share(self) -> float:
        return self.requested / self.allocatable if self.allocatable else 0.0


class NodeReport(msgspec.Struct, frozen=True, rename="camel"):
    """One node and how full it is."""

    name: str
    zone: str
    pods: int
    unschedulable: bool
    resources: dict[str, ResourceUse]


class Report(msgspec.Struct, frozen=True, rename="camel"):
    """Everything that is reported of a run."""

    pods: tuple[PodReport, ...]
    nodes: tuple[NodeReport, ...]
    attempts: int
    errors: tuple[str, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    refused: tuple[str, ...] = ()
    """What controllers could not create: owner and reason, a line each."""
    notes: tuple[str, ...] = ()
    """What the simulation leaves out, and what difference that makes: a line each."""
    warnings: tuple[str, ...] = ()
    """What is odd about accepted manifests, for example a misspelt field."""
    gave_up: str = ""
    """Why the run was given up with work left to do; empty if it was not."""

    @property
    def failed(self) -> bool:
        """Whether the run had errors, or was given up in a cluster that has nodes."""
        return bool(self.errors or (self.gave_up and self.nodes))

    @property
    def counts(self) -> dict[PodState, int]:
        """How many pods are in each state."""
        return dict(Counter(pod.state for pod in self.pods))

    def as_data(self) -> dict[str, Any]:
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


def build_report(simulation: Simulation) -> Report:
    """The report of a finished simulation."""
    return Report(
        pods=_pods(simulation),
        nodes=_nodes(simulation.scheduler.cache),
        attempts=simulation.story.attempts,
        errors=tuple(simulation.errors),
        evictions=simulation.evictions,
        refused=tuple(_refusals(simulation)),
        notes=simulation.notes,
        warnings=simulation.warnings,
        gave_up=simulation.gave_up,
    )


def _refusals(simulation: Simulation) -> Iterator[str]:
    for (whose, why), times in simulation.refused.items():
        yield f"{whose}: {why}" + (f" ({times} times)" if times > 1 else "")


def _pods(simulation: Simulation) -> tuple[PodReport, ...]:
    told = []
    nodes = simulation.scheduler.cache.table.row_of
    for pod in pods_of(simulation):
        last = simulation.story.last.get(pod.uid)
        gated = simulation.scheduler.queue.find(pod.uid)
        state = _state(pod, nodes, attempted=last is not None)
        told.append(
            PodReport(
                namespace=pod.namespace,
                name=pod.name,
                scheduler=pod.spec.scheduler_name,
                node=pod.spec.node_name,
                score=last.score if last and pod.spec.node_name and last.feasible > 1 else None,
                message=(
                    simulation.story.reasons.get(pod.uid, "")
                    if last
                    else _unattempted(pod, gated, simulation.scheduler.profiles)
                )
                if state == "pending"
                else "",
                attempts=last.attempts if last else 0,
                state=state,
                owner=_owner(simulation, pod),
            )
        )
    return tuple(told)


def _state(pod: Pod, nodes: Container[str], *, attempted: bool) -> PodState:
    if pod.status.phase in ("Succeeded", "Failed"):
        return "finished"
    if not pod.spec.node_name:
        return "pending"
    if pod.spec.node_name not in nodes:
        return "lost"
    return "placed" if attempted else "bound"


def _owner(simulation: Simulation, pod: Pod) -> str:
    owner = next((ref for ref in pod.metadata.owner_references if ref.controller), None)
    if owner is None:
        return ""
    table = simulation.cluster.registry.store.table(REPLICA_SETS)
    above = (
        table.entries.get(f"{pod.namespace}/{owner.name}") if owner.kind == "ReplicaSet" else None
    )
    found = None if above is None else owned_pods.controller_of(above.raw)
    return f"{found['kind']} {found['name']}" if found else f"{owner.kind} {owner.name}"


def _unattempted(pod: Pod, queued: Any, profiles: Container[str]) -> str:
    """Why a pod without an attempt is pending; of a group, one pod is attempted for all."""
    if pod.is_terminating:
        return "it is being deleted; it is left alone"
    if queued is None and pod.spec.scheduler_name not in profiles:
        return "no profile of this scheduler is its own; it is left alone"
    if queued is None:
        return "not attempted"
    told = (c.message for c in pod.status.conditions if c.type == "PodScheduled" and c.message)
    return next(told, "") or queued.gated_reason or "not attempted"


def _nodes(cache: Cache) -> tuple[NodeReport, ...]:
    table = cache.table
    told = []
    for name in sorted(table.row_of):
        row = table.row_of[name]
        node = table.node(row)
        offered = {
            resource: ResourceUse(
                int(table.requested[index, row]), int(table.allocatable[index, row])
            )
            for index, resource in enumerate(table.resources.values[: len(table.allocatable)])
            if resource in BASE_RESOURCES or table.allocatable[index, row]
        }
        told.append(
            NodeReport(
                name=name,
                zone=node.zone,
                pods=int(table.pod_count[row]),
                unschedulable=node.spec.unschedulable,
                resources=offered,
            )
        )
    return tuple(told)
