"""A shadow's findings in sentences."""

from collections.abc import Iterator
from typing import Final

from moorage.shadow.judgement import Agreement
from moorage.shadow.summary import Findings
from moorage.shadow.tally import TallyData

_WORDS: Final = {
    Agreement.SAME: "the node that is best here",
    Agreement.TIED: "one of several that are equally good here",
    Agreement.WORSE: "a node that scores less here",
    Agreement.REFUSED: "a node that is refused here",
    Agreement.UNPLACED: "placed, though no node is feasible here",
    Agreement.BOTH_PENDING: "pending, as here",
    Agreement.WOULD_PLACE: "pending, though a node is feasible here",
    Agreement.PREEMPTS: "room made where it would be made here",
    Agreement.PREEMPTS_ELSEWHERE: "room made where it would not be made here",
    Agreement.FAILED: "a plugin failed here",
}


def agreement_words(kind: str) -> str:
    """What an agreement means."""
    return _WORDS[Agreement(kind)]


def verdict(found: Findings) -> Iterator[str]:
    """The findings in sentences, the most important first."""
    for tally in found.one_step:
        yield one_step(tally)
    for outcome in found.worlds.configurations[1:]:
        true = found.worlds.configurations[0].kpis
        in_use = _change(outcome.kpis, true, "nodes_used_mean")
        yield (
            f"Had {outcome.name} decided all along: {in_use} nodes in use, "
            f"{_change(outcome.kpis, true, 'cost')} cost, "
            f"{outcome.kpis['never_placed'] - true['never_placed']:+d} pods never placed."
        )
    if found.unseen.seconds >= 1:
        yield f"{found.unseen.seconds:.0f} s were not seen, and nothing is said about them."


def one_step(tally: TallyData) -> str:
    """One configuration's agreement in a sentence."""
    if not tally.judged:
        return f"{tally.configuration}: nothing was decided while we looked."
    share = f"{tally.agreeing / tally.placed:.1%}" if tally.placed else "none"
    counts = tally.counts
    said = (
        f"{tally.configuration}: of {tally.placed:,} pods placed, {share} went to a node that is "
        "among the best here"
    )
    if tally.in_flight:
        said += f" ({tally.in_flight:,} of them only with pods in flight counted)"
    more = [
        f"{counts[kind.value]:,} {words}"
        for kind, words in (
            (Agreement.WORSE, f"to a worse one ({tally.given_up:,} points given up)"),
            (Agreement.REFUSED, "to one that is refused here"),
            (Agreement.UNPLACED, "although nothing fits here"),
            (Agreement.WOULD_PLACE, "wait that would be placed here"),
            (Agreement.PREEMPTS_ELSEWHERE, "had room made where it would not be made here"),
        )
        if counts.get(kind.value)
    ]
    return f"{said}; {'; '.join(more)}." if more else f"{said}."


def _change(kpis: dict[str, float], true: dict[str, float], name: str) -> str:
    before, after = float(true[name]), float(kpis[name])
    return f"{(after - before) / before:+.1%}" if before else f"{after - before:+.3g}"
