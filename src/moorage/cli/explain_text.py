"""An explanation as text: what happened, why, and what would help."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from moorage.explain.explanation import Explanation


def print_explanation(told: Explanation, console: Console) -> None:
    """Print what is known about a pod, the answer first."""
    if told.state == "placed":
        _print_placed(told, console)
    else:
        _print_pending(told, console)


def _print_placed(told: Explanation, console: Console) -> None:
    console.print(Text.assemble("Pod ", (told.pod, "bold"), " is on ", (told.node, "bold green")))
    if told.runner_up:
        lead = f"{told.margin} points ahead of" if told.margin > 0 else "no better than"
        behind = f"{-told.margin} points behind" if told.margin < 0 else lead
        console.print(f"  {behind} {told.runner_up}, the next best")
    else:
        console.print("  no other node takes it")
    if told.decided_by:
        console.print(f"  decided by {', '.join(told.decided_by)}: without it, another would win")
    if told.scores:
        console.print()
        console.print(_score_table(told))
    _print_refusals(told, console)


def _score_table(told: Explanation) -> Table:
    table = Table(title="Scores", title_justify="left", box=None, pad_edge=False)
    table.add_column("PLUGIN", no_wrap=True)
    names = list(told.scores)
    for name in names:
        style = "green" if name == told.node else ""
        table.add_column(name, justify="right", no_wrap=True, style=style)
    plugins = list(dict.fromkeys(plugin for parts in told.scores.values() for plugin in parts))
    for plugin in plugins:
        table.add_row(plugin, *(str(told.scores[name].get(plugin, 0)) for name in names))
    table.add_row("total", *(str(sum(told.scores[name].values())) for name in names), style="bold")
    return table


def _print_pending(told: Explanation, console: Console) -> None:
    console.print(Text.assemble("Pod ", (told.pod, "bold"), " is ", ("pending", "bold yellow")))
    console.print(Text(f"  {told.message}"), soft_wrap=True)
    for sentence in told.in_words:
        console.print(Text(f"  It {sentence}."), soft_wrap=True)
    for waiting in told.waits_for:
        console.print(Text(f"  It waits: {waiting}."), soft_wrap=True)
    if told.queue_place is not None and told.queue_place[1] > 1:
        place, waiting_pods = told.queue_place
        console.print(f"  It is number {place} of the {waiting_pods} pods that wait.")
    _print_refusals(told, console)
    console.print()
    if not told.changes:
        console.print("Nothing that was tried would help.")
        return
    console.print(Text("What would help, the smallest first", style="bold"))
    for number, change in enumerate(told.changes, start=1):
        where = f"  [{change.node}]" if change.node else ""
        console.print(Text(f"  {number}. {change.summary}{where}"), soft_wrap=True)
    console.print(Text("Each was tried: -o json has it as a patch.", style="dim"))


def _print_refusals(told: Explanation, console: Console) -> None:
    if not told.refusals:
        return
    console.print()
    console.print(Text("Refused", style="bold"))
    for refusal in told.refusals:
        nodes = "1 node" if refusal.nodes == 1 else f"{refusal.nodes} nodes"
        console.print(Text(f"  {nodes}: {refusal.reason} ({refusal.plugin})"), soft_wrap=True)
