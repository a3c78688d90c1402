"""Runs upstream's scheduler_perf with kube-scheduler and with Moorage; see `make bench-perf`."""

import argparse
import datetime
import json
import os
import platform
import pstats
import re
import sys
from pathlib import Path
from typing import Any

from bench.perf import cases, ceiling, module, report, run
from bench.perf.cases import Workload
from bench.perf.ceiling import Ceiling
from bench.perf.schedulers import SCHEDULERS
from moorage import __version__
from tests.integration.control_plane import MISSING, assets

KEPT = module.ROOT / "build" / "bench-perf.jsonl"
PAGE = module.ROOT / "docs" / "performance.md"


def main() -> int:
    given = _arguments()
    programs = assets()
    if programs is None:
        sys.exit(MISSING)
    chosen = [w for w in cases.read(module.scheduler_perf()) if _is_chosen(w, given)]
    if given.resume:
        done = {row["case"] for row in _kept() if all(_is_measured(row, n) for n in SCHEDULERS)}
        chosen = [w for w in chosen if w.key not in done]
    if given.list:
        for workload in chosen:
            print(workload.topic, workload.key, ",".join(sorted(workload.labels)))
        return 0
    raw = ceiling.measure(programs) if given.ceiling else ceiling.Ceiling()
    if given.ceiling:
        print(json.dumps({"ceiling": {k: round(v) for k, v in raw._asdict().items()}}), flush=True)
    failed = [w.key for w in chosen if not _both(programs, w, given, raw)]
    if given.write:
        report.write(PAGE, _page())
    print(f"{len(chosen) - len(failed)} of {len(chosen)} workloads carried out")
    print("".join(f"  failed: {key}\n" for key in failed), end="")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.perf", description=__doc__)
    parser.add_argument("--case", default="", help="a regular expression over case/workload")
    parser.add_argument("--label", action="append", help="integration-test, performance, short")
    parser.add_argument("--nodes", type=int, default=5000, help="leave out larger ones")
    parser.add_argument("--pods", type=int, default=12_000, help="leave out larger ones")
    parser.add_argument("--scheduler", action="append", choices=SCHEDULERS)
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one workload")
    parser.add_argument("--profile", default="", help="write Moorage's profile to this file")
    parser.add_argument("--no-ceiling", dest="ceiling", action="store_false")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument("--resume", action="store_true", help="leave out what was run before")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    given.label = given.label or ["integration-test"]
    given.scheduler = given.scheduler or list(SCHEDULERS)
    return given


def _is_chosen(workload: Workload, given: argparse.Namespace) -> bool:
    return (
        re.search(given.case, f"{workload.topic}/{workload.key}") is not None
        and bool(workload.labels & {*given.label} or "any" in given.label)
        and workload.nodes <= given.nodes
        and workload.pods <= given.pods
    )


def _both(programs: Path, workload: Workload, given: argparse.Namespace, raw: Ceiling) -> bool:
    """Run a workload with each scheduler; whether all of them carried it out."""
    row: dict[str, Any] = {
        "case": workload.key,
        "topic": workload.topic,
        "nodes": workload.nodes,
        "pods": workload.pods,
        "threshold": workload.threshold,
        "raw": round(raw.bindings),
        "raw_pods": round(raw.pods),
        "load": round(os.getloadavg()[0], 1),
        "nice": _niceness(),
    }
    for name in given.scheduler:
        outcome = run.run(programs, workload, name, given.timeout, given.profile)
        row[name] = _figures(outcome)
    print(json.dumps(row), flush=True)
    if not given.profile:
        _keep(row)
    elif Path(given.profile).exists():
        pstats.Stats(given.profile).sort_stats("tottime").print_stats(45)
    return all("fault" not in row[name] for name in given.scheduler)


def _niceness() -> int:
    """How much this process leaves to others: by its own word or its session's, the weaker one."""
    file = Path("/proc/self/autogroup")
    found = re.search(r"nice (-?\d+)", file.read_text()) if file.exists() else None
    return max(os.nice(0), int(found[1]) if found else os.nice(0))


def _figures(outcome: run.Outcome) -> dict[str, Any]:
    """The figures of the last collection, rounded, or the fault."""
    if outcome.fault or not outcome.figures:
        return {"fault": outcome.fault or "nothing was measured"}
    found = outcome.figures[-1]
    throughput = {key: round(value, 1) for key, value in found.throughput._asdict().items()}
    rest = {k: round(v, 2) for k, v in found._asdict().items() if k != "throughput"}
    return {**throughput, **rest}


def _keep(row: dict[str, Any]) -> None:
    """Remember the last run of each workload."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    rows = {kept["case"]: kept for kept in _kept()}
    rows[row["case"]] = {**rows.get(row["case"], {}), **row}
    KEPT.write_text("".join(json.dumps(kept) + "\n" for kept in rows.values()))


def _kept() -> list[dict[str, Any]]:
    if not KEPT.exists():
        return []
    return [json.loads(line) for line in KEPT.read_text().splitlines()]


def _is_measured(row: dict[str, Any], scheduler: str) -> bool:
    return scheduler in row and "fault" not in row[scheduler]


def _page() -> list[str]:
    rows = sorted(_kept(), key=lambda row: (row["topic"], row["case"]))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines = [
        f"{today}: Kubernetes {module.version()}, Moorage {__version__}, Python "
        f"{platform.python_version()}; {report.machine()}, which etcd, kube-apiserver and the "
        "workload share." + _limits(rows),
        "",
    ]
    for table in (report.table(rows), report.small_table(rows)):
        lines += [*table, ""] if len(table) > 2 else []
    busy = report.carried_out(rows)
    if busy:
        lines += [
            f"{len(busy)} more workloads were carried out by both while the machine was busy with "
            "other work; of those no figures are told.",
            "",
        ]
    told = report.faults(rows)
    if told:
        lines += ["Not carried out:", "", *told, ""]
    return lines


def _limits(rows: list[dict[str, Any]]) -> str:
    """What the API server bore in the runs of these rows."""
    bindings = [row["raw"] for row in rows if row.get("raw")]
    if not bindings:
        return ""
    return (
        f" The API server alone binds {max(bindings):.0f} pods per second at best that "
        "are there already; its limit in the table is that of the same run, for pods that are "
        "created, bound and told of in an event at once, by a client that decides nothing."
    )


if __name__ == "__main__":
    sys.exit(main())
