"""The page of a report: one HTML file that needs nothing else."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

import msgspec

from moorage.app.output_files import write_private
from moorage.config.field_errors import InputError
from moorage.simulate.candidate import Candidate
from moorage.simulate.comparison import Comparison, Difference
from moorage.simulate.report import charts, words
from moorage.simulate.workload_changes import workload_changes

STYLE: Final = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2733; background: #fff; margin: 0 auto;
  max-width: 62rem; padding: 1.2rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .2rem 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; border-bottom: 1px solid #d8dde3; }
.question { font-size: 1.1rem; color: #44525f; margin: 0 0 1rem; }
.verdict { border-left: .3rem solid #2f6db5; background: #f3f7fb; padding: .7rem 1rem; }
.verdict p { margin: .3rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid #e7eaee;
  white-space: nowrap; }
th { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
.better { color: #1b6e3c; font-weight: 600; } .worse { color: #a3282b; font-weight: 600; }
.same { color: #6a7681; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 23rem), 1fr));
  gap: 1.2rem; }
figure { margin: 0; break-inside: avoid; } figcaption { font-weight: 600; margin-bottom: .2rem; }
svg { width: 100%; height: auto; max-width: 34rem; }
pre { background: #f6f7f9; padding: .7rem; overflow-x: auto; font-size: .82rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
footer { color: #6a7681; font-size: .85rem; margin-top: 2rem; }
@media (max-width: 40rem) { th, td { white-space: normal; min-width: 0; padding: .25rem .3rem; }
  table { font-size: .8rem; } body { padding: .8rem; } }
@media print { body { max-width: none; padding: 0; font-size: 10.5pt; }
  .charts { grid-template-columns: 1fr 1fr; } h2 { break-after: avoid; } tr { break-inside: avoid; }
  .verdict, svg, td { print-color-adjust: exact; } .scroll { overflow: visible; }
  table { font-size: 8.5pt; } th, td { padding: .15rem .35rem; } }
"""


class ReportContext(msgspec.Struct, frozen=True):
    """What a report says besides the comparison."""

    question: str
    candidates: tuple[Candidate, ...]
    command: str
    shown: tuple[tuple[str, str], ...]
    """The KPIs of the table: their paths and their labels."""


def check_target(path: str) -> None:
    """Raise an InputError, before anything is run, if the report could not be written."""
    charts.require_altair()
    file = Path(path)
    if file.suffix not in (".html", ".htm"):
        raise InputError([f"--report {path}: a report is an .html file"])
    if not file.absolute().parent.is_dir():
        raise InputError([f"--report {path}: no such folder"])


def write_report(found: Comparison, context: ReportContext, path: str) -> None:
    """Write the page of a comparison."""
    write_page(page(found, context), path)


def write_page(text: str, path: str) -> None:
    """Write a page atomically: readers never see a part of it."""
    write_private(path, text.encode())


def page(found: Comparison, context: ReportContext) -> str:
    """The whole page of a comparison."""
    return document(found.scenario, _parts(found, context))


def document(heading: str, contents: Iterable[str]) -> str:
    """An HTML page with a heading and these parts."""
    parts, title = "\n".join(contents), escape(heading)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{title}</title>\n<style>{STYLE}</style></head>\n'
        f"<body>\n<h1>{title}</h1>\n{parts}\n</body></html>\n"
    )


def _parts(found: Comparison, context: ReportContext) -> Iterator[str]:
    names = [outcome.name for outcome in found.configurations]
    question = context.question or f"What changes between {' and '.join(names)}?"
    yield f'<p class="question">{escape(question)}</p>'
    yield _verdict(found)
    yield f"<h2>KPIs</h2>{kpi_table(found, context.shown)}"
    yield '<h2>Over time</h2><div class="charts">' + figures(charts.charts(found)) + "</div>"
    gained = _workloads(found)
    if gained:
        yield f"<h2>Who gained, who lost</h2>{gained}"
    views = figures(_views(found))
    if views:
        note = "<p>Each cell is a node, the fullest first; the darker, the fuller.</p>"
        yield f'<h2>The cluster at chosen moments</h2>{note}<div class="charts">{views}</div>'
    yield f"<h2>Configurations</h2>{configurations(context.candidates)}"
    yield f"<h2>How to run it again</h2><pre>{escape(context.command)}</pre>"
    yield (
        f"<footer>Moorage {escape(found.version)}. Curves and moments are of seed "
        f"{found.configurations[0].seeds[0].seed}; intervals are of 95 % confidence, over the same "
        "seeds for every configuration.</footer>"
    )


