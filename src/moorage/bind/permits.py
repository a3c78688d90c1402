"""Assumed pods that are not bound yet: waiting on Permit, or in PreBind; both can be preempted."""

import asyncio
from collections.abc import Coroutine
from operator import itemgetter
from typing import Any, Final, TypeVar

from moorage.api.pod import Pod
from moorage.clock import Clock
from moorage.config.durations import Duration
from moorage.framework.verdicts import Rejection, SchedulingError, unschedulable

T = TypeVar("T")
PREEMPTED: Final = "preempted by a pod of higher priority before it was bound"


class CalledBack(SchedulingError):
    """The pod was preempted while it waited at Permit or was in PreBind."""

    def __init__(self) -> None:
        super().__init__(PREEMPTED)


class PodsInPreBind:
    """The PreBind work under way, by the pod's uid."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._called_back: dict[str, asyncio.Event] = {}
        """Pod uid -> event that is set when the work has ended."""

    async def run(self, uid: str, work: Coroutine[Any, Any, T]) -> T:
        """Await the work; CalledBack if the pod is called back meanwhile."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks[uid] = task
        try:
            return await work
        except asyncio.CancelledError:
            if uid not in self._called_back:
                raise
            task.uncancel()
            raise CalledBack from None
        finally:
            del self._tasks[uid]
            ended = self._called_back.pop(uid, None)
            if ended is not None:
                ended.set()

    def __contains__(self, uid: object) -> bool:
        return uid in self._tasks

    async def call_back(self, uid: str) -> bool:
        """Cancel the work for a pod, and wait until it has ended; False if there is none."""
        task = self._tasks.get(uid)
        if task is None:
            return False
        if uid not in self._called_back:
            self._called_back[uid] = asyncio.Event()
            task.cancel()
        await self._called_back[uid].wait()
        return True


TIMED_OUT = "rejected due to timeout after waiting {} at plugin {}"


class WaitingPod:
    """One pod that waits at Permit; `pending` are the plugins that hold it."""

    def __init__(self, pod: Pod, node: str, seconds: dict[str, float]) -> None:
        self.pod = pod
        self.node = node
        self.pending = dict(seconds)
        self._answer: asyncio.Future[Rejection | None] = asyncio.get_running_loop().create_future()

    def allow(self, plugin: str) -> None:
        """One plugin allows the pod; when the last one does, it goes on to be bound."""
        self.pending.pop(plugin, None)
        if not self.pending:
            self._settle(None)

    def reject(self, plugin: str, reason: str) -> None:
        self._settle(unschedulable(reason).by(plugin))

    def preempt(self) -> bool:
        """End the wait because another pod needs the room; the pod is retried after its backoff.

        False if it has just been allowed or rejected.
        """
        if self._answer.done():
            return False
        self._answer.set_exception(CalledBack())
        return True

    def _settle(self, answer: Rejection | None) -> None:
        if not self._answer.done():
            self._answer.set_result(answer)

    async def wait(self, clock: Clock) -> Rejection | None:
        """None if every plugin allowed the pod, else the first rejection or timeout."""
        timer = asyncio.ensure_future(self._time_out(clock))
        try:
            return await self._answer
        finally:
            timer.cancel()

    async def _time_out(self, clock: Clock) -> None:
        """Reject the pod for the first plugin that has not allowed it in its time."""
        waited = 0.0
        for plugin, seconds in sorted(self.pending.items(), key=itemgetter(1)):
            await clock.sleep(max(seconds - waited, 0.0))
            waited = max(seconds, waited)
            if plugin in self.pending:
                self.reject(plugin, TIMED_OUT.format(Duration(round(seconds * 1e9)), plugin))
                return


class WaitingPods:
    """Every waiting pod, for the plugins that allow or reject them."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def add(self, waiting: WaitingPod) -> None:
        self._pods[waiting.pod.uid] = waiting

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def all(self) -> list[WaitingPod]:
        return list(self._pods.values())

    def __contains__(self, uid: object) -> bool:
        return uid in self._pods

    def __len__(self) -> int:
        return len(self._pods)
