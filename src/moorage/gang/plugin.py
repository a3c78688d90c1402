"""GangScheduling: pods of a group wait for each other before the queue, never behind it.

1. PreEnqueue keeps the pods of a group out of the queue until enough of them exist, while the group
   backs off, and while pods evicted for it are leaving.
2. PreFilter narrows the search for a packed group to the domain that is being tried, and for later
   pods to the domain of the others.
3. Filter keeps other pods off the room that is held for a group which has waited long.

Only step 3 affects pods that name no group.
"""

from collections.abc import Hashable
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.points import Filter, PreEnqueue, PreFilter, QueueSort
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import SKIP, NodeNames, Rejection, Skip, unresolvable
from moorage.gang import hierarchy, topology
from moorage.gang.directory import Directory
from moorage.gang.holds import Hold, Holds, total

NAME: Final = "GangScheduling"
DOMAIN: Final = "GangScheduling/domain"
"""Key in `cycle.state` of the names of the nodes that an attempt at a packed group may use."""
_HELD: Final = "GangScheduling/held"


class GroupView(NamedTuple):
    """The groups and the room held for them; in `cycle.shared` under the plugin's name."""

    directory: Directory
    holds: Holds


NO_GROUPS: Final = GroupView(Directory(), Holds())

Seconds = Annotated[float, msgspec.Meta(ge=0)]


class GangScheduling(PreEnqueue, PreFilter, Filter, frozen=True):
    """All of a group's pods, or none.

    `enabled: false`: pods are scheduled as if they named no group. `permitWaitingTimeSeconds`: the
    default of a group's `scheduleTimeoutSeconds`. `podGroupBackoffSeconds`: a fixed backoff of
    groups, instead of one that doubles with each failure. `reservationAfterSeconds`: how long a
    group waits before room is held for it (0 for never). `incompleteAfterSeconds`: how long a group
    may lack pods before that is reported.
    """

    enabled: bool = True
    permit_waiting_time_seconds: Seconds = 60.0
    pod_group_backoff_seconds: Seconds = 0.0
    reservation_after_seconds: Seconds = 300.0
    incomplete_after_seconds: Seconds = 10.0

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        if not self.enabled:
            return None
        groups, _ = self.handle.shared.get(NAME, NO_GROUPS)
        refusal = groups.refusal(pod)
        return None if refusal is None else unresolvable(refusal)

    def pre_filter(self, cycle: Cycle, pod: Pod) -> NodeNames | Skip | None:
        groups, holds = cycle.shared.get(NAME, NO_GROUPS)
        group = groups.of(pod) if self.enabled else None
        domain = cycle.state.get(DOMAIN)
        if domain is None and group is not None:
            domain = topology.joined_nodes(group, cycle.cache)
        held = holds.over(pod, group, cycle.now) if len(holds) else []
        if held:
            cycle.state[_HELD] = held
        if domain is not None:
            return NodeNames(domain)
        return None if held else SKIP

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        held: list[Hold] = cycle.state.get(_HELD, [])
        if not held:
            return
        pods, amounts = total(held, cycle.table)
        here = pods[nodes.rows]
        short = nodes.pod_count + here >= nodes.allowed_pods
        for resource, amount in cycle.incoming.requests:
            if resource < len(amounts):
                free = nodes.allocatable[resource] - nodes.requested[resource]
                short |= free - amounts[resource, nodes.rows] < amount
        out[short & (here > 0)] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        groups = " ".join(hold.group.key for hold in cycle.state[_HELD])
        return unresolvable(f"node(s) had room that is held for PodGroup(s) [{groups}]")

    def refusal_sign(self, cycle: Cycle) -> Hashable | None:
        """Pods of no group are kept off the same rooms as long as those are held."""
        groups, holds = cycle.shared.get(NAME, NO_GROUPS)
        if groups.names(cycle.pod):
            return None
        held = holds.over(cycle.pod, None, cycle.now)
        return holds.version, tuple(hold.group.key for hold in held)

    def events(self) -> tuple[EventHint, ...]:
        named = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)
        written = ClusterEvent(Resource.POD_GROUP, Action.ALL)
        room = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN)
        nodes = ClusterEvent(
            Resource.NODE,
            Action.ADD
            | Action.UPDATE_NODE_ALLOCATABLE
            | Action.UPDATE_NODE_LABEL
            | Action.UPDATE_NODE_TAINT,
        )
        return (
            EventHint(named),
            EventHint(written, self.after_group_change, class_hint=after_rewrite, per_event=True),
            *(
                EventHint(
                    more_room,
                    self.after_more_room,
                    class_hint=self.may_use_room,
                    per_spec=_names_its_group,
                )
                for more_room in (room, nodes)
            ),
        )

    def after_group_change(self, pod: Pod, old: PodGroup | None, new: PodGroup | None) -> Hint:
        """Queue if it is the pod's group, or of its tree, and more than the status has changed."""
        either = new or old
        if either is None or not self._concerns(either, pod):
            return Hint.SKIP
        return after_rewrite(pod, old, new)

    def _concerns(self, changed: PodGroup, pod: Pod) -> bool:
        """Whether it is the pod's group, or one of the same tree."""
        view: GroupView = self.handle.shared.get(NAME, NO_GROUPS)
        key = view.directory.key(pod)
        if key is None or pod.namespace != changed.namespace:
            return False
        group = view.directory.of(pod)
        if group is not None and group.tree is not None:
            return group.tree.contains(changed)
        return key == hierarchy.object_key(changed)

    def after_more_room(self, pod: Pod, old: Any, new: Any) -> Hint:
        """Worth a try for the whole group, so for the first of its pods: it brings the others, as
        long as they are not tried one by one."""
        groups, _ = self.handle.shared.get(NAME, NO_GROUPS)
        group = groups.of(pod)
        if group is not None and group.goes_whole and next(iter(group.waiting), pod.uid) != pod.uid:
            return Hint.SKIP
        return self.may_use_room(pod, old, new)

    def may_use_room(self, pod: Pod, old: Any, new: Any) -> Hint:
        """Whether more room may help the pods of a class, which all belong to one group or to none.

        Not if the group may not be tried for another reason than its backoff. A pod without a group
        was kept off held room, and less may be held now.
        """
        groups, _ = self.handle.shared.get(NAME, NO_GROUPS)
        group = groups.of(pod)
        if group is None:
            return Hint.SKIP if groups.refusal(pod) else Hint.QUEUE
        return Hint.SKIP if group.is_held else Hint.QUEUE


def _names_its_group(pod: Pod) -> bool:
    """Whether the pod's spec names its group, so that its labels do not matter."""
    return pod.spec.scheduling_group is not None


def after_rewrite(_: Pod, old: PodGroup | None, new: PodGroup | None) -> Hint:
    """Skip if only the group's status has changed."""
    same = old is not None and new is not None and _asked(old) == _asked(new)
    return Hint.SKIP if same else Hint.QUEUE


def _asked(group: PodGroup) -> tuple[object, ...]:
    return group.spec, group.annotations


class Coscheduling(GangScheduling, QueueSort, frozen=True):
    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        return -queued.info.priority, queued.timestamp
