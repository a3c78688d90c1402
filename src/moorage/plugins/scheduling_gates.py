"""SchedulingGates: a pod with schedulingGates left does not enter the queue."""

from moorage.api.pod import Pod
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import PreEnqueue
from moorage.framework.verdicts import Rejection, unresolvable


class SchedulingGates(PreEnqueue, frozen=True):
    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if not gates:
            return None
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]")

    def events(self) -> tuple[EventHint, ...]:
        gates_gone = ClusterEvent(
            Resource.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        )
        return (EventHint(gates_gone),)
