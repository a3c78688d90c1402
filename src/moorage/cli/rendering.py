"""Reports as tables for people; widths follow the terminal, nothing is cut."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from moorage.simulate.reporting import NodeReport, Report, ResourceUse

_BAR = 10


def show(report: Report, console: Console) -> None:
    """Print where pods went, why one did not, and how full nodes are."""
    console.print(_placed(report))
    pending = [pod for pod in report.pods if pod.is_pending]
    if pending:
        console.print(Text(f"\nPending ({len(pending)})", style="bold yellow"))
        for pod in pending:
            console.print(Text.assemble(("  " + f"{pod.namespace}/{pod.name}", "bold")))
            console.print(Text(f"    {pod.message}"), soft_wrap=True)
    console.print()
    console.print(_nodes(report))
    placed = len(report.pods) - len(pending)
    console.print(
        f"\n{placed} of {len(report.pods)} pods placed on {len(report.nodes)} nodes, "
        f"{report.attempts} attempts"
    )
    for error in report.errors:
        console.print(Text(f"error: {error}", style="red"), soft_wrap=True)


def _placed(report: Report) -> Table:
    table = Table(title="Pods", title_justify="left", box=None, pad_edge=False)
    for column in ("NAMESPACE", "POD", "NODE"):
        table.add_column(column, no_wrap=True)
    table.add_column("SCORE", justify="right")
    for pod in report.pods:
        score = "" if pod.score is None else str(pod.score)
        node = pod.node if pod.node else Text("pending", style="yellow")
        table.add_row(pod.namespace, pod.name, node, score)
    return table


def _nodes(report: Report) -> Table:
    names = list(dict.fromkeys(name for node in report.nodes for name in node.resources))
    shown = [name for name in names if any(_use(node, name).requested for node in report.nodes)]
    table = Table(title="Nodes", title_justify="left", box=None, pad_edge=False)
    table.add_column("NODE", no_wrap=True)
    table.add_column("ZONE", no_wrap=True)
    table.add_column("PODS", justify="right")
    for name in shown:
        table.add_column(name.upper() if name in ("cpu", "memory") else name, no_wrap=True)
    for node in report.nodes:
        label = f"{node.name} (cordoned)" if node.unschedulable else node.name
        bars = [_bar(_use(node, name)) for name in shown]
        table.add_row(label, node.zone, str(node.pods), *bars)
    return table


def _use(node: NodeReport, name: str) -> ResourceUse:
    return node.resources.get(name, ResourceUse(0, 0))


def _bar(use: ResourceUse) -> Text:
    if not use.allocatable:
        return Text("-", style="dim")
    filled = min(_BAR, round(use.share * _BAR))
    style = "red" if use.share > 0.9 else "yellow" if use.share > 0.7 else "green"
    bar = Text("█" * filled + "░" * (_BAR - filled), style=style)
    return bar.append(f" {use.share:4.0%}", style="default")
