"""Charts of a comparison as SVG, drawn by Vega-Altair: no script is needed to look at them."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from moorage.config.field_errors import InputError
from moorage.simulate.comparison import Comparison, Outcome

WIDTH: Final = 420
HEIGHT: Final = 220
COLOURS: Final = ("#2f6db5", "#d9702b", "#3a8f5c", "#8a5aa8", "#b8383b", "#7a6a4f")
_HOUR: Final = 3600.0

Row = dict[str, Any]


def require_altair() -> None:
    """Raise an InputError, before anything is run, if charts cannot be drawn."""
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError:
        message = "a report needs altair and vl-convert: pip install 'moorage[report]'"
        raise InputError([message]) from None


def charts(found: Comparison) -> Iterable[tuple[str, str]]:
    """Every chart that has data: its title, and its SVG."""
    names = [outcome.name for outcome in found.configurations]
    yield "Pods waiting", _lines(_curve(found, "waiting"), names, "pods")
    yield "Nodes in use", _lines(_curve(found, "nodes_in_use"), names, "nodes")
    for resource in _resources(found):
        rows = _curve(found, "allocation", resource)
        yield f"Allocated {resource}", _lines(rows, names, "share", percent=True)
    if any(_mean(outcome, "cost") for outcome in found.configurations):
        yield "Price of nodes in use", _lines(_curve(found, "cost_per_hour"), names, "per hour")
    waits = waits_of(found)
    if waits:
        yield "How long pods wait", _distribution(waits, names)


def _curve(found: Comparison, field: str, within: str = "") -> list[Row]:
    """One curve per configuration, of its first seed, which all configurations share."""
    rows: list[Row] = []
    for outcome in found.configurations:
        for time, moment in outcome.seeds[0].curve:
            value = getattr(moment, field)
            shown = value.get(within, 0.0) if isinstance(value, Mapping) else value
            rows.append({"hours": time / _HOUR, "value": shown, "configuration": outcome.name})
    return rows


def _resources(found: Comparison) -> list[str]:
    shares = found.configurations[0].kpis["allocation"]
    return [name for name, share in shares.items() if share]


def _mean(outcome: Outcome, kpi: str) -> float:
    known = outcome.intervals.get(kpi)
    return known.mean if known else 0.0


def waits_of(found: Comparison) -> list[Row]:
    """The part of pods that waited no longer than so long, over all seeds."""
    rows: list[Row] = []
    for outcome in found.configurations:
        points = sorted(wait for result in outcome.seeds for wait in result.waits)
        step = max(1, len(points) // 200)
        for index in sorted({*range(0, len(points), step), *range(len(points))[-1:]}):
            share = (index + 1) / len(points)
            rows.append({"seconds": points[index], "share": share, "configuration": outcome.name})
    return rows if any(row["seconds"] for row in rows) else []


def _lines(rows: list[Row], names: list[str], unit: str, *, percent: bool = False) -> str:
    import altair as alt

    axis = alt.Axis(format="%", title=None) if percent else alt.Axis(title=unit)
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=1.6)
        .encode(
            x=alt.X("hours:Q", title="hours", axis=alt.Axis(tickCount=6)),
            y=alt.Y("value:Q", axis=axis),
            color=_colour(names),
        )
    )
    return _svg(chart)


def _distribution(rows: list[Row], names: list[str]) -> str:
    import altair as alt

    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=1.6)
        .encode(
            x=alt.X(
                "seconds:Q",
                title="seconds",
                scale=alt.Scale(type="symlog"),
                axis=alt.Axis(tickCount=5),
            ),
            y=alt.Y("share:Q", axis=alt.Axis(format="%", title="pods that waited no longer")),
            color=_colour(names),
        )
    )
    return _svg(chart)


def node_strip(fills: Sequence[float]) -> str:
    """The nodes at one moment as cells, the fullest first; a fuller node is darker."""
    import altair as alt

    side = max(1, math.ceil(math.sqrt(len(fills) * 3)))
    rows = [
        {"column": i % side, "line": i // side, "full": full}
        for i, full in enumerate(sorted(fills, reverse=True))
    ]
    shades = alt.Scale(domain=[0, 1], range=["#e6edf5", "#123a63"])
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_rect(stroke="white", strokeWidth=0.6)
        .encode(
            x=alt.X("column:O", axis=None),
            y=alt.Y("line:O", axis=None),
            color=alt.Color("full:Q", scale=shades, legend=None),
        )
    )
    lines = math.ceil(len(fills) / side)
    return _svg(chart, height=max(20.0, min(HEIGHT, WIDTH / side * lines)))


def _colour(names: list[str]) -> Any:
    import altair as alt

    colours = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
    scale = alt.Scale(domain=names, range=colours)
    return alt.Color("configuration:N", scale=scale, legend=alt.Legend(title=None, orient="top"))


def _svg(chart: Any, height: float = HEIGHT) -> str:
    import vl_convert

    spec = (
        chart.properties(width=WIDTH, height=height, background="transparent")
        .configure(font="sans-serif")
        .configure_axis(labelFontSize=12, titleFontSize=12, gridColor="#e3e6ea")
        .configure_legend(labelFontSize=13)
        .configure_view(stroke=None)
        .to_json()
    )
    svg: str = vl_convert.vegalite_to_svg(spec)
    return re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"', r"<svg \1", svg, count=1)
