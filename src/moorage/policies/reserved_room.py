"""ReservedRoom: keeps room free on nodes for certain pods."""

from collections.abc import Hashable
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api import label_requirements, quantity, selectors
from moorage.api.affinity import NodeSelectorRequirement
from moorage.api.label_requirements import Requirement, SelectorError
from moorage.api.meta import LabelSelector
from moorage.api.pod import Pod
from moorage.api.quantity import QuantityError
from moorage.api.selectors import Selector
from moorage.cache import selector_masks
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.config.types import ConfigStruct
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter
from moorage.framework.verdicts import Rejection, unschedulable

RESERVED: Final = "node(s) had only room that is reserved for {}"


class Reservation(ConfigStruct, frozen=True):
    """Keeps some of each node free for the pods that `pods` selects, or that are in one of
    `namespaces`, or whose priority is at least `minPriority`; one of these suffices.

    `resources` are quantities, or percentages of what the node has. `nodes` are expressions that
    must all match a node; if there are none, every node counts.
    """

    name: str
    resources: dict[str, str]
    nodes: tuple[NodeSelectorRequirement, ...] = ()
    pods: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    min_priority: int | None = None


class CompiledReservation(NamedTuple):
    nodes: tuple[Requirement, ...]
    pods: Selector


class ReservedRoom(Filter, frozen=True):
    """A pod outside a reservation must leave the reserved amount of the node free.

    What the reservation's own pods use is subtracted: the room kept free shrinks as they arrive.
    Pods already on the node stay; nobody is evicted.
    """

    reservations: tuple[Reservation, ...] = ()

    aliases = ("ReservedRoomPlugin",)
    depends = Depends.EVERYTHING

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        return [
            f"reservations[{at}].{fault}"
            for at, given in enumerate(args["reservations"])
            for fault in _faults(given)
        ]

    @cached_property
    def compiled(self) -> tuple[CompiledReservation, ...]:
        return tuple(
            CompiledReservation(
                tuple(_requirement(each.key, each.operator, each.values) for each in given.nodes),
                selectors.NOTHING if given.pods is None else selectors.compile(given.pods),
            )
            for given in self.reservations
        )

    def sign(self, cycle: Cycle) -> Hashable | None:
        return None

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        for at, given in reversed(list(enumerate(self.reservations))):
            if not self.is_for(at, pod):
                out[self._is_short(cycle, nodes, at, given)] = at + 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unschedulable(RESERVED.format(self.reservations[code - 1].name))

    def is_for(self, at: int, pod: Pod) -> bool:
        """Whether a pod belongs to a reservation."""
        given = self.reservations[at]
        urgent = given.min_priority is not None and pod.priority >= given.min_priority
        return (
            urgent
            or pod.namespace in given.namespaces
            or self.compiled[at].pods.matches(pod.labels)
        )

    def events(self) -> tuple[EventHint, ...]:
        changed = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_LABEL
        freed = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN)
        own = ClusterEvent(
            Resource.TARGET_POD, Action.UPDATE_POD_LABEL | Action.UPDATE_POD_SCALE_DOWN
        )
        return EventHint(ClusterEvent(Resource.NODE, changed)), EventHint(freed), EventHint(own)

    def _is_short(
        self, cycle: Cycle, nodes: Nodes, at: int, given: Reservation
    ) -> NDArray[np.bool_]:
        """Where the pod would take reserved room.  bool (node)"""
        table, asked = cycle.table, dict(cycle.incoming.requests)
        short = np.zeros(nodes.count, dtype=np.bool_)
        for name, amount in given.resources.items():
            index = table.resources.find(name)
            if index is None or index >= len(table.allocatable) or not asked.get(index):
                continue
            kept = _amount(name, amount, nodes.allocatable[index])
            kept = np.maximum(kept - self._used(cycle, nodes, at, index), 0)
            short |= nodes.free[index] - asked[index] < kept
        return short & selector_masks.all_labels_match(self.compiled[at].nodes, nodes)

    def _used(self, cycle: Cycle, nodes: Nodes, at: int, index: int) -> NDArray[np.int64]:
        """What the reservation's own pods request on each node.  int64 (node)"""
        rows = np.arange(cycle.table.rows)[nodes.rows].tolist()
        return np.array(
            [
                sum(
                    dict(info.requests).get(index, 0)
                    for info in cycle.table.pods[row].values()
                    if self.is_for(at, info.pod)
                )
                for row in rows
            ],
            dtype=np.int64,
        )


def _amount(name: str, text: str, offered: NDArray[np.int64]) -> NDArray[np.int64]:
    """A quantity of a resource, or a percentage of what each node has.  int64 (node)"""
    if text.endswith("%"):
        return (offered * float(text[:-1]) / 100).astype(np.int64)
    read = quantity.milli_value if name == "cpu" else quantity.value
    return np.full(len(offered), read(text), dtype=np.int64)


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    return label_requirements.check_requirement(key, operator, values)


def _faults(given: dict[str, Any]) -> list[str]:
    faults = []
    for name, amount in given["resources"].items():
        try:
            _amount(name, str(amount), np.ones(1, dtype=np.int64))
        except (QuantityError, ValueError):
            faults.append(f"resources.{name}: {amount!r} is neither a quantity nor a percentage")
    try:
        for each in given.get("nodes") or ():
            _requirement(each["key"], each.get("operator", ""), tuple(each.get("values") or ()))
    except SelectorError as error:
        faults.append(f"nodes: {error}")
    if (
        given.get("pods") is None
        and not given.get("namespaces")
        and given.get("minPriority") is None
    ):
        faults.append("pods: nobody is named: pods, namespaces or minPriority")
    return faults
