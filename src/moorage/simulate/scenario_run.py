"""One run of a scenario in virtual time, from the first arrival to the last completion."""

import asyncio
import random
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

import msgspec

from moorage import garbage
from moorage.api.meta import KubeObject
from moorage.app.assembly import assemble
from moorage.app.profile_builder import backoff_of, build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.cycle.profile import Profile
from moorage.kpi import summary
from moorage.kpi.meter import Meter, Moment
from moorage.scheduler.attempt import Tap, TapOf
from moorage.scheduler.scheduler import Scheduler
from moorage.simulate.attempt_count import AttemptCount
from moorage.simulate.autoscaler import Autoscaler
from moorage.simulate.candidate import Candidate
from moorage.simulate.direct_engine import DirectEngine, DirectServer, needs_no_features
from moorage.simulate.node_pool import NodePool
from moorage.simulate.pod_lifecycle import PodLifecycle
from moorage.simulate.run_limits import SETTLED_SECONDS
from moorage.simulate.scenario import Arrival, Scenario
from moorage.simulate.simulated_server import SilentRecorder, SimulatedServer
from moorage.simulate.trace_scenario import CURVE_POINTS
from moorage.watch.api_resources import RESOURCES, Resource

START: Final = 86_400.0
"""Virtual time begins on the second day of 1970: small numbers keep float seconds precise."""

_PATIENCE: Final = 10
"""The run gives up pending pods after this many waits of SETTLED_SECONDS without progress."""


_QUIET: Final = 2
"""It gives them up earlier, after this many such waits in a row without a single attempt."""


_VIEWED: Final = (1 / 3, 2 / 3, 1.0)
"""When to record how full the nodes are, as fractions of the time in which pods arrive."""
_MOST_VIEWED: Final = 2000
_MOST_WAITS: Final = 1000


class RunResult(msgspec.Struct, frozen=True):
    """The result of a run; times of the curve are seconds from the start of the scenario."""

    seed: int
    kpis: dict[str, Any]
    curve: tuple[tuple[float, Moment], ...] = ()
    waits: tuple[float, ...] = ()
    """The waits of all pods, or of an even sample of them that shows their distribution."""
    views: tuple[tuple[float, tuple[float, ...]], ...] = ()
    """Per moment, how full each node is: the share of its fullest resource."""
    errors: tuple[str, ...] = ()
    gave_up: str = ""
    """Why the run ended while pods were pending; empty if none was."""


_BY_KIND: Final = {resource.kind: resource for resource in RESOURCES.values()}


def resource_of(found: KubeObject) -> Resource:
    """The resource of an object, by its kind."""
    return _BY_KIND[type(found).__name__]


def run_scenario(
    scenario: Scenario, candidate: Candidate, seed: int, *, whole: bool = False
) -> RunResult:
    """Play a scenario with one configuration and one seed.

    `whole` runs every feature of the scheduler, even if the scenario does not need it.
    """
    clock = VirtualClock(START - 1.0)
    with garbage.collected_rarely():
        return run_virtual(_Run(scenario, candidate, seed, clock, whole).play(), clock)


def run_scenario_observed(
    scenario: Scenario,
    candidate: Candidate,
    seed: int,
    observers: Iterable[Any] = (),
    tap_of: TapOf | None = None,
) -> tuple[RunResult, Scheduler]:
    """Play a scenario with every feature; returns the result and the scheduler after the run.

    `observers` are called with its decisions. The tap sees every change that the candidate's
    scheduler applies. Neither may influence the run.
    """
    clock = VirtualClock(START - 1.0)
    with garbage.collected_rarely():
        tap = None if tap_of is None else tap_of(clock.now)
        run = _Run(scenario, candidate, seed, clock, whole=True, observers=observers, tap=tap)
        result = run_virtual(run.play(), clock)
    first = run.schedulers[0]
    assert isinstance(first, Scheduler)
    return result, first


