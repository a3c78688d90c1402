"""The tables of upstream's cases in docs/scheduler-perf.md, and their summary in performance.md."""

import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from string import ascii_uppercase
from typing import Any, Final

BEGIN: Final = "<!-- bench-perf: written by make bench-perf -->"
END: Final = "<!-- /bench-perf -->"
HEAD: Final = (
    "| case | nodes, pods | kube-scheduler pods/s | Moorage pods/s | ratio "
    "| of bind-only | of the limit | CPU ms/pod | attempts/pod | average, p50, p90, p99 of samples "
    "| attempt p99 ms | MB | upstream's threshold |"
)
SUMMARY_HEAD: Final = (
    "| topic | workloads | times as fast: least, median, most "
    "| CPU per pod, of kube-scheduler's: least, median, most |"
)
SMALL_HEAD: Final = "| case | nodes, pods | pods/s of both | CPU ms/pod | MB |"
BUSY_HEAD: Final = "| case | nodes, pods | CPU ms/pod of both | kube-scheduler's of Moorage's |"
ENOUGH: Final = 100
"""Fewer pods than that are over before anything can be said of a ratio."""
SCHEDULERS: Final = ("kube-scheduler", "moorage")
MOST_OTHERS: Final = 0.1
"""The part of the machine that others may use without spoiling a figure."""
NEARLY: Final = 0.85
"""The part of the limit that is as good as all of it."""
KEEPING_UP: Final = 0.95
"""The part of the pods that come; whoever schedules that many waits for them."""
FIRST: Final = -15
"""A run as urgent as that gets the machine before all others, however many want it."""
Row = dict[str, Any]
"""One workload: its `case`, and by scheduler the figures or a fault."""


def table(rows: Iterable[Row]) -> list[str]:
    """Workloads with enough pods to compare how fast both are."""
    rows = list(rows)
    return _table(_compared(rows), _marks(rows))


def tables(rows: Iterable[Row]) -> list[str]:
    """The same, with a table for each topic under its heading."""
    rows = list(rows)
    lines: list[str] = []
    for topic, group in _topics(rows):
        lines += [f"### {topic}", "", *_table(group, _marks(rows)), ""]
    return lines


def summary_table(rows: Iterable[Row]) -> list[str]:
    """A line for each topic: how many times as fast Moorage is, and its part of the CPU."""
    lines = [SUMMARY_HEAD, "|" + "---|" * 4]
    return lines + [_summary_line(topic, group) for topic, group in _topics(rows)]


def small_table(rows: Iterable[Row]) -> list[str]:
    """Workloads that are over at once."""
    lines = [SMALL_HEAD, "|" + "---|" * 5]
    return lines + [_small_line(row) for row in rows if _is_told(row) and not _is_large(row)]


def busy_table(rows: Iterable[Row]) -> list[str]:
    """Workloads that both carried out beside other work: CPU alone, which others touch least."""
    lines = [BUSY_HEAD, "|" + "---|" * 4]
    told = (row for row in rows if _is_measured(row) and was_busy(row) and _is_large(row))
    return lines + [_busy_line(row) for row in told]


def verdict(rows: Iterable[Row]) -> str:
    """How many of the large workloads are fast enough, and cost half."""
    told = _compared(rows)
    if not told:
        return ""
    twice = sum(ratio(row) >= 2 for row in told)
    fast = sum(map(is_fast, told))
    waiting = sum(keeps_up(row) and not is_fast(row) for row in told)
    told_waiting = f"{waiting} more schedule pods as fast as they come, " if waiting else ""
    slower = sum(ratio(row) < 1 for row in told)
    half = sum(cpu_ratio(row) >= 2 for row in told)
    return (
        f"Of {len(told)} workloads {twice} are at least twice as fast, {fast - twice} more reach "
        f"{NEARLY:.0%} of bind-only or of the limit, {told_waiting}and {slower} are slower; "
        f"{half} cost at most half of the CPU per pod."
    )


