"""The evictor: marks victims, deletes them and records events, without holding up the loop.

1. All victims are marked with DisruptionTarget before the first is deleted. If one cannot be
   marked, none is evicted. The mark also tells a later reader that the eviction was begun.
2. All but one are evicted at once, then the last: once it is gone or going, so are all others.
3. If one cannot be evicted, the last is spared: the preemptor must choose again.
4. A victim that waits at Permit, or is in PreBind, is not deleted but sent back to the queue,
   unless it is bound by then. A victim that is gone already counts as evicted, and gets no event;
   so does one whose name another pod has by now, as with a StatefulSet.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Literal, NamedTuple

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.bind import status_patches
from moorage.bind.event_recorder import EventRecorder
from moorage.bind.permits import PodsInPreBind, WaitingPods
from moorage.clock import Clock
from moorage.observe.observers import Observers
from moorage.observe.records import Evicted
from moorage.watch.api_errors import ApiError, Conflict, Invalid, NotFound
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import ApiServer

IN_MEMORY = " (in kube-scheduler memory)."
Result = Literal["evicted", "gone", "failed"]
Way = Literal["deletion", "eviction", "memory"]


class Order(NamedTuple):
    """The preemptor, the node, and the way in which victims are evicted.

    `what` is kube's word for the preemptor's kind. `by_api` uses the Eviction API, which refuses
    evictions that a PodDisruptionBudget does not allow.
    """

    scheduler: str
    preemptor: KubeObject
    node: str
    what: str = "pod"
    by_api: bool = False


class Hearing(NamedTuple):
    """Callbacks: `last` before the last victim is evicted, `sent_back` after a victim was sent back
    to the queue and has left its node."""

    last: Callable[[Pod], None]
    sent_back: Callable[[Pod], None]


class Evictor:
    """Carries out orders; `counts` has the numbers of victims by (way, result)."""

    def __init__(
        self,
        server: ApiServer,
        clock: Clock,
        recorder: EventRecorder,
        observers: Observers,
        waiting: WaitingPods,
        preparing: PodsInPreBind,
    ) -> None:
        self._server = server
        self._clock = clock
        self._recorder = recorder
        self._observers = observers
        self._waiting = waiting
        self._preparing = preparing
        self.counts: Counter[tuple[str, str]] = Counter()

    async def carry_out(self, order: Order, victims: Sequence[Pod], hear: Hearing) -> bool:
        """Evict every victim; False if one could not be evicted."""
        held = {victim.uid for victim in victims if self._is_held(victim)}
        marks = (self._mark(order, victim) for victim in victims if victim.uid not in held)
        if not all(await asyncio.gather(*marks)):
            return False
        *others, final = victims
        done = await asyncio.gather(*(self._evict(order, each, held, hear) for each in others))
        if not all(done):
            return False
        hear.last(final)
        return await self._evict(order, final, held, hear)

    def _is_held(self, victim: Pod) -> bool:
        """Whether a victim is not bound yet: it is sent back instead of being marked."""
        return victim.uid in self._waiting or victim.uid in self._preparing

    async def _mark(self, order: Order, victim: Pod) -> bool:
        """Write DisruptionTarget to a victim's status; False if the API server refuses.

        The Eviction API does this itself.
        """
        if order.by_api:
            return True
        now = self._clock.now()
        patch = status_patches.disruption_target_patch(victim, order.scheduler, now, order.what)
        try:
            await self._server.patch_pod_status(victim.namespace, victim.name, patch, victim.uid)
        except ApiError as error:
            if _is_gone(error):
                return True
            self._observers.failed(victim.key, "", error)
            return False
        return True

    async def _evict(self, order: Order, victim: Pod, held: Container[str], hear: Hearing) -> bool:
        """Send back or delete one victim, and report it; False if the API server refuses."""
        note = f"Preempted by {order.what} {order.preemptor.uid} on node {order.node}"
        way: Way = "eviction" if order.by_api else "deletion"
        if await self._call_back(victim):
            way, result, note = "memory", "evicted", note + IN_MEMORY
            hear.sent_back(victim)
        elif victim.uid in held and not await self._mark(order, victim):
            result = "failed"
        else:
            result = await self._remove(order, victim)
        self.counts[way, result] += 1
        if result == "evicted":
            self._recorder.record(
                order.scheduler, victim, "Normal", "Preempted", "Preempting", note, order.preemptor
            )
            self._observers.evicted(_evicted(order, victim, way, self._clock.now()))
        return result != "failed"

    async def _call_back(self, victim: Pod) -> bool:
        """Send back a victim that is not bound yet; False if it is bound or unknown."""
        waiting = self._waiting.get(victim.uid)
        if waiting is None:
            return await self._preparing.call_back(victim.uid)
        if not waiting.preempt():
            return False
        await asyncio.sleep(0)  # it leaves its node, before anything else is attempted
        return True

    async def _remove(self, order: Order, victim: Pod) -> Result:
        server = self._server
        try:
            if order.by_api:
                await server.evict(victim.namespace, victim.name, uid=victim.uid)
            else:
                await server.delete(PODS, victim.namespace, victim.name, uid=victim.uid)
        except ApiError as error:
            if _is_gone(error):
                return "gone"
            self._observers.failed(victim.key, "", error)
            return "failed"
        return "evicted"


def _is_gone(error: ApiError) -> bool:
    """Whether there is no pod of that name and uid: a call that names another uid is in conflict,
    and a patch that does would change what cannot be changed."""
    if isinstance(error, Invalid):
        return "metadata.uid" in error.message
    return isinstance(error, NotFound | Conflict)


def _evicted(order: Order, victim: Pod, way: Way, now: float) -> Evicted:
    """The event for observers; a victim without a node was assumed on the preemptor's node."""
    preemptor = order.preemptor
    return Evicted(
        pod=victim.key,
        uid=victim.uid,
        node=victim.spec.node_name or (order.node if order.what == "pod" else ""),
        priority=victim.spec.priority or 0,
        by=preemptor.key,
        by_uid=preemptor.uid,
        by_priority=(preemptor.spec.priority or 0) if isinstance(preemptor, Pod) else None,
        what=order.what,
        room_on=order.node,
        profile=order.scheduler,
        way=way,
        time=now,
    )
