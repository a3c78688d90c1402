"""The findings of a shadow as text."""

from rich.table import Table

from moorage.cli import comparison_output
from moorage.cli.standard_streams import echo
from moorage.cli.terminal import Terminal
from moorage.shadow.judgement import Judgement
from moorage.shadow.page import DRIFTING, ONE_STEP
from moorage.shadow.process import Shadow
from moorage.shadow.summary import Findings
from moorage.shadow.tally import data_of
from moorage.shadow.words import agreement_words, one_step, verdict

MOST_SHOWN = 10


def progress_line(shadow: Shadow) -> None:
    """Print the current state, a line per configuration, on standard error."""
    for tally in shadow.tallies.values():
        echo(one_step(data_of(tally)), err=True)


def print_findings(found: Findings) -> None:
    """Print all findings."""
    console = Terminal(highlight=False)
    for line in verdict(found):
        console.print(line, soft_wrap=True)
    console.print(f"\n[bold]One step at a time.[/bold] {ONE_STEP}", soft_wrap=True)
    console.print(_agreement(found))
    for tally in found.one_step:
        for each in tally.disagreements[-MOST_SHOWN:]:
            console.print(_line(each), soft_wrap=True, markup=False)
    if len(found.worlds.configurations) > 1:
        console.print(f"\n[bold]Had it decided all along.[/bold] {DRIFTING}", soft_wrap=True)
        comparison_output.print_comparison(found.worlds)
    if found.unseen.pods or found.unseen.seconds >= 1:
        console.print(
            f"\nNot seen: {found.unseen.seconds:.0f} s, {found.unseen.pods} bindings not judged."
        )


def _agreement(found: Findings) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("PODS WENT TO")
    for tally in found.one_step:
        table.add_column(tally.configuration, justify="right")
    kinds = dict.fromkeys(kind for tally in found.one_step for kind in tally.counts)
    for kind in kinds:
        counts = (f"{tally.counts.get(kind, 0):,}" for tally in found.one_step)
        table.add_row(agreement_words(kind), *counts)
    return table


def _line(each: Judgement) -> str:
    where = each.node or "pending"
    lost = ", ".join(f"{name} {points:+}" for name, points in each.by_plugin.items())
    why = each.reason or lost
    best = f", best here {each.best}" if each.best else ""
    return f"  {each.configuration}: {each.pod} on {where}{best}: {each.agreement}: {why}"
