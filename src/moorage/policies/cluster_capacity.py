"""ClusterCapacity: refuses at once a pod that requests more than all nodes together offer."""

from typing import Final

from moorage.api.pod import Pod
from moorage.api.resource_amounts import format_amount
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import PreFilter
from moorage.framework.verdicts import Rejection, unresolvable

NOT_ENOUGH: Final = "the pod asks for {} of {}, and the whole cluster has {}"


class ClusterCapacity(PreFilter, frozen=True):
    """Compares a pod with the cluster's totals before any node is filtered: an early, clear answer.

    A pod that passes may still fit on no single node. NodeResourcesFit checks that.
    """

    aliases = ("ClusterCapacityPlugin",)

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | None:
        table = cycle.table
        for index, asked in cycle.incoming.requests:
            offered = 0
            if index < len(table.allocatable):
                offered = int(table.allocatable[index, : table.rows].sum())
            if asked > offered:
                name = table.resources.values[index]
                amounts = format_amount(name, asked), format_amount(name, offered)
                return unresolvable(NOT_ENOUGH.format(amounts[0], name, amounts[1]))
        return None

    def events(self) -> tuple[EventHint, ...]:
        grown = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE
        smaller = ClusterEvent(Resource.TARGET_POD, Action.UPDATE)
        return EventHint(ClusterEvent(Resource.NODE, grown)), EventHint(smaller)
