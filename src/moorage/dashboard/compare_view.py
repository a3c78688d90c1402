"""Versions side by side as JSON: canaries, a shadow, strategies, generations, plugins and KPIs."""

from collections.abc import Callable
from typing import Any, NamedTuple

Rows = Callable[[], list[dict[str, Any]]]


def _none() -> list[dict[str, Any]]:
    return []


class CompareSource(NamedTuple):
    """What there is to compare; each part is read when somebody looks."""

    canaries: Rows = _none
    shadow: Callable[[], dict[str, Any] | None] = lambda: None
    strategies: Callable[[], dict[str, Any]] = dict
    generations: Rows = _none
    plugins: Rows = _none
    kpis: Rows = _none

    def page(self) -> dict[str, Any]:
        """All comparisons."""
        return {
            "canaries": self.canaries(),
            "shadow": self.shadow(),
            "strategies": self.strategies(),
            "generations": self.generations(),
            "plugins": self.plugins(),
            "kpis": self.kpis(),
        }


def canary_row(shown: dict[str, Any]) -> dict[str, Any]:
    """One canary, from its entry in `/configz`."""
    compared = shown["comparison"]
    return {
        "profile": shown["schedulerName"],
        "version": shown["name"],
        "share": shown["percent"] / 100,
        "state": "rolled back" if shown["state"] == "RolledBack" else "running",
        "reason": shown["reason"],
        "look": compared["looks"],
        "summary": compared["summary"],
        "findings": compared["kpis"],
        "versions": shown["versions"],
    }
