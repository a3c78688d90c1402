"""Preemption: evicts the victims of a nominated pod, and clears the nominations it takes over.

While evictions are under way the preemptor is kept out of the queue, and so is any pod that would
evict the same victims. If the evictions fail, both are retried a little later. A pod that had to
spare others is retried when the first of them may be evicted.
"""

import math
from collections.abc import Iterable, Sequence

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.eviction import BEING_EVICTED
from moorage.framework.queued_pod import State
from moorage.framework.verdicts import Nominated
from moorage.observe.metric_families import Family
from moorage.preemption.budget_ledger import BudgetLedger
from moorage.preemption.evictor import Evictor, Hearing, Order
from moorage.preemption.loop_guard import LoopGuard
from moorage.preemption.metrics import PreemptionCounts, preemption_families
from moorage.preemption.plugin import DefaultPreemption, running_preemptions
from moorage.preemption.promises import Promises
from moorage.preemption.shared_orders import SharedOrders
from moorage.preemption.spared import SPARED_UNTIL, SparedPods
from moorage.queue.backoff import Backoff
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.alarms import Alarms
from moorage.scheduler.feature import Feature, Features
from moorage.scheduler.intake import KnownObjects
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.tasks import Start, Wake
from moorage.watch.api_resources import PRIORITY_CLASSES, Resource
from moorage.watch.reflector import Change

RETRY = Backoff(1.0, 10.0)


