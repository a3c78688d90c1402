"""Plugins as JSON: their points, their cost per attempt, and the state of their breakers."""

from collections.abc import Mapping
from typing import Any, Final

from moorage.cycle.profile import Profile
from moorage.guard.breaker import State
from moorage.guard.guards import Guards
from moorage.guard.plugin_guard import Guard
from moorage.observe.step_timings import Timings

BREAKERS: Final = {State.CLOSED: "closed", State.HALF_OPEN: "half-open", State.OPEN: "open"}


def plugin_rows(profiles: Mapping[str, Profile], timings: Timings | None) -> list[dict[str, Any]]:
    """Every plugin of every profile: custom ones first, then the most expensive."""
    costs = {} if timings is None else _costs(timings)
    rows = [
        _row(name, profile, plugin, costs.get(plugin))
        for name, profile in profiles.items()
        for plugin in profile.plugins
    ]
    return sorted(rows, key=lambda row: (not row["custom"], -(row["cost_ms_per_attempt"] or 0.0)))


def _row(name: str, profile: Profile, plugin: str, cost: float | None) -> dict[str, Any]:
    guard = profile.guards.guards.get(plugin) if isinstance(profile.guards, Guards) else None
    points = [point for point, found in profile.resolved.points.items() if plugin in _names(found)]
    return {
        "name": plugin,
        "profile": name,
        "version": profile.version,
        "points": points,
        "custom": guard is not None,
        "cost_ms_per_attempt": cost,
        **_guarded(guard),
    }


def _names(found: Any) -> set[str]:
    return {each.name for each in found}


def _guarded(guard: Guard | None) -> dict[str, Any]:
    if guard is None:
        return {"breaker": "", "deadline_ms": None, "failures": 0}
    return {
        "breaker": BREAKERS[guard.state],
        "deadline_ms": round(guard.terms.deadline.seconds * 1000, 3) or None,
        "failures": sum(guard.failures.values()),
        "left_out": guard.left_out,
        "last_failure": guard.breaker.last_error,
    }


def _costs(timings: Timings) -> dict[str, float]:
    """Milliseconds of a plugin per attempt: the sum of the means of its points."""
    found: dict[tuple[str, str], list[float]] = {}
    for (plugin, point, _), tally in timings.plugins.items():
        seen = found.setdefault((plugin, point), [0.0, 0.0])
        seen[0] += tally.total
        seen[1] += tally.count
    costs: dict[str, float] = {}
    for (plugin, _), (seconds, calls) in found.items():
        costs[plugin] = round(costs.get(plugin, 0.0) + 1000 * seconds / max(calls, 1), 4)
    return costs
