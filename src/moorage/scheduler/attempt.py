"""One attempt at a pod: pop, decide, assume, and hand over to binding."""

from collections.abc import Callable
from typing import Protocol

from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.profile import Profile
from moorage.devices.work_budget import WorkBudget
from moorage.framework.cycle import Client, Cycle
from moorage.framework.extenders import Extenders
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import Rejection, SchedulingError
from moorage.observe.observers import Observers
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.feature import Features
from moorage.scheduler.outcome import Outcome
from moorage.scheduler.placement import Placement, place
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.report import Reporter
from moorage.scheduler.tasks import Bindings, Start

Decide = Callable[[Profile, Cycle], Decision | Unschedulable]
"""Decides where a cycle's pod goes."""


Decided = Placement | Rejection | Unschedulable
"""How one attempt ended."""


class Tap(Protocol):
    """An observer of everything that enters a scheduler's cache and everything it decides."""

    @property
    def cache(self) -> Cache:
        """The cache that the scheduler must use."""
        ...

    def decide(self, profile: Profile, cycle: Cycle) -> Decision | Unschedulable:
        """Called in place of `moorage.cycle.attempt.run`; must decide the same."""
        ...


TapOf = Callable[[Callable[[], float]], Tap]
"""Makes a tap, given the function that tells the time."""


class Cycles:
    """Makes the `Cycle` of each attempt; `count` is the number of attempts begun.

    `decide` decides every attempt, at one pod or at several together. `now` is a monotonic clock,
    by which an attempt's budget ends; without it work is only counted.
    """

    def __init__(
        self,
        cache: Cache,
        clock: Clock,
        seed: int,
        profiles: Profiles,
        client: Client | None,
        observers: Observers,
        extenders: Extenders,
        decide: Decide = attempt.run,
        now: Callable[[], float] | None = None,
    ) -> None:
        self.decide = decide
        self.budget = WorkBudget(now=now)
        """Of the attempt under way, at one pod or at several together."""
        self._cache = cache
        self._clock = clock
        self._seed = seed
        self._profiles = profiles
        self._client = client
        self._observers = observers
        self._extenders = extenders
        self.count = 0

    def ask(self, extenders: Extenders) -> None:
        """Use these extenders from now on."""
        self._extenders = extenders

    def begin(self, queued: QueuedPod, profile: Profile) -> Cycle:
        """The cycle of one more attempt."""
        self.count += 1
        attempt = f"{self.count:x}"
        name, pod = profile.scheduler_name, queued.info.pod.key
        return Cycle(
            self._cache,
            queued.info,
            seed=self._seed,
            number=queued.attempts,
            now=self._clock.now(),
            attempt=attempt,
            generation=self._profiles.generation,
            shared=profile.shared,
            client=self._client,
            timer=self._observers.timer(name, pod, attempt),
            extenders=self._extenders,
            budget=self.budget,
        )


class Attempts:
    """Attempts pods, one at a time. An attempt is one synchronous call: no `await` in here."""

    def __init__(
        self,
        queue: SchedulingQueue,
        cache: Cache,
        clock: Clock,
        profiles: Profiles,
        cycles: Cycles,
        outcome: Outcome,
        reporter: Reporter,
        bindings: Bindings,
        start: Start,
        features: Features,
    ) -> None:
        self._queue = queue
        self._cache = cache
        self._clock = clock
        self._profiles = profiles
        self._cycles = cycles
        self._outcome = outcome
        self._reporter = reporter
        self._bindings = bindings
        self._start = start
        self._features = features

    def schedule_one(self) -> bool:
        """Attempt the next pod; False if none is ready.

        If the scheduler has extenders, this runs in another thread than the event loop's.
        """
        queued = self._queue.pop(self._clock.now())
        if queued is None:
            return False
        try:
            self._attempt_any(queued)
        finally:
            self._cycles.budget.renew()
        return True

    def _attempt_any(self, queued: QueuedPod) -> None:
        pod = queued.info.pod
        if pod.is_terminating or pod.uid in self._cache.assumed:
            self._outcome.skip(queued)
            return
        if not any(claims(queued) for claims in self._features.claims):
            self._attempt(queued, self._profiles.of(pod))

    def _attempt(self, queued: QueuedPod, profile: Profile) -> None:
        cycle = self._cycles.begin(queued, profile)
        try:
            placed, is_known = self.decide(queued, cycle, profile)
        except Exception as error:  # a bug of ours costs an attempt too, not the process
            cycle.timer.step("", "Error")
            self._outcome.failed(queued, cycle, profile, _as_scheduling_error(error))
            return
        if isinstance(placed, Placement):
            self._reporter.placed(placed)
            self._start(self._outcome.bind(placed), f"bind/{queued.info.pod.key}")
            self._bindings.begin()
        else:
            self._outcome.unschedulable(queued, cycle, profile, placed, is_known=is_known)
            self.refused(cycle, profile, placed)

    def decide(self, queued: QueuedPod, cycle: Cycle, profile: Profile) -> tuple[Decided, bool]:
        """Place a popped pod if a node fits; and whether the result was known from an equal pod."""
        foreseen = self._foreseen(queued, cycle, profile)
        outcome = foreseen or self._cycles.decide(profile, cycle)
        cycle.timer.step("")
        if isinstance(outcome, Decision):
            return place(profile, cycle, queued, outcome), False
        return outcome, foreseen is not None

    def refused(self, cycle: Cycle, profile: Profile, why: Unschedulable | Rejection) -> None:
        """Tell the features, after the pod was put back."""
        if isinstance(why, Unschedulable):
            for hear in self._features.refused:
                hear(cycle, profile, why)

    def _foreseen(self, queued: QueuedPod, cycle: Cycle, profile: Profile) -> Unschedulable | None:
        """The known result of the attempt; None if it is unknown, or every step is to be traced."""
        for foreseen in self._features.foreseen if not cycle.timer.detailed else ():
            found: Unschedulable | None = foreseen(queued, profile)
            if found is not None:
                return found
        return None


def _as_scheduling_error(error: Exception) -> SchedulingError:
    if isinstance(error, SchedulingError):
        return error
    wrapped = SchedulingError(f"internal error: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