class Preemption(Feature):
    """Makes room for pods, one preemption per pod at a time."""

    hears = ("pods", "poddisruptionbudgets", "priorityclasses")

    def __init__(
        self,
        queue: SchedulingQueue,
        clock: Clock,
        profiles: Profiles,
        known: KnownObjects,
        evictor: Evictor,
        ledger: BudgetLedger,
        guard: LoopGuard,
        spared: SparedPods,
        promises: Promises,
        others: Features,
        start: Start,
        wake: Wake,
    ) -> None:
        self._queue = queue
        self._clock = clock
        self._profiles = profiles
        self._known = known
        self._evictor = evictor
        self._spared = spared
        self._promises = promises
        self._others = others
        self._start = start
        self._wake = wake
        self.ledger = ledger
        self.guard = guard
        self.leaving: set[str] = set()
        """Uids of pods that are being evicted, until they are gone or turn out to stay."""
        self._orders = SharedOrders()
        self._looks = Alarms()
        self._failures: dict[str, int] = {}
        self.reconfigured()

    def counts(self) -> PreemptionCounts:
        """The counts for the metrics of preemption."""
        return PreemptionCounts(
            evictions=self._evictor.counts,
            leaving=len(self.leaving),
            loops_cut=self.guard.stopped.total(),
            pairs_stopped=self.guard.pairs,
            nominations_given_up=self._promises.given_up,
            disruptions_spent=len(self.ledger),
            disruptions_expired=self.ledger.expired,
        )

    def families(self) -> Iterable[Family]:
        return preemption_families(self.counts())

    def reconfigured(self) -> None:
        """Give the profiles in force the set of leaving pods and the rule of spared pods."""
        for profile in self._profiles:
            profile.shared[BEING_EVICTED] = self.leaving
        self._spared.review(self._clock.now())

    def adjust(self, change: Change) -> Change:
        """Reduce budgets by what victims in flight have spent of them."""
        if self.leaving:
            self._note_gone(change)
        return self.ledger.adjust(change) if self.ledger.entries else change

    def _note_gone(self, change: Change) -> None:
        sample = change.old if change.new is None else change.new
        if isinstance(sample, Pod) and (change.new is None or sample.is_terminal):
            self.leaving.discard(sample.uid)

    def after(self, change: Change, resource: Resource) -> None:
        """Note a new pod, which may close a circle, and forget one that is gone; read
        PriorityClasses for spared pods."""
        if resource == PRIORITY_CLASSES:
            self._reconsider()
        elif change.old is None and isinstance(change.new, Pod):
            self.guard.arrived(change.new)
        elif change.new is None and isinstance(change.old, Pod):
            self.guard.left(change.old)
            self._failures.pop(change.old.uid, None)

    def nominated(self, cycle: Cycle, profile: Profile, nominated: Nominated) -> None:
        """Nominate the pod to the node, and start to evict its victims.

        1. Nominations that the pod takes over are cleared.
        2. If all victims are being evicted for other pods, the pod waits for those evictions.
        3. Else the victims that are not leaving yet are evicted in a task of their own, with the
           pods that must leave with them.
        """
        self.promise(cycle, profile, nominated.node)
        for uid in nominated.cleared:
            self._promises.take_back(uid)
        running = running_preemptions(profile)
        chosen = self.not_leaving(nominated.victims)
        if not chosen:
            if self._orders.join(cycle.pod.uid, [victim.uid for victim in nominated.victims]):
                running.begin(cycle.pod.uid)
            return
        victims = chosen + self.not_leaving(self._left_alone(cycle.pod, chosen))
        self.begin(cycle.pod, victims, profile)
        running.begin(cycle.pod.uid)
        self._orders.begin(cycle.pod.uid, [victim.uid for victim in victims])
        by_api = settings_of(profile).eviction_api
        order = Order(profile.scheduler_name, cycle.pod, nominated.node, by_api=by_api)
        work = self._carry_out(order, cycle.pod, victims, profile)
        self._start(work, f"preempt/{cycle.pod.key}")

    def put_back(self, cycle: Cycle) -> None:
        """Schedule a retry for when the first pod that was spared may be evicted."""
        until = cycle.state.get(SPARED_UNTIL, math.inf)
        if until < math.inf:
            self._looks.set(cycle.pod.uid, until)

    def tick(self, now: float) -> None:
        """Retry pods that may preempt now, and do what else is due."""
        self._queue.activate(self._looks.due(now), now)
        self._promises.tick(now)
        self.ledger.tick(now)

    def next_due(self) -> float | None:
        due = (self._looks.next(), self._promises.next_due(), self.ledger.next_due())
        return min((when for when in due if when is not None), default=None)

    def preempts(self, profile: Profile) -> bool:
        """Whether a profile makes room for pods by evicting others."""
        return any(isinstance(plugin, DefaultPreemption) for _, plugin in profile.post_filter)

    def promise(self, cycle: Cycle, profile: Profile, node: str) -> None:
        """Nominate a pod to a node, or clear its nomination if the name is empty."""
        self._promises.give(cycle, node, settings_of(profile).nomination_seconds)

    def not_leaving(self, victims: Iterable[Pod]) -> list[Pod]:
        """The victims whose eviction has not begun."""
        return [v for v in victims if not v.is_terminating and v.uid not in self.leaving]

    def begin(self, preemptor: Pod, victims: Sequence[Pod], profile: Profile) -> None:
        """Record that these pods are about to be evicted: for the loop guard, budgets, features."""
        limit = settings_of(profile).loop_guard
        self._spared.note(preemptor, victims, self._clock.now(), limit)
        self.resume(victims)

    def resume(self, victims: Sequence[Pod]) -> None:
        """The same, except for the loop guard, for pods whose eviction began earlier."""
        self.ledger.spend(victims)
        self.leaving.update(victim.uid for victim in victims)
        for evicting in self._others.evicting:
            evicting(victims)

    async def evict(
        self, preemptor: KubeObject, what: str, victims: Sequence[Pod], profile: Profile
    ) -> bool:
        """Evict pods for an object other than a pod; False if one stays: then all count again."""
        by_api = settings_of(profile).eviction_api
        order = Order(profile.scheduler_name, preemptor, "cluster", what, by_api)
        hear = Hearing(lambda victim: None, self._sent_back)
        done = await self._evictor.carry_out(order, victims, hear)
        if not done:
            self._spare(victims)
        return done

    def _left_alone(self, preemptor: Pod, victims: list[Pod]) -> list[Pod]:
        """The pods that features want to leave together with the victims."""
        return [pod for leave in self._others.leave_with for pod in leave(preemptor, victims)]

    def _spare(self, victims: Sequence[Pod]) -> None:
        """Count these pods as staying again, because they could not all be evicted."""
        self.leaving.difference_update(victim.uid for victim in victims)
        self.ledger.refund(victims)
        for spared in self._others.spared:
            spared(victims)

    def _sent_back(self, victim: Pod) -> None:
        """A victim is back in the queue: it is leaving no longer, and may be a victim again."""
        self._spare([victim])

    def _reconsider(self) -> None:
        """Read anew which pods are spared, and retry the pods that had to spare others."""
        now = self._clock.now()
        self._spared.review(now)
        for uid in self._looks.names():
            self._looks.set(uid, now)

    async def _carry_out(
        self, order: Order, pod: Pod, victims: list[Pod], profile: Profile
    ) -> None:
        running = running_preemptions(profile)

        def last(victim: Pod) -> None:
            running.last(pod.uid, victim.uid, lambda: self._is_there(victim))

        done = await self._evictor.carry_out(order, victims, Hearing(last, self._sent_back))
        if not done:
            self._spare(victims)
            await self._clock.sleep(self._failed(pod))
        else:
            self._failures.pop(pod.uid, None)
        self._let_go(pod.uid, again=not done)
        for uid in self._orders.end(pod.uid):
            self._let_go(uid, again=not done)
        self._wake()

    def _let_go(self, uid: str, *, again: bool) -> None:
        """Release a pod whose evictions have ended; activate it if it is gated, or if `again`."""
        for profile in self._profiles:
            running_preemptions(profile).end(uid)
        queued = self._queue.find(uid)
        if queued is not None and (again or queued.state is State.GATED):
            self._queue.activate([uid], self._clock.now())

    def _failed(self, pod: Pod) -> float:
        """How many seconds a preemptor must wait after its evictions have failed once more."""
        failures = self._failures.get(pod.uid, 0) + 1
        known = self._known.pod(pod.key)
        if known is not None and known.uid == pod.uid:
            self._failures[pod.uid] = failures
        return RETRY.duration(failures)

    def _is_there(self, victim: Pod) -> bool:
        """Whether a victim is neither gone nor terminating, as last reported."""
        known = self._known.pod(victim.key)
        return known is not None and known.uid == victim.uid and not known.is_terminating


def settings_of(profile: Profile) -> DefaultPreemption:
    """The DefaultPreemption of a profile; the default one if the profile has none."""
    for plugin in profile.plugins.values():
        if isinstance(plugin, DefaultPreemption):
            return plugin
    return DefaultPreemption()
