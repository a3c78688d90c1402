"""Numbers beside "Insufficient cpu", for logs and traces: what is asked, what is free at most."""

from collections.abc import Sequence
from typing import Final

from moorage.api.resource_amounts import format_amount
from moorage.framework.cycle import Cycle

INSUFFICIENT: Final = "Insufficient "
Verdict = tuple[str, str, int]
"""(plugin, reason, number of nodes)."""


def with_amounts(cycle: Cycle, refusals: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts on a pod that fits nowhere, with numbers where a resource is short."""
    return [(plugin, why + _amounts(cycle, why), count) for plugin, why, count in refusals]


def _amounts(cycle: Cycle, why: str) -> str:
    if INSUFFICIENT not in why:
        return ""
    resources = cycle.table.resources.values
    told = [
        _told(cycle, index, resources[index], amount)
        for index, amount in cycle.incoming.requests
        if f"{INSUFFICIENT}{resources[index]}" in why
    ]
    return f" ({'; '.join(told)})" if told else ""


def _told(cycle: Cycle, index: int, name: str, amount: int) -> str:
    asked, free = format_amount(name, amount), _most_free(cycle, index, name)
    return f"{name}: {asked} asked, {free} free at most"


def _most_free(cycle: Cycle, index: int, name: str) -> str:
    table = cycle.table
    alive = table.alive[: table.rows]
    if index >= len(table.free) or not alive.any():
        return "none"
    return format_amount(name, max(0, int(table.free[index, : table.rows][alive].max())))
