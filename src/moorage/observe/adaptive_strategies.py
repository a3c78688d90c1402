"""The weights AdaptiveSchedulingPlugin has learnt: as metrics, log lines and JSON."""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.observe import catalogue
from moorage.observe.logs import say
from moorage.observe.metric_families import Family, gauge
from moorage.policies.load.adaptive_scheduling import AdaptiveSchedulingPlugin, Strategy

LOOK_SECONDS: Final = 1.0

Profiles = Callable[[], Mapping[str, Profile]]


def strategies_by_profile(profiles: Mapping[str, Profile]) -> dict[str, Any]:
    """Every strategy, by profile and namespace."""
    return {
        name: {namespace: msgspec.to_builtins(strategy) for namespace, strategy in found.items()}
        for name, found in _strategies(profiles)
    }


class Strategies:
    """Reports the strategies of a scheduler's profiles."""

    def __init__(self, profiles: Profiles) -> None:
        self._profiles = profiles
        self._told: dict[tuple[str, str], tuple[int, str]] = {}

    def describe(self) -> tuple[Family, ...]:
        """Nothing: the metrics are made at each scrape."""
        return ()

    def collect(self) -> Iterator[Family]:
        """The weights in force, for Prometheus."""
        values = []
        for profile, found in _strategies(self._profiles()):
            for namespace, strategy in found.items():
                labels = (profile, namespace, strategy.goal)
                values.append(((*labels, "cpu"), float(strategy.cpu_weight)))
                values.append(((*labels, "memory"), float(strategy.memory_weight)))
        yield gauge(catalogue.STRATEGY_WEIGHT, values)

    async def run(self, clock: Clock) -> None:
        """Log each change of a strategy, and why, for ever."""
        while True:
            self.look()
            await clock.sleep(LOOK_SECONDS)

    def look(self) -> None:
        """Log the strategies that have changed since the last call."""
        for profile, found in _strategies(self._profiles()):
            for namespace, strategy in found.items():
                decided = strategy.cpu_weight, strategy.goal
                if self._told.get((profile, namespace)) != decided:
                    self._told[profile, namespace] = decided
                    _say(profile, strategy)


def _strategies(profiles: Mapping[str, Profile]) -> Iterator[tuple[str, dict[str, Strategy]]]:
    for name, profile in profiles.items():
        found = AdaptiveSchedulingPlugin.in_force(profile.shared)
        if found:
            yield name, found


def _say(profile: str, strategy: Strategy) -> None:
    say(
        logging.INFO,
        "strategy",
        profile=profile,
        namespace=strategy.namespace,
        cpu=strategy.cpu_weight,
        memory=strategy.memory_weight,
        goal=strategy.goal,
        why=strategy.why,
    )