class _Run:
    """Everything of one run."""

    def __init__(
        self,
        scenario: Scenario,
        candidate: Candidate,
        seed: int,
        clock: VirtualClock,
        whole: bool,
        observers: Iterable[Any] = (),
        tap: Tap | None = None,
    ) -> None:
        self._scenario = scenario
        self._seed = seed
        self._clock = clock
        arrivals = scenario.arrivals_of(seed)
        first = next(arrivals, None)
        self._observers = tuple(observers)
        self._arrivals: Iterator[Arrival] = iter(()) if first is None else chain((first,), arrivals)
        self._meter = Meter(scenario.kpis, START + (first.time if first else 0.0))
        self._attempts = AttemptCount(self._meter)
        loaded = candidate.load()
        profiles = self._profiles(candidate)
        first_profile = next(iter(profiles.values()))
        is_direct = not whole and needs_no_features(scenario, loaded, first_profile)
        self._server = DirectServer(clock) if is_direct else SimulatedServer(clock)
        self._pods = PodLifecycle(
            self._server,
            clock,
            self._meter,
            scenario.pods,
            first_profile.scheduler_name,
            START,
        )
        self._nodes = NodePool(self._server, clock, self._meter, self._pods, seed, START)
        self._scaler: Autoscaler | None = None
        if scenario.scaling is not None:
            self._scaler = Autoscaler(scenario.scaling, self._nodes, self._pods, clock)
            self._pods.pod_waits = self._scaler.wake
        rng = random.Random(seed)
        self.schedulers: list[Scheduler | DirectEngine]
        if isinstance(self._server, DirectServer):
            backoff = backoff_of(loaded.configuration)
            counted, note = self._attempts.count, self._attempts.note
            self.schedulers = [
                DirectEngine(self._server, first_profile, clock, rng, backoff, counted, note)
            ]
        else:
            self.schedulers = [self._scheduler(candidate, rng, tap)]
            self.schedulers += [self._scheduler(each, rng) for each in scenario.beside]
        self._arriving = asyncio.Event()
        self._views: list[tuple[float, tuple[float, ...]]] = []

    def _profiles(self, candidate: Candidate) -> dict[str, Profile]:
        loaded = candidate.load()
        guard = loaded.moorage.plugin_guard
        return build_profiles(loaded.configuration, candidate.plugins(), guard)

    def _scheduler(
        self, candidate: Candidate, rng: random.Random, tap: Tap | None = None
    ) -> Scheduler:
        backoff = backoff_of(candidate.load().configuration)
        return assemble(
            self._server,
            self._profiles(candidate),
            clock=self._clock,
            rng=rng,
            observers=(*self._observers, self._attempts),
            backoff=(backoff.initial, backoff.maximum),
            recorder=SilentRecorder(self._server, self._clock, instance="simulation"),
            tap=tap,
            sparing=not self._observers and tap is None,
            postponing=False,
        )

    async def play(self) -> RunResult:
        """Play the scenario to its end, and return the result."""
        for each in self._scenario.objects:
            self._server.put(resource_of(each), each)
        self._nodes.join_all(self._scenario.nodes)
        running = [asyncio.ensure_future(scheduler.run()) for scheduler in self.schedulers]
        story = asyncio.ensure_future(self._story())
        await asyncio.wait({*running, story}, return_when=asyncio.FIRST_COMPLETED)
        for scheduler in running:
            if scheduler.done():
                story.cancel()
                scheduler.result()
            scheduler.cancel()
        await asyncio.gather(*running, story, return_exceptions=True)
        gave_up = story.result()
        kpis = summary.as_data(summary.summarize(self._meter))
        curve = tuple((time - START, moment) for time, moment in self._meter.samples.points)
        return RunResult(
            self._seed,
            kpis,
            curve,
            even_sample(self._meter.times.waits(), _MOST_WAITS),
            tuple(self._views),
            self._errors(),
            gave_up,
        )

    def _errors(self) -> tuple[str, ...]:
        whole = (each for each in self.schedulers if isinstance(each, Scheduler))
        return self._attempts.told(profile for each in whole for profile in each.profiles.values())

    async def _story(self) -> str:
        """Play everything up to the horizon; returns why it ended if pods are still pending."""
        await self._clock.sleep(1.0)
        self._next_arrival()
        length = self._scenario.kpis.sample_seconds * CURVE_POINTS
        for part in _VIEWED:
            self._clock.call_at(self._meter.start + part * length, self._view)
        horizon = self._scenario.horizon
        telling = asyncio.ensure_future(self._until_over())
        if horizon is None:
            return await telling
        ending = asyncio.ensure_future(self._clock.sleep(horizon))
        await asyncio.wait({telling, ending}, return_when=asyncio.FIRST_COMPLETED)
        if telling.done() and not self._meter.running:
            ending.cancel()
            return telling.result()
        await ending
        telling.cancel()
        self._meter.settled(START + horizon)
        return f"it was stopped after {horizon:g} s" if self._pods.waiting else ""

    async def _until_over(self) -> str:
        """Return when nothing more can happen; the text says why pods were given up, if so."""
        await self._arriving.wait()
        pods, news, patience, quiet = self._pods, -1, _PATIENCE, 0
        while pods.finite or pods.waiting or pods.returning or pods.departures:
            if pods.finite:
                await pods.until_drained()
                continue
            if news != pods.news:
                news, patience, quiet = pods.news, _PATIENCE, 0
                self._nodes.forget_who_came()
            attempts = self._meter.attempts
            await self._clock.sleep(SETTLED_SECONDS)
            if news != pods.news or self._help_is_near():
                patience, quiet = _PATIENCE, 0
                continue
            patience -= 1
            quiet = quiet + 1 if attempts == self._meter.attempts else 0
            if not patience or quiet == _QUIET:
                return f"{pods.waiting_in_words}, and nothing will change that"
        return ""

    def _view(self) -> None:
        """See how full each node is."""
        fills = self._meter.fills()
        if len(fills) <= _MOST_VIEWED:
            self._views.append((self._clock.now() - START, tuple(fills)))

    def _help_is_near(self) -> bool:
        """Whether pods or nodes are certain to come yet that have not come in vain before."""
        pods, nodes, scaler = self._pods, self._nodes, self._scaler
        own = frozenset() if scaler is None else scaler.names
        if pods.departures or nodes.coming - nodes.came - own:
            return True
        most = len(nodes.present) + (0 if scaler is None else scaler.most)
        if nodes.came_again or len(nodes.came) > most:
            return False
        starting = nodes.coming & own - nodes.came
        return bool(pods.returning or starting or (scaler is not None and scaler.may_help))

    def _next_arrival(self) -> None:
        """Create the pods that are due, and set a timer for the next arrival."""
        now = self._clock.now()
        for arrival in self._arrivals:
            if START + arrival.time > now:
                self._waiting_for = arrival
                self._clock.call_at(START + arrival.time, self._come)
                return
            self._pods.arrive(arrival)
        self._arriving.set()

    def _come(self) -> None:
        self._pods.arrive(self._waiting_for)
        self._next_arrival()


def even_sample(values: Iterable[float], most: int) -> tuple[float, ...]:
    """Values in order; of more than `most`, so many: the first, the last, and evenly between."""
    ordered = sorted(values)
    if len(ordered) <= most:
        return tuple(ordered)
    last = len(ordered) - 1
    return tuple(ordered[i * last // (most - 1)] for i in range(most))
