"""Runs upstream's scheduler_perf with kube-scheduler and with Moorage; see `make bench-perf`."""

import argparse
import datetime
import json
import os
import platform
import pstats
import re
import sys
import time
from pathlib import Path
from typing import Any

from bench.perf import cases, ceiling, kept, module, plan, report, run
from bench.perf.cases import Workload
from bench.perf.contention import Contention
from bench.perf.plan import Budget
from bench.perf.schedulers import BIND_ONLY, SCHEDULERS
from moorage import __version__
from tests.integration.control_plane import MISSING, assets

PAGE = module.ROOT / "docs" / "scheduler-perf.md"
SUMMARY = module.ROOT / "docs" / "performance.md"


def main() -> int:
    given = _arguments()
    sized = (
        cases.with_fewer_pods(workload, given.measured_pods)
        for workload in cases.read(module.scheduler_perf())
    )
    chosen = plan.in_order(workload for workload in sized if _is_chosen(workload, given))
    if given.list:
        for workload in chosen:
            print(workload.topic, workload.key, ",".join(sorted(workload.labels)))
        return 0
    if not chosen:
        sys.exit(
            f"no workload is like that: {_asked(given)}; --label any --list shows all there are"
        )
    programs = assets()
    if programs is None:
        sys.exit(MISSING)
    raw = ceiling.measure(programs) if given.ceiling else 0.0
    if given.ceiling:
        print(json.dumps({"bindings": round(raw)}), flush=True)
    failed, left = _run_all(programs, chosen, given, raw)
    if given.write:
        report.write(PAGE, _page())
        report.write(SUMMARY, _summary())
    done = len(chosen) - len(failed) - len(left)
    print(f"{done} of {len(chosen)} workloads carried out")
    print("".join(f"  failed: {key}\n" for key in failed), end="")
    print("".join(f"  left for the next run with --resume: {key}\n" for key in left), end="")
    return 1 if failed else 0


def _run_all(
    programs: Path, chosen: list[Workload], given: argparse.Namespace, raw: float
) -> tuple[list[str], list[str]]:
    """Run what there is time for; the keys of those that failed, and of those left."""
    budget = Budget(given.minutes)
    known = {row["case"]: row for row in kept.rows()}
    failed, left = [], []
    for number, workload in enumerate(chosen, 1):
        row = known.get(workload.key)
        wanted = [
            name
            for name in given.scheduler
            if name != BIND_ONLY
            or (workload.pods >= report.ENOUGH and plan.binds_at_once(workload))
        ]
        names = kept.missing(row, wanted) if given.resume else wanted
        last = {name: kept.seconds(row, name) for name in names}
        once = sum(plan.expected_seconds(workload, last[name]) for name in names)
        seconds = once * plan.rounds(workload)
        if not budget.has_room(seconds):
            left.append(workload.key)
            continue
        _say(f"[{number}/{len(chosen)}, {budget}] {workload.key}: about {seconds:.0f} s")
        if names and not _each(programs, workload, names, given, raw):
            failed.append(workload.key)
    return failed, left


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.perf", description=__doc__)
    parser.add_argument("--case", default="", help="a regular expression over case/workload")
    parser.add_argument("--label", action="append", help="integration-test, performance, short")
    parser.add_argument("--nodes", type=int, default=5000, help="leave out larger ones")
    parser.add_argument("--pods", type=int, default=12_000, help="leave out larger ones")
    parser.add_argument("--scheduler", action="append", choices=(*SCHEDULERS, BIND_ONLY))
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one workload")
    parser.add_argument("--profile", default="", help="write Moorage's profile to this file")
    parser.add_argument("--no-ceiling", dest="ceiling", action="store_false")
    parser.add_argument(
        "--write",
        action="store_true",
        help="write docs/scheduler-perf.md and the summary of it in docs/performance.md",
    )
    parser.add_argument(
        "--resume", action="store_true", help="leave out what was measured before, undisturbed"
    )
    parser.add_argument(
        "--minutes", type=float, default=0.0, help="begin nothing that would end later than that"
    )
    parser.add_argument(
        "--measured-pods",
        type=int,
        default=0,
        metavar="N",
        help="measure no more pods than that, whatever the workload says",
    )
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    given.label = given.label or ["integration-test"]
    given.scheduler = given.scheduler or [*SCHEDULERS, BIND_ONLY]
    return given