def machine() -> str:
    """What a reader has to know of the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB"


def provenance(rows: Sequence[Row]) -> str:
    """When the figures were measured, and on what; each machine with its mark, where several."""
    found = _dated(rows)
    dates = sorted({figures["date"] for figures in found})
    marks = _marks(rows)
    machines = [f"{mark}: {machine}" if mark else machine for machine, mark in marks.items()]
    days = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "undated"
    return f"{days}, {'; '.join(machines)}" if machines else days


def _dated(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [row[name] for row in rows for name in SCHEDULERS if "date" in row.get(name, {})]


def _marks(rows: Iterable[Row]) -> dict[str, str]:
    """A letter for each machine, or none where there is but one."""
    machines = sorted({figures["machine"] for figures in _dated(rows)})
    letters = ascii_uppercase if len(machines) > 1 else [""] * len(machines)
    return dict(zip(machines, letters, strict=False))


def _processor() -> str:
    known = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return known[1] if known else platform.machine()


def carried_out(rows: Iterable[Row]) -> list[str]:
    """Workloads without figures: others had more use for the machine than it could give."""
    return [row["case"] for row in rows if _is_measured(row) and was_busy(row)]


def faults(rows: Iterable[Row]) -> list[str]:
    """Workloads that one of the two could not carry out, and why; and what the other did."""
    failed = ((row["case"], _faults(row)) for row in rows)
    return [f"- {case}: {'; '.join(told)}" for case, told in failed if told]


def ratio(row: Row) -> float:
    """How many times as fast Moorage is."""
    peer, ours = (row[name]["overall"] for name in SCHEDULERS)
    return float(ours / peer) if peer else 0.0


def cpu_ratio(row: Row) -> float:
    """How many times as much CPU a pod costs kube-scheduler."""
    peer, ours = (row[name]["cpu_per_pod"] for name in SCHEDULERS)
    return float(peer / ours) if ours else 0.0


def cpu_share(row: Row) -> float:
    """What a pod costs Moorage, as a part of what it costs kube-scheduler."""
    peer, ours = (row[name]["cpu_per_pod"] for name in SCHEDULERS)
    return float(ours / peer) if peer else 0.0


def limit(row: Row) -> float:
    """Pods per second at which all others need every core; 0 where that was not measured."""
    rest = [row[name].get("rest_per_pod", 0.0) for name in SCHEDULERS]
    return row["cores"] * 1000 / min(rest) if all(rest) else 0.0


def bind_only(row: Row) -> float:
    """Pods per second that were bound by whoever decides nothing; 0 where that was not measured,
    or while others used the machine: a low one would flatter."""
    if ran_beside_others(row, "bind-only"):
        return 0.0
    return float(row.get("bind-only", {}).get("overall", 0.0))


def arriving(row: Row) -> float:
    """The pods per second that came, with the scheduler that let more of them come."""
    return float(max(row[name].get("arriving", 0.0) for name in SCHEDULERS))


def keeps_up(row: Row) -> bool:
    """Whether Moorage schedules pods as they come, so that nobody could be faster.

    Or as they can be scheduled: then the workload, all of it, hardly waited for the scheduler.
    """
    came, ours = arriving(row), row["moorage"]
    hardly_waited = ours.get("waited", 1.0) <= 1 - KEEPING_UP
    return hardly_waited or bool(came and ours["overall"] >= KEEPING_UP * came)


def is_fast(row: Row) -> bool:
    """Whether Moorage is twice as fast, or nearly as fast as the API server allows."""
    ours, bounds = row["moorage"]["overall"], (bind_only(row), limit(row))
    return ratio(row) >= 2 or any(bound and ours >= NEARLY * bound for bound in bounds)


def was_busy(row: Row) -> bool:
    """Whether others used the machine while either of the two ran."""
    return any(ran_beside_others(row, name) for name in SCHEDULERS)


def ran_beside_others(row: Row, scheduler: str) -> bool:
    """Whether others used much of the machine meanwhile, and the run did not go before them."""
    others = row.get(scheduler, {}).get("others", 0.0)
    return float(others) > MOST_OTHERS and row.get("nice", 0) > FIRST


def _compared(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if _is_told(row) and _is_large(row)]


def _topics(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """Upstream's folders, each with the workloads that are compared."""

    def topic(row: Row) -> str:
        return str(row["topic"])

    found = sorted(_compared(rows), key=topic)
    return [(name, list(group)) for name, group in groupby(found, topic)]


