"""The table of upstream's cases in docs/performance.md."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

BEGIN: Final = "<!-- bench-perf: written by make bench-perf -->"
END: Final = "<!-- /bench-perf -->"
HEAD: Final = (
    "| case | nodes, pods | kube-scheduler pods/s | Moorage pods/s | ratio | p50, p90, p99 of both"
    " | attempt p99 ms | CPU ms/pod | MB | upstream's threshold |"
)
ENOUGH: Final = 100
"""Fewer pods than that are over before anything can be said of a ratio."""
SCHEDULERS: Final = ("kube-scheduler", "moorage")
BUSY_LOAD: Final = 1.0 + (os.cpu_count() or 1)
Row = dict[str, Any]
"""One workload: its `case`, and by scheduler the figures or a fault."""


def table(rows: Iterable[Row]) -> list[str]:
    lines = [HEAD, "|" + "---|" * 10]
    return lines + [_line(row) for row in rows if _is_measured(row) and not was_busy(row)]


def carried_out(rows: Iterable[Row]) -> list[str]:
    """Workloads without figures: others had more use for the machine than it could give."""
    return [row["case"] for row in rows if _is_measured(row) and was_busy(row)]


def faults(rows: Iterable[Row]) -> list[str]:
    """Workloads that could not be carried out, and why."""
    return [f"- {row['case']}: {text}" for row in rows for text in _faults(row)]


def ratio(row: Row) -> float:
    """How many times as fast Moorage is."""
    peer, ours = (row[name]["average"] for name in SCHEDULERS)
    return float(ours / peer) if peer else 0.0


def was_busy(row: Row) -> bool:
    """Whether others wanted more of the machine than there is, before the workload began."""
    return float(row.get("load", 0.0)) > BUSY_LOAD


def _faults(row: Row) -> list[str]:
    found = {name: row[name] for name in SCHEDULERS if name in row}
    return [f"{name}: {figures['fault']}" for name, figures in found.items() if "fault" in figures]


def _is_measured(row: Row) -> bool:
    """Whether both have carried it out."""
    return all(name in row and "fault" not in row[name] for name in SCHEDULERS)


def _line(row: Row) -> str:
    peer, ours = row["kube-scheduler"], row["moorage"]

    def pair(key: str, digits: int = 0) -> str:
        return f"{peer[key]:.{digits}f} / {ours[key]:.{digits}f}"

    percentiles = "; ".join(pair(key) for key in ("p50", "p90", "p99")) if ours["p50"] else ""
    cells = (
        row["case"],
        f"{row['nodes']:,}, {row['pods']:,}",
        f"{peer['average']:.0f}",
        f"{ours['average']:.0f}",
        f"{ratio(row):.1f}" if min(peer["pods"], ours["pods"]) >= ENOUGH else "",
        percentiles,
        pair("attempt_p99", 1),
        pair("cpu_per_pod", 2),
        pair("memory_mb"),
        f"{row['threshold']:.0f}" if row["threshold"] else "",
    )
    return "| " + " | ".join(cells) + " |"


def write(file: Path, lines: Iterable[str]) -> None:
    """Replace what stands between the markers."""
    text = file.read_text()
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{file} has no {BEGIN} ... {END} to write between")
    block = "\n".join([BEGIN, *lines, END])
    file.write_text(pattern.sub(lambda _: block, text))