def _asked(given: argparse.Namespace) -> str:
    labels = " or ".join(given.label)
    return f"--case {given.case!r}, {labels}, up to {given.nodes} nodes and {given.pods} pods"


def _is_chosen(workload: Workload, given: argparse.Namespace) -> bool:
    return (
        re.search(given.case, f"{workload.topic}/{workload.key}") is not None
        and bool(workload.labels & {*given.label} or "any" in given.label)
        and workload.nodes <= given.nodes
        and workload.pods <= given.pods
    )


def _each(
    programs: Path,
    workload: Workload,
    schedulers: list[str],
    given: argparse.Namespace,
    raw: float,
) -> bool:
    """Run a workload with each scheduler; whether all of them carried it out."""
    row: dict[str, Any] = {
        "case": workload.key,
        "topic": workload.topic,
        "nodes": workload.nodes,
        "pods": workload.pods,
        "threshold": workload.threshold,
        "nice": _niceness(),
        "cores": os.cpu_count() or 1,
    }
    if given.ceiling:
        row["raw"] = round(raw)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in schedulers}
    for _ in range(1 if given.profile else plan.rounds(workload)):
        for name in schedulers:
            runs[name].append(_measured(programs, workload, name, given))
            row[name] = kept.middle(runs[name])
            if report.ran_beside_others(row, name):
                part = f"{row[name]['others']:.0%} of the machine"
                _say(f"  others used {part} meanwhile: of {name} only the CPU will be told")
            if not given.profile:
                kept.keep({**row, name: row[name]})
    print(json.dumps(row), flush=True)
    if given.profile and Path(given.profile).exists():
        pstats.Stats(given.profile).sort_stats("tottime").print_stats(45)
    return all("fault" not in row[name] for name in schedulers)


def _measured(
    programs: Path, workload: Workload, name: str, given: argparse.Namespace
) -> dict[str, Any]:
    """The figures of one run, and when, where and beside whom it was."""
    began, contention = time.monotonic(), Contention()
    outcome = run.run(programs, workload, name, given.timeout, given.profile)
    return {
        **_figures(outcome),
        "seconds": round(time.monotonic() - began, 1),
        "others": round(contention.others(), 2),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": report.machine(),
    }


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
    rest = {k: round(v, 3) for k, v in found._asdict().items() if k != "throughput"}
    return {**throughput, **rest}


def _rows() -> list[dict[str, Any]]:
    return sorted(kept.rows(), key=lambda row: (row["topic"], row["case"]))


def _summary() -> list[str]:
    """What of the page a reader of docs/performance.md is told."""
    rows = _rows()
    return [*report.summary_table(rows), "", report.verdict(rows), "", _provenance(rows)]


def _page() -> list[str]:
    rows = _rows()
    lines = [_provenance(rows), "", report.verdict(rows), "", *report.tables(rows)]
    small = report.small_table(rows)
    if len(small) > 2:
        lines += [f"### Fewer than {report.ENOUGH} pods", "", *small, ""]
    busy = report.carried_out(rows)
    if busy:
        lines += ["### While the machine was busy", "", _busy(busy), ""]
        table = report.busy_table(rows)
        lines += [*table, ""] if len(table) > 2 else []
    failed = report.faults(rows)
    if failed:
        lines += ["### Not carried out", "", *failed, ""]
    return lines


def _busy(cases: list[str]) -> str:
    return (
        f"{len(cases)} more workloads were carried out by both while the machine was busy with "
        "other work. Of those only the CPU is given, and only where there were enough pods."
    )


def _provenance(rows: list[dict[str, Any]]) -> str:
    """When, where and of what the figures are."""
    bindings = [row["raw"] for row in rows if row.get("raw")]
    bears = (
        f" The API server alone binds {_range(bindings)} existing pods per second."
        if bindings
        else ""
    )
    return (
        f"Measured {report.provenance(rows)}. Kubernetes {module.version()}, Moorage "
        f"{__version__}, Python {platform.python_version()}. etcd, kube-apiserver and the workload "
        f"share the machine.{bears}"
    )


def _range(found: list[float]) -> str:
    low, high = min(found), max(found)
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


if __name__ == "__main__":
    sys.exit(main())
