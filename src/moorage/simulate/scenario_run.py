"""One run of a scenario: the scheduler in virtual time, from the first arrival to the last end."""

import asyncio
import random
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import msgspec

from moorage.api import resource_amounts
from moorage.api.node import Node
from moorage.app.assembly import assemble
from moorage.app.profile_builder import backoff_of, build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.kpi import summary
from moorage.kpi.meter import Meter, Moment
from moorage.observe.records import Attempt, Result
from moorage.simulate.candidate import Candidate
from moorage.simulate.pod_lifecycle import PodLifecycle
from moorage.simulate.run_limits import SETTLED_SECONDS
from moorage.simulate.scenario import Arrival, Scenario
from moorage.simulate.simulated_server import SimulatedServer
from moorage.watch.api_resources import NODES

START: Final = 86_400.0
"""Virtual time begins on the second day of 1970: small numbers of seconds are exact as floats."""

_PATIENCE: Final = 10
"""How many back-offs pods may fail while nothing else happens, before nobody waits for them."""


class RunResult(msgspec.Struct, frozen=True):
    """What came of a run; times of the curve are seconds from the start of the scenario."""

    seed: int
    kpis: dict[str, Any]
    curve: tuple[tuple[float, Moment], ...] = ()
    errors: tuple[str, ...] = ()
    gave_up: str = ""


class _Attempts:
    """Counts attempts, and keeps the first few errors."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.errors: dict[str, None] = {}

    def attempted(self, attempt: Attempt) -> None:
        self._meter.attempts += 1
        if attempt.result is Result.ERROR:
            self._note(attempt.message)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        self._note(str(error))

    def _note(self, message: str) -> None:
        if len(self.errors) < 20:
            self.errors[message] = None


def run_scenario(scenario: Scenario, candidate: Candidate, seed: int) -> RunResult:
    """Play a scenario with one configuration and one seed."""
    clock = VirtualClock(START - 1.0)
    return run_virtual(_Run(scenario, candidate, seed, clock).play(), clock)


class _Run:
    """Everything of one run."""

    def __init__(
        self, scenario: Scenario, candidate: Candidate, seed: int, clock: VirtualClock
    ) -> None:
        self._scenario = scenario
        self._seed = seed
        self._clock = clock
        arrivals = scenario.arrivals_of(seed)
        first = next(arrivals, None)
        self._arrivals: Iterator[Arrival] = iter(()) if first is None else chain((first,), arrivals)
        self._meter = Meter(scenario.kpis, START + (first.time if first else 0.0))
        self._attempts = _Attempts(self._meter)
        loaded = candidate.load()
        configuration = loaded.configuration
        self._server = SimulatedServer(clock)
        self._pods = PodLifecycle(
            self._server,
            clock,
            self._meter,
            scenario.pods,
            configuration.profiles[0].scheduler_name,
        )
        backoff = backoff_of(configuration)
        self._scheduler = assemble(
            self._server,
            build_profiles(configuration, candidate.plugins(), loaded.moorage.plugin_guard),
            clock=clock,
            rng=random.Random(seed),
            observers=(self._attempts,),
            backoff=(backoff.initial, backoff.maximum),
        )
        self._arriving = asyncio.Event()

    async def play(self) -> RunResult:
        """Let everything happen."""
        for each in self._scenario.nodes:
            self._join(each.node, each.price_per_hour)
        scheduler = asyncio.ensure_future(self._scheduler.run())
        story = asyncio.ensure_future(self._until_over())
        await asyncio.wait({scheduler, story}, return_when=asyncio.FIRST_COMPLETED)
        if scheduler.done():
            story.cancel()
            scheduler.result()
        scheduler.cancel()
        await asyncio.gather(scheduler, story, return_exceptions=True)
        gave_up = story.result()
        kpis = summary.as_data(summary.summarize(self._meter))
        curve = tuple((time - START, moment) for time, moment in self._meter.samples.points)
        return RunResult(self._seed, kpis, curve, tuple(self._attempts.errors), gave_up)

    def _join(self, node: Node, price: float) -> None:
        self._server.put(NODES, node)
        self._meter.node_joined(self._clock.now(), node.name, _offered(node), price, node.zone)

    async def _until_over(self) -> str:
        """Return when all that can happen has happened; why, where pods were given up."""
        await self._clock.sleep(1.0)
        self._next_arrival()
        await self._arriving.wait()
        pods, patience = self._pods, _PATIENCE
        while pods.finite or pods.waiting or pods.returning:
            if pods.finite:
                patience = _PATIENCE
                await pods.until_drained()
                continue
            placed, attempts = pods.placed, self._meter.attempts
            await self._clock.sleep(SETTLED_SECONDS)
            patience = patience - 1 if placed == pods.placed else _PATIENCE
            if not patience or (placed == pods.placed and attempts == self._meter.attempts):
                return f"{pods.waiting} pods wait, and nothing will change that"
        return ""

    def _next_arrival(self) -> None:
        """Let everybody come whose time it is, and see to it that the next does."""
        now = self._clock.now()
        for arrival in self._arrivals:
            if START + arrival.time > now:
                self._arrivals = chain((arrival,), self._arrivals)
                self._clock.call_at(START + arrival.time, self._next_arrival)
                return
            self._pods.arrive(arrival)
        self._arriving.set()


def _offered(node: Node) -> dict[str, float]:
    """What KPIs count of a node: everything but the number of pods."""
    offered = resource_amounts.node_allocatable(node)
    return {name: float(amount) for name, amount in offered.items() if name != "pods"}
