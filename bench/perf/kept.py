"""What was measured, kept for each workload and scheduler: a run that was interrupted goes on."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from bench.perf import module, report

FILE: Final = module.ROOT / "bench" / "perf" / "measured.jsonl"
Row = dict[str, Any]


def rows(file: Path = FILE) -> list[Row]:
    """One for each workload, as it was measured last."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def keep(row: Row, file: Path = FILE) -> None:
    """Remember a row beside what is known of its workload; whole, or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    known = {each["case"]: each for each in rows(file)}
    known[row["case"]] = {**known.get(row["case"], {}), **row}
    new = file.with_suffix(".new")
    new.write_text("".join(json.dumps(each) + "\n" for each in known.values()))
    new.rename(file)


def middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The run whose pods per second are the median; one that was not carried out, if any was not.

    Of an even number of runs the slower one."""
    failed = next((run for run in runs if "fault" in run), None)
    if failed is not None or len(runs) == 1:
        return failed or runs[0]
    ordered = sorted(runs, key=lambda run: float(run["overall"]))
    return {**ordered[(len(runs) - 1) // 2], "of_runs": [run["overall"] for run in ordered]}


def missing(row: Row | None, schedulers: Iterable[str]) -> list[str]:
    """The schedulers that are still to be measured: not yet, not to the end, or beside others."""
    if row is None:
        return list(schedulers)
    return [
        name
        for name in schedulers
        if name not in row or "fault" in row[name] or report.ran_beside_others(row, name)
    ]


def seconds(row: Row | None, scheduler: str) -> float | None:
    """How long a workload took with a scheduler, if it was run before."""
    return None if row is None else row.get(scheduler, {}).get("seconds")
