"""The candidate that hurts least."""

from collections.abc import Mapping

from moorage.plugins.preemption.victims import Victims


def tied(candidates: Mapping[str, Victims]) -> list[str]:
    """The nodes that cost least; of several kube-scheduler takes any."""
    if not candidates:
        return []
    costs = [victims.cost for victims in candidates.values()]
    least = min(costs)
    return [name for name, cost in zip(candidates, costs, strict=True) if cost == least]
