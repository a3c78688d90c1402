"""The output of `moorage simulate`: a summary that fits a screen, tables, or CSV."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from moorage.simulate.simulation_report import NodeReport, PodReport, Report, ResourceUse

_BAR: Final = 10
_SHARE: Final = len(" 100%")
_GAP: Final = 2
"""Spaces between columns."""
_SHORT: Final = 24
"""Up to this many pods, and nodes, are listed by default."""
_MOST_LINES: Final = 12
"""The most reasons, and evictions, in the summary."""


def print_report(report: Report, console: Console, *, wide: bool = True) -> None:
    """Print where pods went, why one did not, and how full nodes are."""
    if wide or len(report.pods) <= _SHORT:
        console.print(_pod_table(report))
    _print_pending(report, console, wide)
    _print_evictions(report, console, wide)
    if wide or len(report.nodes) <= _SHORT:
        console.print()
        _print_nodes(report, console)
    _print_totals(report, console, wide)


def print_errors(report: Report, console: Console) -> None:
    """Print the errors of a run, one per line, and why it was ended early, if it was."""
    say_errors(report.errors, console)
    if report.gave_up and report.nodes:
        _say(console, f"error: the run was ended: {report.gave_up}", "red")


def say_errors(errors: Sequence[str], console: Console) -> None:
    """Print the first few errors, and how many more there are."""
    for line in errors[:_MOST_LINES]:
        _say(console, f"error: {line}", "red")
    if len(errors) > _MOST_LINES:
        left = len(errors) - _MOST_LINES
        _say(console, f"error: and {left} more: -o json has all of them", "red")


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)


def _print_pending(report: Report, console: Console, wide: bool) -> None:
    pending = [pod for pod in report.pods if pod.is_pending]
    if not pending:
        return
    console.print(Text(f"\nPending ({len(pending)})", style="bold yellow"))
    folded = Counter((_workload(pod), pod.message) for pod in pending).most_common()
    for (who, message), count in folded if wide else folded[:_MOST_LINES]:
        _say(console, f"  {who}" + (f"  {count} pods" if count > 1 else ""), "bold")
        _say(console, f"    {message}")
    if not wide and len(folded) > _MOST_LINES:
        _say(console, f"  and {len(folded) - _MOST_LINES} more: -o wide shows them")


def _workload(pod: PodReport) -> str:
    return f"{pod.namespace}/{pod.owner.replace(' ', '/', 1).lower() if pod.owner else pod.name}"


def _print_evictions(report: Report, console: Console, wide: bool) -> None:
    if not report.evictions:
        return
    console.print(Text(f"\nEvicted ({len(report.evictions)})", style="bold red"))
    shown = report.evictions if wide else report.evictions[:_MOST_LINES]
    for each in shown:
        by = f", for {each.by}" if each.by else ""
        _say(console, f"  {each.namespace}/{each.name} from {each.node}{by}")
    if len(shown) < len(report.evictions):
        _say(console, f"  and {len(report.evictions) - len(shown)} more: -o wide shows them")


def _print_totals(report: Report, console: Console, wide: bool) -> None:
    counts = report.counts
    on_nodes = counts.get("placed", 0) + counts.get("bound", 0)
    count = len(report.pods) - counts.get("finished", 0) - counts.get("lost", 0)
    _say(
        console,
        f"\n{on_nodes} of {count} pods placed on {len(report.nodes)} nodes, "
        f"{report.attempts} attempts",
    )
    aside = [f"{counts[state]} {state}" for state in ("finished", "lost") if counts.get(state)]
    used = sum(1 for node in report.nodes if node.pods)
    parts = [f"{used} of {len(report.nodes)} nodes used", *_shares(report), *aside]
    if report.evictions:
        parts.append(f"{len(report.evictions)} evicted")
    _say(console, "; ".join(parts))
    if not wide and (len(report.pods) > _SHORT or len(report.nodes) > _SHORT):
        _say(console, "-o wide lists every pod and node, --only pending those that wait", "dim")


def _shares(report: Report) -> list[str]:
    """The requested share of each resource, over all nodes."""
    requested: Counter[str] = Counter()
    offered: Counter[str] = Counter()
    for node in report.nodes:
        for name, use in node.resources.items():
            requested[name] += use.requested
            offered[name] += use.allocatable
    return [
        f"{name} {ResourceUse(requested[name], offered[name]).share:.0%}"
        for name in requested
        if requested[name] and offered[name] and name != "pods"
    ]


def _pod_table(report: Report) -> Table:
    table = Table(title="Pods", title_justify="left", box=None, pad_edge=False)
    for column in ("NAMESPACE", "POD", "NODE"):
        table.add_column(column, overflow="fold")
    table.add_column("SCORE", justify="right")
    for pod in report.pods:
        score = "" if pod.score is None else str(pod.score)
        node = Text("pending", style="yellow") if pod.is_pending else Text(pod.node or pod.state)
        table.add_row(Text(pod.namespace), Text(pod.name), node, score)
    return table


def _print_nodes(report: Report, console: Console) -> None:
    names = list(dict.fromkeys(name for node in report.nodes for name in node.resources))
    asked = [name for name in names if any(_use(node, name).requested for node in report.nodes)]
    left = console.width - _width_of_names(report.nodes)
    with_bars = _fitting(asked, left, _BAR + _SHARE)
    shown = asked if len(with_bars) == len(asked) else _fitting(asked, left, _SHARE)
    bar = _BAR if shown == with_bars else 0
    console.print(_node_table(report, console, shown, bar))
    hidden = len(asked) - len(shown)
    if hidden:
        _say(console, f"and {hidden} more resource{'s' * (hidden > 1)}: -o json shows them")


def _node_table(report: Report, console: Console, shown: Sequence[str], bar: int) -> Table:
    table = Table(title="Nodes", title_justify="left", box=None, pad_edge=False)
    table.add_column("NODE", overflow="fold")
    table.add_column("ZONE", overflow="fold")
    table.add_column("PODS", justify="right")
    for name in shown:
        table.add_column(_title(name), overflow="fold", justify="left" if bar else "right")
    signs = "█░" if console.encoding.lower().startswith("utf") else "#."
    for node in report.nodes:
        bars = [_bar(_use(node, name), signs, bar) for name in shown]
        table.add_row(Text(_label(node)), Text(node.zone), str(node.pods), *bars)
    return table


def _width_of_names(nodes: Sequence[NodeReport]) -> int:
    node = max((cell_len(_label(node)) for node in nodes), default=0)
    zone = max((cell_len(node.zone) for node in nodes), default=0)
    return max(node, len("NODE")) + max(zone, len("ZONE")) + len("PODS") + 2 * _GAP


def _fitting(names: Sequence[str], width: int, least: int) -> list[str]:
    """The first resources that fit beside each other, at least one."""
    ends = accumulate(_GAP + max(len(_title(name)), least) for name in names)
    return [name for name, end in zip(names, ends, strict=True) if end <= width or name == names[0]]


def _label(node: NodeReport) -> str:
    return f"{node.name} (cordoned)" if node.unschedulable else node.name


def _title(resource: str) -> str:
    return resource.upper() if resource in ("cpu", "memory") else resource


def _use(node: NodeReport, name: str) -> ResourceUse:
    return node.resources.get(name, ResourceUse(0, 0))


def _bar(use: ResourceUse, signs: str, length: int) -> Text:
    """The requested share: a bar of that length, and a percentage."""
    if not use.allocatable:
        return Text("-", style="dim")
    filled = max(0, min(length, round(use.share * length)))
    style = "red" if use.share > 0.9 else "yellow" if use.share > 0.7 else "green"
    bar = Text(signs[0] * filled + signs[1] * (length - filled), style=style)
    return bar.append(f" {use.share:4.0%}", style="default" if length else style)


def csv_text(report: Report) -> str:
    """One line per pod, with a header, for spreadsheets."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("namespace", "pod", "owner", "state", "node", "score", "attempts", "message"))
    for pod in report.pods:
        score = "" if pod.score is None else pod.score
        row = (pod.namespace, pod.name, pod.owner, pod.state, pod.node, score, pod.attempts)
        writer.writerow((*row, pod.message))
    return out.getvalue()
