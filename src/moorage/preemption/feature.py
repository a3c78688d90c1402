"""A pod was promised a node: its victims are evicted, and those it outbid are told.

While evictions are under way the preemptor is kept out of the queue; if they fail it is tried
again a little later. A promise that has not come true after `nominationSeconds` is taken back. A
pod that had to spare others is tried again when the first of them may be evicted.
"""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from moorage.api.pod import Pod
from moorage.bind import status_patches
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.eviction import BEING_EVICTED
from moorage.framework.queued_pod import State
from moorage.framework.verdicts import Nominated
from moorage.gang import victim_search
from moorage.observe.state_metrics import PreemptionCounts
from moorage.preemption.evictor import Evictor, Order
from moorage.preemption.loop_guard import LoopGuard
from moorage.preemption.plugin import DefaultPreemption
from moorage.preemption.spared import SPARED_UNTIL, SparedPods
from moorage.queue.backoff import Backoff
from moorage.scheduler.alarms import Alarms
from moorage.watch.api_resources import PODS

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler

RETRY = Backoff(1.0, 10.0)
GIVEN_UP = "the node {} promised to the pod {:g} s ago did not come free: it will look again"


class Preemption:
    """Makes room for pods, one preemption per pod at a time."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._desk = scheduler
        self.evicting = Evictor(scheduler)
        self.guard = LoopGuard()
        self.sparing = SparedPods(scheduler, self.guard)
        self.alarms = Alarms()
        self.leaving: set[str] = set()
        """Pods that are being evicted, until they are gone or turn out to stay."""
        self.given_up = 0
        self.looks = Alarms()
        self._failures: dict[str, int] = {}
        self._promised: dict[str, tuple[Pod, str, float]] = {}
        self.rejoin()

    def rejoin(self) -> None:
        """Let the profiles in force know who is leaving, and whom to spare."""
        for profile in self._desk.lineup:
            profile.shared[BEING_EVICTED] = self.leaving
        self.sparing.review(self._desk.clock.now())

    def make_room(self, cycle: Cycle, profile: Profile, nominated: Nominated) -> None:
        """Promise the node, and evict whoever is in the way."""
        pod, settings = cycle.pod, settings_of(profile)
        self.promise(cycle, nominated.node, settings)
        for uid in nominated.cleared:
            self.take_back(uid)
        chosen = self.not_leaving(nominated.victims)
        if not chosen:
            return
        victims = chosen + self.not_leaving(self._left_alone(pod, chosen))
        self.begin(pod, victims, settings)
        settings.underway.begin(pod.uid)
        by_api = settings.eviction_api
        order = Order(profile.scheduler_name, pod, nominated.node, by_api=by_api)
        work = self._carry_out(order, pod, victims, settings)
        self._desk.start(work, f"preempt/{pod.key}")

    def _left_alone(self, preemptor: Pod, victims: list[Pod]) -> list[Pod]:
        """The other pods of groups that would not be whole without a victim: they leave, too."""
        gone = {victim.uid for victim in victims}
        others: dict[str, Pod] = {}
        for victim in victims:
            group = self._desk.groups.of(victim)
            if group is None or group.minimum < 1 or victim_search.is_divisible(group.object):
                continue
            rest = {uid: pod for uid, pod in group.placed.items() if uid not in gone}
            lower = all(pod.priority < preemptor.priority for pod in rest.values())
            if lower and len(rest) < group.minimum:
                others.update(rest)
        return list(others.values())

    def not_leaving(self, victims: Iterable[Pod]) -> list[Pod]:
        """Those whose eviction has yet to begin."""
        return [v for v in victims if not v.is_terminating and v.uid not in self.leaving]

    def begin(self, preemptor: Pod, victims: list[Pod], settings: DefaultPreemption) -> None:
        """Put down that these pods are about to be evicted, wherever that counts."""
        self.sparing.note(preemptor, victims, self._desk.clock.now(), settings)
        self._desk.ledger.spend(victims)
        self.leaving.update(victim.uid for victim in victims)
        self._desk.ganging.leaving.doom(victims)

    def spare(self, victims: list[Pod]) -> None:
        """These could not all be evicted: count them again."""
        self.leaving.difference_update(victim.uid for victim in victims)
        self._desk.ledger.refund(victims)
        self._desk.ganging.leaving.spare(victims)

    def promise(self, cycle: Cycle, node: str, settings: DefaultPreemption) -> None:
        """Promise a node to a pod, or take the promise back where there is no node."""
        pod, desk = cycle.pod, self._desk
        desk.cache.nominations.put(cycle.incoming, node)
        if pod.status.nominated_node_name != node:
            patch = status_patches.nomination_patch(node)
            desk.start(desk.reporting.patch_status(pod, patch), f"nominate/{pod.key}")
        self.alarms.clear(pod.uid)
        self._promised.pop(pod.uid, None)
        seconds = settings.nomination_seconds
        if node and seconds:
            self._promised[pod.uid] = pod, node, seconds
            self.alarms.set(pod.uid, desk.clock.now() + seconds)

    def take_back(self, uid: str) -> None:
        """Take back a promise; the pod looks elsewhere, at once."""
        desk = self._desk
        desk.cache.nominations.remove(uid)
        self.alarms.clear(uid)
        self._promised.pop(uid, None)
        queued = desk.queue.find(uid)
        if queued is not None:
            pod = queued.info.pod
            work = desk.reporting.patch_status(pod, status_patches.nomination_patch(""))
            desk.start(work, f"nominate/{pod.key}")
            desk.queue.activate([uid], desk.clock.now())

    def look_again(self, cycle: Cycle) -> None:
        """Have a pod tried again when somebody may be evicted who was spared for now."""
        until = cycle.state.get(SPARED_UNTIL, math.inf)
        if until < math.inf:
            self.looks.set(cycle.pod.uid, until)

    def reconsider(self) -> None:
        """Who is to be spared may have changed: whoever had to spare others looks again."""
        now = self._desk.clock.now()
        self.sparing.review(now)
        for uid in self.looks.names():
            self.looks.set(uid, now)

    def room(self) -> PreemptionCounts:
        """How room was made for pods, and what is still under way."""
        desk = self._desk
        return PreemptionCounts(
            evictions=self.evicting.counts,
            leaving=len(self.leaving),
            loops_cut=self.guard.stopped.total(),
            pairs_stopped=self.guard.pairs,
            nominations_given_up=self.given_up,
            disruptions_spent=len(desk.ledger),
            disruptions_expired=desk.ledger.expired,
            nodes_resting=len(desk.cache.resting),
            rejections=desk.cooling.rejections,
        )

    def next_wake(self) -> float | None:
        """When there is something to do."""
        due = (self.alarms.next(), self.looks.next())
        return min((when for when in due if when is not None), default=None)

    def tick(self, now: float) -> None:
        """Take back promises that did not come true, and have pods tried that may now preempt."""
        self._desk.queue.activate(self.looks.due(now), now)
        for uid in self.alarms.due(now):
            pod, node, seconds = self._promised.pop(uid)
            queued = self._desk.queue.find(uid)
            if queued is not None and self._desk.cache.nominations.node_of(uid) == node:
                self.given_up += 1
                note = GIVEN_UP.format(node, seconds)
                self._desk.reporting.event(pod, "Warning", "NominationGivenUp", "Preemption", note)
                self.take_back(uid)
                group = self._desk.groups.of(pod)
                if group is not None:
                    self._desk.ganging.leaving.end(group)

    async def _carry_out(
        self, order: Order, pod: Pod, victims: list[Pod], settings: DefaultPreemption
    ) -> None:
        def last(victim: Pod) -> None:
            settings.underway.last(pod.uid, lambda: self._is_there(victim))

        desk = self._desk
        done = await self.evicting.carry_out(order, victims, last)
        if not done:
            self.spare(victims)
            await desk.clock.sleep(self._failed(pod.uid))
        else:
            self._failures.pop(pod.uid, None)
        settings.underway.end(pod.uid)
        queued = desk.queue.find(pod.uid)
        if queued is not None and (not done or queued.state is State.GATED):
            desk.queue.activate([pod.uid], desk.clock.now())
        desk.wake()

    def _failed(self, uid: str) -> float:
        """How many seconds a preemptor has to wait after evictions that failed."""
        self._failures[uid] = failures = self._failures.get(uid, 0) + 1
        return RETRY.duration(failures)

    def _is_there(self, victim: Pod) -> bool:
        """Whether a victim is neither gone nor going, as far as we have heard."""
        known = self._desk.reflectors[PODS.plural].known.get(victim.key)
        return isinstance(known, Pod) and known.uid == victim.uid and not known.is_terminating


def settings_of(profile: Profile) -> DefaultPreemption:
    """How a profile preempts; as kube-scheduler does, where it does not say."""
    for plugin in profile.plugins.values():
        if isinstance(plugin, DefaultPreemption):
            return plugin
    return DefaultPreemption()