def _table(rows: Iterable[Row], marks: Mapping[str, str]) -> list[str]:
    return [HEAD, "|" + "---|" * 13, *(_line(row, marks) for row in rows)]


def _summary_line(topic: str, rows: Sequence[Row]) -> str:
    def spread(figures: Sequence[float], shown: Callable[[float], str]) -> str:
        return ", ".join(shown(of(figures)) for of in (min, median, max))

    fast = spread([ratio(row) for row in rows], lambda times: f"{times:.1f}")
    cpu = spread([cpu_share(row) for row in rows], lambda part: f"{part:.0%}")
    return f"| {topic} | {len(rows)} | {fast} | {cpu} |"


def _is_told(row: Row) -> bool:
    return _is_measured(row) and not was_busy(row)


def _is_large(row: Row) -> bool:
    return bool(min(row[name]["pods"] for name in SCHEDULERS) >= ENOUGH)


def _faults(row: Row) -> list[str]:
    found = {name: row[name] for name in SCHEDULERS if name in row}
    if not any("fault" in figures for figures in found.values()):
        return []
    return [f"{name}: {_told(figures)}" for name, figures in found.items()]


def _told(figures: dict[str, Any]) -> str:
    """Why it is not done; or how fast, and at which cost."""
    if "fault" in figures:
        return str(figures["fault"])
    return f"{figures['overall']:.0f} pods/s, {figures['cpu_per_pod']:.1f} ms of CPU for each"


def _is_measured(row: Row) -> bool:
    """Whether both have carried it out."""
    return all(name in row and "fault" not in row[name] for name in SCHEDULERS)


def _pair(row: Row, key: str, digits: int = 0) -> str:
    peer, ours = (row[name] for name in SCHEDULERS)
    return f"{peer[key]:.{digits}f} / {ours[key]:.{digits}f}"


def _size(row: Row) -> str:
    return f"{row['nodes']:,}, {row['pods']:,}"


def _line(row: Row, marks: Mapping[str, str]) -> str:
    peer, ours = row["kube-scheduler"], row["moorage"]
    keys = ("average", "p50", "p90", "p99") if ours["p50"] and peer["p50"] else ()
    bound = limit(row)
    share = [_share(row, bound)] if bound else []
    share += ["as fast as they came"] if keeps_up(row) else []
    cells = (
        " ".join(filter(None, (row["case"], marks.get(ours.get("machine", ""), ""), _runs(ours)))),
        _size(row),
        f"{peer['overall']:.0f}",
        f"{ours['overall']:.0f}",
        f"{ratio(row):.1f}",
        _share(row, bind_only(row)),
        "; ".join(share),
        _pair(row, "cpu_per_pod", 2),
        _pair(row, "attempts_per_pod", 1),
        "; ".join(_pair(row, key) for key in keys),
        _pair(row, "attempt_p99", 1),
        _pair(row, "memory_mb"),
        f"{row['threshold']:.0f}" if row["threshold"] else "",
    )
    return "| " + " | ".join(cells) + " |"


def _runs(figures: dict[str, Any]) -> str:
    """Of how many runs this is the median, and how far those lay apart."""
    runs = figures.get("of_runs", ())
    return f"(median of {len(runs)}: {runs[0]:.0f} to {runs[-1]:.0f})" if runs else ""


def _share(row: Row, bound: float) -> str:
    return f"{row['moorage']['overall'] / bound:.0%} of {bound:.0f}" if bound else ""


def _small_line(row: Row) -> str:
    figures = (_pair(row, "overall"), _pair(row, "cpu_per_pod", 1), _pair(row, "memory_mb"))
    return "| " + " | ".join((row["case"], _size(row), *figures)) + " |"


def _busy_line(row: Row) -> str:
    cells = (row["case"], _size(row), _pair(row, "cpu_per_pod", 2), f"{cpu_ratio(row):.1f}")
    return "| " + " | ".join(cells) + " |"


def write(file: Path, lines: Iterable[str]) -> None:
    """Replace what stands between the markers."""
    text = file.read_text()
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{file} has no {BEGIN} ... {END} to write between")
    block = "\n".join([BEGIN, *lines, END])
    file.write_text(pattern.sub(lambda _: block, text))
