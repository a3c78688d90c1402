"""Comparisons on the terminal: KPIs side by side, and differences."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.table import Table
from rich.text import Text

from moorage.cli.simulate_text import say_errors
from moorage.cli.standard_streams import echo
from moorage.cli.terminal import Terminal
from moorage.simulate.candidate import Candidate
from moorage.simulate.comparison import Comparison, Difference, Outcome
from moorage.simulate.report import page
from moorage.simulate.report.page import ReportContext
from moorage.simulate.workload_changes import workload_changes

SHOWN: Final = (
    ("wait_s.mean", "waiting, mean (s)"),
    ("wait_s.p50", "waiting, median (s)"),
    ("wait_s.p95", "waiting, p95 (s)"),
    ("wait_s.p99", "waiting, p99 (s)"),
    ("completion_s.mean", "completion, mean (s)"),
    ("completion_s.p95", "completion, p95 (s)"),
    ("never_placed", "pods never placed"),
    ("gangs_never_placed", "gangs never placed"),
    ("slo_attained", "waited no longer than the target"),
    ("evictions", "evictions"),
    ("work_lost_s", "work lost (s)"),
    ("nodes_used", "nodes used"),
    ("nodes_used_mean", "nodes in use, mean"),
    ("cost", "cost of nodes in use"),
    ("cost_provisioned", "cost of all nodes"),
    ("fairness", "fairness (Jain)"),
    ("spread_kept", "spread kept"),
    ("attempts_per_pod", "attempts per pod"),
)
_BY_RESOURCE: Final = (
    ("allocation", "allocation"),
    ("fragmentation", "fragmentation"),
    ("balance", "balance"),
)


def write_json(data: dict[str, Any]) -> None:
    """Write data as JSON."""
    echo(msgspec.json.format(msgspec.json.encode(data)).decode())


def write_comparison(found: Comparison, output: str) -> None:
    """Write a comparison, with winners and losers, as a table or as JSON."""
    changes = workload_changes(found)
    if output == "json":
        write_json(
            {**found.as_data(), "workloads": [msgspec.to_builtins(each) for each in changes]}
        )
        return
    print_comparison(found)
    for change in changes:
        first, second = change.configurations
        echo(
            f"{change.workload} {change.verdict} with {second} against {first}: "
            f"{change.kpi} {change.mean:+.4g} [{change.low:+.4g}, {change.high:+.4g}]"
        )


def print_comparison(found: Comparison) -> None:
    """Print a comparison as a table."""
    console = Terminal(width=None if sys.stdout.isatty() else 140)
    console.print(_table(found))


def say_what_failed(found: Comparison) -> bool:
    """Print every error once, with its configuration; returns whether there was one."""
    errors = dict.fromkeys(
        f"{outcome.name}: {error}"
        for outcome in found.configurations
        for result in outcome.seeds
        for error in result.errors
    )
    say_errors(list(errors), Terminal(stderr=True))
    return bool(errors)


def shown_kpis(found: Comparison) -> list[tuple[str, str]]:
    """The KPIs to show, by path and in words: those that have a value here."""
    first = found.configurations[0]
    paths = list(SHOWN)
    for group, label in _BY_RESOURCE:
        names = first.kpis[group]
        paths += [(f"{group}.{name}", f"{label}, {name}") for name in names]
    return [
        (path, label)
        for path, label in paths
        if any(path in outcome.intervals for outcome in found.configurations)
        and (path not in _SILENT_AT_ZERO or any(_mean(o, path) for o in found.configurations))
    ]


def kpi_rows(found: Comparison) -> list[dict[str, Any]]:
    """The same KPIs with the interval of each configuration, for a dashboard."""
    return [
        {
            "kpi": label,
            "configurations": [outcome.name for outcome in found.configurations],
            "mean": [_mean(outcome, path) for outcome in found.configurations],
            "low": [_bound(outcome, path, "low") for outcome in found.configurations],
            "high": [_bound(outcome, path, "high") for outcome in found.configurations],
        }
        for path, label in shown_kpis(found)
    ]


def _bound(outcome: Outcome, path: str, side: str) -> float | None:
    """An end of an interval; for a single run, the value itself."""
    found = outcome.intervals.get(path)
    if found is None:
        return None
    end: float | None = getattr(found, side)
    return found.mean if end is None else end


_SILENT_AT_ZERO: Final = frozenset(
    {"gangs_never_placed", "evictions", "work_lost_s", "cost", "cost_provisioned"}
)


def _mean(outcome: Outcome, path: str) -> float | None:
    found = outcome.intervals.get(path)
    return None if found is None else found.mean


def _table(found: Comparison) -> Table:
    runs = {len(outcome.seeds) for outcome in found.configurations}
    title = f"{found.scenario}, {max(runs, default=0)} seed(s)"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("KPI", no_wrap=True)
    for outcome in found.configurations:
        table.add_column(outcome.name, justify="right")
    pairs = [each for each in found.differences if each.kpi == "pods"]
    for pair in pairs:
        table.add_column(f"{pair.configurations[1]} - {pair.configurations[0]}", justify="right")
    by_path = {(each.kpi, each.configurations): each for each in found.differences}
    for path, label in shown_kpis(found):
        cells = [number(_mean(outcome, path)) for outcome in found.configurations]
        gaps = [_gap(by_path.get((path, pair.configurations))) for pair in pairs]
        table.add_row(label, *cells, *gaps)
    return table


def _gap(difference: Difference | None) -> Text:
    if difference is None:
        return Text("")
    if difference.low is None or difference.high is None:
        return Text(f"{difference.mean:+.4g}")
    text = f"{difference.mean:+.4g} [{difference.low:+.4g}, {difference.high:+.4g}]"
    return Text(text, style="bold" if difference.is_significant else "dim")


def number(value: float | None) -> str:
    """A number in readable form."""
    if value is None:
        return "-"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def write_report(
    found: Comparison, question: str, candidates: Sequence[Candidate], path: str
) -> None:
    """Write the HTML report."""
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    context = ReportContext(question, tuple(candidates), command, tuple(shown_kpis(found)))
    page.write_report(found, context, path)
