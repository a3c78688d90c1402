"""The outcome of an attempt: the pod is bound, or goes back to the queue with its reason."""

from collections.abc import Iterable, Sequence

from moorage.api.pod import Pod
from moorage.bind import binder, status_patches
from moorage.bind.permits import PodsInPreBind, WaitingPods
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodError
from moorage.clock import Clock
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import message_of_one_node
from moorage.framework.events import ASSIGNED_POD_DELETE
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import (
    Code,
    NoNodesError,
    PluginError,
    Rejection,
    SchedulingError,
)
from moorage.observe.observers import Observers
from moorage.observe.records import Result
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.event_handlers import on_node
from moorage.scheduler.feature import Features
from moorage.scheduler.intake import KnownObjects
from moorage.scheduler.placement import Placement, unplace
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.report import Reporter
from moorage.scheduler.status_writer import StatusWriter
from moorage.scheduler.tasks import Bindings


class Outcome:
    """Ends attempts: each pod must be passed to exactly one of these methods.

    They are `skip`, `bind`, `failed` and `unschedulable`.
    """

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        clock: Clock,
        profiles: Profiles,
        known: KnownObjects,
        reporter: Reporter,
        statuses: StatusWriter,
        observers: Observers,
        waiting: WaitingPods,
        preparing: PodsInPreBind,
        bindings: Bindings,
        features: Features,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self._profiles = profiles
        self._known = known
        self._reporter = reporter
        self._statuses = statuses
        self._observers = observers
        self._waiting = waiting
        self._preparing = preparing
        self._bindings = bindings
        self._features = features

    def skip(self, queued: QueuedPod) -> None:
        """End the attempt at a pod that needs none: it is being deleted, or assumed already."""
        pod = queued.info.pod
        if pod.is_terminating:
            note = f"skip schedule deleting pod: {pod.key}"
            self._reporter.event(pod, "Warning", "FailedScheduling", "Scheduling", note)
        self._queue.done(pod.uid)

    async def bind(self, placement: Placement) -> None:
        """Wait until a placed pod is permitted, and bind it; undo the placement if that fails.

        If a Permit or PreBind plugin may take a while, the node is written to the pod's
        `nominatedNodeName` first: a cluster autoscaler, for one, reads it there. As in
        kube-scheduler, nothing is written for a pod that is bound at once.
        """
        queued, profile, cycle, node, _, waits = placement
        expected, at_pre_bind = False, False
        try:
            working = binder.pre_flight(profile, cycle, node)
            expected = bool(waits or working)
            if expected:
                self._expect(cycle, node.name)
            refused = await binder.wait_for_permits(cycle, node, waits, self._waiting, self._clock)
            if refused is None:
                self._queue.done(queued.info.uid)
                preparing = binder.run_pre_bind(profile, cycle, node, working)
                refused = await self._preparing.run(queued.info.uid, preparing)
                at_pre_bind = refused is not None
            if refused is None:
                async with self._statuses.binding(queued.info.uid):
                    await binder.run_bind(profile, cycle, node)
        except SchedulingError as error:
            cycle.timer.step("", "Error")
            self._give_up(placement, expected)
            self.failed(queued, cycle, profile, error)
            self.tell_of_room([placement])
        else:
            if refused is not None:
                self._give_up(placement, expected)
                self.unschedulable(queued, cycle, profile, refused, at_pre_bind=at_pre_bind)
                self.tell_of_room([placement])
            else:
                self.bound(placement)
        finally:
            self._bindings.end()

    def _expect(self, cycle: Cycle, node: str) -> None:
        if cycle.pod.status.nominated_node_name != node:
            self._reporter.nominated(cycle.pod, node)

    def _give_up(self, placement: Placement, expected: bool) -> None:
        self.release(placement)
        if expected:
            self._reporter.nominated(placement.cycle.pod, "")

    def withdraw(self, pod: Pod) -> None:
        """Withdraw a pod's nomination, in the cache and in its status.

        As in kube-scheduler, this follows an attempt that failed or whose binding was refused: the
        pod must look for a node anew, and other pods may take the room.
        """
        promised, known = self._cache.nominations.node_of(pod.uid), self._known.pod(pod.key)
        self._cache.nominations.remove(pod.uid)
        if known is None or known.uid != pod.uid:
            return
        if promised is not None or known.status.nominated_node_name:
            self._reporter.nominated(pod, "")

    def bound(self, placement: Placement) -> None:
        """Report that the pod is bound, and run the PostBind plugins."""
        cycle = placement.cycle
        self._reporter.bound(placement)
        try:
            binder.run_post_bind(placement.profile, cycle, placement.node)
        except SchedulingError as error:
            cycle.timer.step("", "Error")
            self._observers.failed(cycle.pod.key, cycle.attempt, error)

    def release(self, placement: Placement) -> None:
        """Take a placed pod off its node. The caller must put it back, then call `tell_of_room`."""
        cycle = placement.cycle
        for error in unplace(placement.profile, cycle, placement.node):
            self._observers.failed(cycle.pod.key, cycle.attempt, error)

    def tell_of_room(self, released: Sequence[Placement]) -> None:
        """Tell the queue that pods were taken off their nodes: other pods may fit there now.

        The pods themselves must have been put back before. As in kube-scheduler they do not get
        the event: they would only try the same again at once.
        """
        own = {placement.queued.info.uid for placement in released}
        for placement in released:
            left, now = on_node(placement.cycle.pod, placement.node.name), self._clock.now()
            self._queue.move(
                ASSIGNED_POD_DELETE, left, None, now, only=lambda other: other.uid not in own
            )

    def failed(
        self, queued: QueuedPod, cycle: Cycle, profile: Profile, error: SchedulingError
    ) -> None:
        """End an attempt that raised an error: the pod is put back, to be retried after backoff."""
        self.withdraw(cycle.pod)
        plugin, point = (error.plugin, error.point) if isinstance(error, PluginError) else ("", "")
        message, empty = str(error), isinstance(error, NoNodesError)
        result = Result.UNSCHEDULABLE if empty else Result.ERROR
        self._reporter.attempted(
            queued, cycle, profile, result, message=message, plugin=plugin, point=point
        )
        if self.put_back(queued, (), (), error=True):
            self._say_why(cycle, "Unschedulable" if empty else "SchedulerError", message)

    def unschedulable(
        self,
        queued: QueuedPod,
        cycle: Cycle,
        profile: Profile,
        why: Unschedulable | Rejection,
        *,
        at_pre_bind: bool = False,
        is_known: bool = False,
    ) -> None:
        """End an attempt that found no node, or whose node was refused later; room may be made.

        `at_pre_bind`: PreBind refused. As in kube-scheduler the message is passed on unchanged, and
        no event undoes the refusal: the pod is retried after its backoff. `is_known`: the refusal
        was known without an attempt. It is written only if the pod's status says something else.
        """
        if isinstance(why, Unschedulable):
            rejected, pending = why.diagnosis.unschedulable_plugins, why.diagnosis.pending_plugins
            message, nominated = why.message, why.nominated
        elif at_pre_bind:
            rejected, pending, message, nominated = set(), set(), why.message, None
        else:
            waits = why.code is Code.PENDING
            rejected, pending = (set(), {why.plugin}) if waits else ({why.plugin}, set())
            message, nominated = message_of_one_node(why), None
        self._reporter.attempted(
            queued,
            cycle,
            profile,
            Result.UNSCHEDULABLE,
            message=message,
            nominated=nominated.node if nominated else "",
            victims=len(nominated.victims) if nominated else 0,
        )
        if nominated is not None:
            for make_room in self._features.nominated:
                make_room(cycle, profile, nominated)
        elif isinstance(why, Rejection) or not profile.post_filter:
            self.withdraw(cycle.pod)
        for hear in self._features.put_back:
            hear(cycle)
        queued.seen_as = None if cycle.pod is queued.info.pod else cycle.pod
        if self.put_back(queued, rejected, pending):
            self._say_why(cycle, "Unschedulable", message, is_known)

    def put_back(
        self,
        queued: QueuedPod,
        rejected_by: Iterable[str],
        pending: Iterable[str],
        *,
        error: bool = False,
    ) -> bool:
        """Put the latest version of a pod back; False if it is gone, bound or no longer ours."""
        known = self._known.pod(queued.info.pod.key)
        ours = known is not None and known.spec.scheduler_name in self._profiles
        if known is None or not ours or known.uid != queued.info.uid or known.spec.node_name:
            self._queue.done(queued.info.uid)
            return False
        try:
            queued.latest = self._cache.info(known)
        except PodError as failure:  # an invalid update, which no API server stores, is ignored
            self._observers.failed(known.key, "", failure)
        self._queue.put_back(queued, rejected_by, pending, error, self._clock.now())
        return True

    def _say_why(
        self, cycle: Cycle, reason: status_patches.Reason, message: str, is_known: bool = False
    ) -> None:
        if is_known and self._reporter.says_for_good(cycle.pod, reason, message):
            return
        self._reporter.not_scheduled(cycle.pod, reason, message, cycle)