def _verdict(found: Comparison) -> str:
    sentences = [sentence for pair in words.pairs(found) for sentence in words.verdict(found, pair)]
    if not sentences:
        sentences = [f"{found.configurations[0].name}, on its own: there is nothing to compare."]
    lines = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return f'<section class="verdict" aria-label="verdict">{lines}</section>'


def kpi_table(found: Comparison, shown: Sequence[tuple[str, str]]) -> str:
    """KPIs side by side, with their differences."""
    pairs = words.pairs(found)
    heads = [outcome.name for outcome in found.configurations]
    heads += [f"{second} − {first}" for first, second in pairs]
    cells = "".join(f"<th>{escape(head)}</th>" for head in ("", *heads))
    by_path = {(each.kpi, each.configurations): each for each in found.differences}
    better = {headline.kpi: headline.less_is_better for headline in words.HEADLINES}
    rows = []
    for path, label in shown:
        means = [outcome.intervals.get(path) for outcome in found.configurations]
        row = "".join(f"<td>{'–' if m is None else number(m.mean)}</td>" for m in means)
        row += "".join(_gap(by_path.get((path, pair)), better.get(path)) for pair in pairs)
        rows.append(f"<tr><td>{escape(label)}</td>{row}</tr>")
    return f'<div class="scroll"><table><tr>{cells}</tr>{"".join(rows)}</table></div>'


def _gap(difference: Difference | None, less_is_better: bool | None) -> str:
    if difference is None:
        return "<td></td>"
    low, high = difference.low, difference.high
    between = "" if low is None or high is None else f" [{low:+.3g}, {high:+.3g}]"
    kind = "same"
    if difference.is_significant and less_is_better is not None:
        kind = "better" if (difference.mean < 0) == less_is_better else "worse"
    elif difference.is_significant:
        kind = ""
    return f'<td class="{kind}">{difference.mean:+.4g}{between}</td>'


def figures(drawn: Iterable[tuple[str, str]]) -> str:
    """Drawings with their titles."""
    return "".join(
        f"<figure><figcaption>{escape(title)}</figcaption>{svg}</figure>" for title, svg in drawn
    )


def _workloads(found: Comparison) -> str:
    rows = "".join(
        f"<tr><td>{escape(each.workload)}</td><td>{escape(each.configurations[1])}</td>"
        f'<td class="{"better" if each.verdict == "gained" else "worse"}">{each.verdict}</td>'
        f"<td>{escape(each.kpi)}</td><td>{each.mean:+.4g} [{each.low:+.3g}, {each.high:+.3g}]</td>"
        "</tr>"
        for each in workload_changes(found)
    )
    head = "<tr><th>workload</th><th>with</th><th></th><th>in</th><th>change</th></tr>"
    return f'<div class="scroll"><table>{head}{rows}</table></div>' if rows else ""


def _views(found: Comparison) -> Iterator[tuple[str, str]]:
    """The node strip of every configuration at every moment, moment by moment."""
    moments = zip(*(outcome.seeds[0].views for outcome in found.configurations), strict=False)
    for moment in moments:
        for outcome, (time, fills) in zip(found.configurations, moment, strict=True):
            title = f"{outcome.name}, after {time / 3600:.1f} h: {len(fills)} nodes"
            yield title, charts.node_strip(fills)


def configurations(candidates: Sequence[Candidate]) -> str:
    """The text of the first configuration, and the diff of each other one against it."""
    first = candidates[0]
    parts = [f"<details open><summary>{escape(first.name)}</summary>{_text(first)}</details>"]
    for other in candidates[1:]:
        lines = difflib.unified_diff(
            _lines(first), _lines(other), first.name, other.name, lineterm="", n=2
        )
        changed = "\n".join(lines) or "the same text"
        summary = f"{escape(other.name)} against {escape(first.name)}"
        parts.append(
            f"<details open><summary>{summary}</summary><pre>{escape(changed)}</pre></details>"
        )
    return "".join(parts)


def _text(candidate: Candidate) -> str:
    return f"<pre>{escape(chr(10).join(_lines(candidate)))}</pre>"


def _lines(candidate: Candidate) -> list[str]:
    return candidate.text.decode(errors="replace").splitlines() or ["# kube-scheduler's default"]


def number(value: float) -> str:
    """A number for display."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
