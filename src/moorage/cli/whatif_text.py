"""What-if answers as text: one line per scenario, then the details of each."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from moorage.explain.what_if_answer import WhatIfAnswer
from moorage.kpi.meter import Moment

SHOWN: Final = 10
"""How many pods of each kind are named; the others are counted."""


def print_answers(answers: list[WhatIfAnswer], console: Console) -> None:
    """Print the scenarios side by side, then each by itself."""
    table = Table(box=None, pad_edge=False)
    table.add_column("SCENARIO", overflow="fold")
    for title in ("MOVED", "NOW PENDING", "NOW PLACED", "STILL PENDING", "GONE"):
        table.add_column(title, justify="right")
    for each in answers:
        counts = (each.moves, each.becomes_pending, each.becomes_placed)
        numbers = [str(len(found)) for found in counts]
        table.add_row(each.name, *numbers, str(each.still_pending), str(len(each.gone)))
    console.print(table)
    for each in answers:
        _print_one(each, console)


def _print_one(told: WhatIfAnswer, console: Console) -> None:
    console.print()
    console.print(Text(told.name, style="bold"))
    _lines("moves", (f"{m.pod}: {m.source} -> {m.target}" for m in told.moves), console)
    _lines("becomes pending", (f"{w.pod}: {w.message}" for w in told.becomes_pending), console)
    _lines("becomes placed", (f"{m.pod}: {m.target}" for m in told.becomes_placed), console)
    for error in told.errors:
        console.print(Text(f"  error: {error}"), soft_wrap=True)
    console.print(_kpis(told.before, told.after))


def _lines(what: str, lines: Iterable[str], console: Console) -> None:
    found = list(lines)
    for line in found[:SHOWN]:
        console.print(Text(f"  {what}: {line}"), soft_wrap=True)
    if len(found) > SHOWN:
        console.print(f"  {what}: {len(found) - SHOWN} more")


def _kpis(before: Moment, after: Moment) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    table.add_column("KPI", no_wrap=True)
    table.add_column("BEFORE", justify="right")
    table.add_column("AFTER", justify="right")
    for name, was, now in _pairs(before, after):
        table.add_row(name, was, now, style="bold" if was != now else "")
    return table


def _pairs(before: Moment, after: Moment) -> list[tuple[str, str, str]]:
    counted = [
        (words, f"{getattr(before, field):g}", f"{getattr(after, field):g}")
        for field, words in (
            ("waiting", "pods that wait"),
            ("running", "pods on nodes"),
            ("nodes", "nodes"),
            ("nodes_in_use", "nodes in use"),
            ("cost_per_hour", "cost per hour"),
        )
        if field != "cost_per_hour" or before.cost_per_hour or after.cost_per_hour
    ]
    shares = [
        (f"{word} of {name}", _percent(was.get(name)), _percent(now.get(name)))
        for word, was, now in (
            ("allocation", before.allocation, after.allocation),
            ("fragmentation", before.fragmentation, after.fragmentation),
        )
        for name in sorted({*was, *now})
        if was.get(name) or now.get(name)
    ]
    return counted + shares


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
