"""Binding a group: all of its pods pass Permit and PreBind before the first is bound.

1. Permit for every pod, then PreBind for every pod. If too many fail, or too many of their nodes
   are gone by then, all are released: no pod was bound.
2. Bind, a few at a time. An error that may be temporary is retried on the same node, while all
   other pods are still held. After a permanent refusal, pods that are not bound yet are released
   if the group cannot be whole any more; they are tried again, together with the bound ones.

A pod that is called back, since a more important one needs its room, leaves at once: if it stayed
until all are released, it would be taken for a bound pod, and deleted.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

from moorage.bind import binder
from moorage.bind.permits import CalledBack, PodsInPreBind, WaitingPods
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.framework.verdicts import Rejection, SchedulingError
from moorage.gang.group import Group
from moorage.gang.lifecycle import Lifecycle
from moorage.gang.reservation import Reservations
from moorage.gang.settings import GangSettings
from moorage.gang.status import GangStatus
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.outcome import Outcome
from moorage.scheduler.placement import Placement
from moorage.scheduler.status_writer import StatusWriter
from moorage.scheduler.tasks import Bindings, Start
from moorage.watch.api_errors import ServerError, TooManyRequests

AT_ONCE: Final = 32
"""The most binds at the same time: so many may still be under way when one fails."""
RETRY_SECONDS: Final = (1.0, 2.0, 4.0, 8.0)
LOST: Final = "node {} is gone"
TIMED_OUT: Final = "not ready to be bound within {:g} s"

Failure = Rejection | SchedulingError
Step = Callable[[Placement], Coroutine[Any, Any, Rejection | None]]


class GangBinder:
    """Binds the pods of one group that were placed together."""

    def __init__(
        self,
        group: Group,
        placed: list[Placement],
        *,
        cache: Cache,
        queue: SchedulingQueue,
        clock: Clock,
        waiting: WaitingPods,
        preparing: PodsInPreBind,
        statuses: StatusWriter,
        outcome: Outcome,
        bindings: Bindings,
        settings: GangSettings,
        lifecycle: Lifecycle,
        reservations: Reservations,
        status: GangStatus,
    ) -> None:
        self._group = group
        self._placed = placed
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self._waiting = waiting
        self._preparing = preparing
        self._statuses = statuses
        self._outcome = outcome
        self._bindings = bindings
        self._lifecycle = lifecycle
        self._reservations = reservations
        self._status = status
        self._patience = settings.patience(group)
        self._deadline = clock.now() + self._patience
        self._permitted: set[str] = set()
        self._bound: set[str] = set()
        self._failed: dict[str, Failure] = {}
        self._enough = True
        self._setbacks = -1, -1, -1
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Bind all pods, or release all that are not bound."""
        await self._each(self._permit)
        if self._is_enough():
            for placement in self._held():
                self._queue.done(_uid(placement))
                self._permitted.add(_uid(placement))
            await self._each(self._prepare)
        self._drop_lost()
        if self._is_enough():
            await asyncio.gather(*map(self._commit, self._held()))
        self._end()

    def _drop_lost(self) -> None:
        """Give up pods whose nodes are gone by now: the API server would bind them all the same."""
        table = self._cache.table
        for placement in self._held():
            row = table.row_of.get(placement.node.name)
            if row is None or not table.alive[row]:
                self._failed[_uid(placement)] = SchedulingError(LOST.format(placement.node.name))

    def _held(self) -> list[Placement]:
        """The placements that are neither bound nor given up."""
        done = self._failed.keys() | self._bound
        return [placement for placement in self._placed if _uid(placement) not in done]

    def _is_enough(self) -> bool:
        """Whether the group is whole if all held pods will be bound.

        It is asked for each pod, so it is found out again only after a setback.
        """
        setbacks = len(self._placed), len(self._failed), self._group.setbacks
        if setbacks != self._setbacks:
            held = {_uid(placement) for placement in self._placed} - self._failed.keys()
            self._enough = self._group.is_whole(self._elsewhere() | held)
            self._setbacks = setbacks
        return self._enough

    def _elsewhere(self) -> set[str]:
        """Uids of the group's pods that were on a node before."""
        return self._group.placed.keys() - {_uid(placement) for placement in self._placed}

    async def _each(self, step: Step) -> None:
        """Take a step for all held pods at once, until too many have failed or time is over."""
        tasks: dict[asyncio.Future[Any], Placement] = {
            asyncio.ensure_future(self._take(step, placement)): placement
            for placement in self._held()
        }
        left = self._deadline - self._clock.now()
        timer: asyncio.Future[Any] = asyncio.ensure_future(self._clock.sleep(max(left, 0.0)))
        pending = set(tasks)
        try:
            while pending and self._is_enough():
                done, _ = await asyncio.wait({*pending, timer}, return_when="FIRST_COMPLETED")
                for task in [task for task in tasks if task in done and task in pending]:
                    self._note(tasks[task], task)
                pending -= done
                if timer in done:
                    self._give_up(tasks[task] for task in pending)
        finally:
            for task in (*pending, timer):
                task.cancel()
            await asyncio.gather(*pending, timer, return_exceptions=True)

    async def _take(self, step: Step, placement: Placement) -> Rejection | None:
        try:
            return await step(placement)
        except CalledBack as error:
            self._leave(placement, error)
            return None

    def _leave(self, placement: Placement, error: SchedulingError) -> None:
        """Release a pod before the others, and put it back in the queue."""
        self._placed = [other for other in self._placed if other is not placement]
        self._outcome.release(placement)
        self._outcome.failed(placement.queued, placement.cycle, placement.profile, error)
        self._outcome.tell_of_room([placement])
        self._bindings.end()

    def _give_up(self, late: Iterable[Placement]) -> None:
        for placement in late:
            error = SchedulingError(TIMED_OUT.format(self._patience))
            self._failed.setdefault(_uid(placement), error)

    def _note(self, placement: Placement, task: "asyncio.Future[Any]") -> None:
        error = task.exception()
        if error is not None and not isinstance(error, SchedulingError):
            raise error
        failure: Failure | None = error or task.result()
        if failure is not None:
            self._failed.setdefault(_uid(placement), failure)

    async def _permit(self, placement: Placement) -> Rejection | None:
        _, _, cycle, node, _, waits = placement
        return await binder.wait_for_permits(cycle, node, waits, self._waiting, self._clock)

    async def _prepare(self, placement: Placement) -> Rejection | None:
        profile, cycle, node = placement.profile, placement.cycle, placement.node
        working = binder.pre_flight(profile, cycle, node)
        work = binder.run_pre_bind(profile, cycle, node, working)
        return await self._preparing.run(_uid(placement), work)

    async def _commit(self, placement: Placement) -> None:
        async with self._slots:
            for delay in (*RETRY_SECONDS, None):
                if not self._is_enough():
                    return
                try:
                    async with self._statuses.binding(_uid(placement)):
                        await binder.run_bind(placement.profile, placement.cycle, placement.node)
                except SchedulingError as error:
                    late = self._clock.now() >= self._deadline
                    if delay is None or late or not _may_pass(error):
                        self._failed[_uid(placement)] = error
                        return
                    await self._clock.sleep(delay)
                else:
                    self._bound.add(_uid(placement))
                    self._outcome.bound(placement)
                    return

    def _end(self) -> None:
        """Release pods that are not bound, report, and let the group be tried again."""
        released = [p for p in self._placed if _uid(p) not in self._bound]
        bound = self._elsewhere() | self._bound
        whole = self._group.is_whole(bound)
        if not whole:
            self._lifecycle.back_off(self._group, retry=True)
            if bound:
                self._reservations.keep(self._group, released)
        for placement in released:
            self._outcome.withdraw(placement.cycle.pod)
            self._outcome.release(placement)
        for placement in released:
            self._put_back(placement)
        self._outcome.tell_of_room(released)
        self._reservations.review(self._group)
        if whole:
            self._status.scheduled(self._group, bound)
        self._bindings.end(len(self._placed))

    def _put_back(self, placement: Placement) -> None:
        queued, profile, cycle, _, _, _ = placement
        failure = self._failed.get(_uid(placement))
        if isinstance(failure, Rejection):
            at_pre_bind = _uid(placement) in self._permitted
            self._outcome.unschedulable(queued, cycle, profile, failure, at_pre_bind=at_pre_bind)
        elif failure is not None:
            self._outcome.failed(queued, cycle, profile, failure)
        else:
            self._outcome.put_back(queued, (), (), error=True)


class GangBindings:
    """Starts a task that binds a group; the loop does not wait for it."""

    def __init__(
        self,
        bindings: Bindings,
        start: Start,
        binder_of: Callable[[Group, list[Placement]], GangBinder],
    ) -> None:
        self._bindings = bindings
        self._start = start
        self._binder_of = binder_of

    def begin(self, group: Group, placed: list[Placement]) -> None:
        """Bind pods of a group that were placed."""
        self._bindings.begin(len(placed))
        self._start(self._binder_of(group, placed).run(), f"bind/{group.key}")


def _uid(placement: Placement) -> str:
    return placement.queued.info.uid


def _may_pass(error: SchedulingError) -> bool:
    """Whether the error is the API server's, and a retry may succeed."""
    return isinstance(error.__cause__, ServerError | TooManyRequests)
