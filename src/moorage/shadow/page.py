"""A shadow's findings as a page to read, print and pass on."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

from moorage.shadow.judgement import Judgement
from moorage.shadow.summary import Findings
from moorage.shadow.tally import TallyData
from moorage.shadow.words import agreement_words, verdict
from moorage.simulate.candidate import Candidate
from moorage.simulate.report import charts, page

ONE_STEP: Final = (
    "Each decision is judged on the cluster as it was just before; then what was really decided is "
    "believed. These figures do not drift."
)
DRIFTING: Final = (
    "A world of each configuration's own: the same nodes and the same pods coming and going, every "
    "placement its own. It drifts away from the true cluster, and is a model: pods end when the "
    "true ones do."
)
MOST_SHOWN: Final = 20


def shadow_page(
    found: Findings,
    candidates: Sequence[Candidate],
    shown: Sequence[tuple[str, str]],
    command: str,
) -> str:
    """The whole page."""
    return page.document("Shadow of a cluster", _parts(found, candidates, shown, command))


def _parts(
    found: Findings,
    candidates: Sequence[Candidate],
    shown: Sequence[tuple[str, str]],
    command: str,
) -> Iterator[str]:
    yield f'<p class="question">{escape(_span(found))}</p>'
    lines = "".join(f"<p>{escape(line)}</p>" for line in verdict(found))
    yield f'<section class="verdict" aria-label="verdict">{lines}</section>'
    yield f"<h2>One step at a time</h2><p>{ONE_STEP}</p>{_agreement(found.one_step)}"
    for tally in found.one_step:
        yield _given_up(tally)
    if len(found.worlds.configurations) > 1:
        yield f"<h2>Had it decided all along</h2><p>{DRIFTING}</p>"
        yield page.kpi_table(found.worlds, shown)
        drawn = page.figures(charts.charts(found.worlds))
        yield f'<h2>Over time</h2><div class="charts">{drawn}</div>'
    for tally in found.one_step:
        yield _disagreements(tally)
    yield f"<h2>Not seen</h2>{_unseen(found)}"
    yield f"<h2>Configurations</h2>{page.configurations(candidates)}"
    yield f"<h2>How to run it again</h2><pre>{escape(command)}</pre>"
    yield f"<footer>Moorage {escape(found.version)}. Nothing was written to the cluster.</footer>"


def _span(found: Findings) -> str:
    return f"{_time(found.began)} to {_time(found.ended)}, {found.nodes} nodes"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _agreement(tallies: Sequence[TallyData]) -> str:
    kinds = list(dict.fromkeys(kind for tally in tallies for kind in tally.counts))
    head = "".join(f"<th>{escape(tally.configuration)}</th>" for tally in tallies)
    rows = "".join(
        f"<tr><td>{escape(agreement_words(kind))}</td>"
        + "".join(f"<td>{tally.counts.get(kind, 0):,}</td>" for tally in tallies)
        + "</tr>"
        for kind in kinds
    )
    return f'<div class="scroll"><table><tr><th></th>{head}</tr>{rows}</table></div>'


def _given_up(tally: TallyData) -> str:
    if not tally.by_plugin:
        return ""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{points:+,}</td></tr>"
        for name, points in tally.by_plugin.items()
    )
    title = f"Points given up, by the score of {escape(tally.configuration)}"
    head = "<tr><th>plugin</th><th>points</th></tr>"
    return f'<h2>{title}</h2><div class="scroll"><table>{head}{rows}</table></div>'


def _disagreements(tally: TallyData) -> str:
    if not tally.disagreements:
        return ""
    shown = tally.disagreements[-MOST_SHOWN:]
    rows = "".join(map(_disagreement, reversed(shown)))
    title = f"Where {escape(tally.configuration)} disagrees: the last {len(shown)}"
    head = "".join(
        f"<th>{each}</th>" for each in ("pod", "went to", "best here", "", "points", "why")
    )
    return f'<h2>{title}</h2><div class="scroll"><table><tr>{head}</tr>{rows}</table></div>'


def _disagreement(each: Judgement) -> str:
    lost = ", ".join(f"{name} {points:+}" for name, points in each.by_plugin.items())
    cells = (
        each.pod,
        each.node or "pending",
        each.best,
        each.agreement.value,
        str(each.given_up or ""),
        each.reason or lost,
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _unseen(found: Findings) -> str:
    unseen = found.unseen
    if not unseen.spans and not unseen.pods:
        return "<p>Everything was seen.</p>"
    lines = "".join(
        f"<li>{_time(span.begin)}, {span.end - span.begin:.1f} s: {escape(span.reason)}</li>"
        for span in unseen.spans[-MOST_SHOWN:]
    )
    said = f"{unseen.pods:,} bindings could not be judged; {unseen.seconds:.0f} s were not seen."
    return f"<p>{said}</p><ul>{lines}</ul>"
