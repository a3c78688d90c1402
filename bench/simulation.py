"""Measures simulations: the openb trace, a million arrivals, a week of Philly, a large cluster in
YAML; a JSON line each. `cpu_s` is of all processes, and says most on a machine that others use.
`split` tells how much of a run is attempts, and how much the simulator's own work.

python bench/simulation.py [--traces FOLDER] [--arrivals N]
                           [--only openb|million|split|philly|manifests]

"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import manifests
import yaml
from gpu_trace import lacking

from moorage.batching.quick_attempt import QuickAttempts
from moorage.simulate import sweep
from moorage.simulate.candidate import Candidate
from moorage.simulate.direct_engine import DirectEngine
from moorage.simulate.scenario import Scenario
from moorage.simulate.scenario_file import read_scenario_file
from moorage.simulate.scenario_run import run_scenario

TRACES = Path(__file__).resolve().parents[1] / ".traces"
NEEDED = {
    "openb": ("openb_node_list_gpu_node.csv.gz", "openb_pod_list_default.csv.gz"),
    "philly": ("philly_jobs_pollux.csv.gz",),
}
SEEDS = range(42, 52)
NODES, SECONDS = 5000, 100_000.0
SPLIT_ARRIVALS = 20_000


def _scenario(**parts: Any) -> Scenario:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(yaml.safe_dump({"apiVersion": "moorage/v1", "kind": "Scenario", **parts}))
        return read_scenario_file(str(file))


def _candidates() -> list[Candidate]:
    """Six configurations: how nodes are filled, and by which resources."""
    made = [Candidate("kube-default")]
    gpu = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
    for strategy in ("LeastAllocated", "MostAllocated"):
        for label, resources in (
            ("cpu", gpu[:1]),
            ("cpu-memory", gpu),
            ("gpu", [*gpu, {"name": "moorage/gpu-milli", "weight": 5}]),
        ):
            args = {"scoringStrategy": {"type": strategy, "resources": resources}}
            config = {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}],
            }
            text = yaml.safe_dump(config).encode()
            made.append(Candidate(f"{strategy}-{label}", "bench", text))
    return made[:6]


def openb(traces: Path, arrivals: int) -> dict[str, Any]:
    """Ten seeds of six configurations, as the published experiments go."""
    nodes = {"file": str(traces / "openb_node_list_gpu_node.csv.gz"), "format": "openb"}
    pods = {
        "file": str(traces / "openb_pod_list_default.csv.gz"), "format": "openb", "protocol": "fgd",
    }  # fmt: skip
    played = _scenario(cluster={"tables": [nodes]}, arrivals={"traces": [pods]})
    tasks = sweep.tasks_of(_candidates(), list(SEEDS))
    began = time.perf_counter()
    with sweep.local_executor(2, played) as executor:
        results, _ = sweep.run_all(played, tasks, executor)
    seconds = time.perf_counter() - began
    pods_played = sum(result.kpis["pods"] for found in results.values() for result in found)
    return {"runs": len(tasks), "pods": pods_played, "target_s": 60, "seconds": seconds}


def _coming_and_going(arrivals: int) -> Scenario:
    """Pods that come and go on 5,000 nodes."""
    shapes = [
        {
            "name": "small",
            "weight": 6,
            "cpu": "500m",
            "memory": "1Gi",
            "runs": {"meanSeconds": 2000},
        },
        {"name": "middle", "weight": 3, "cpu": "2", "memory": "4Gi", "runs": {"meanSeconds": 3000}},
        {"name": "large", "weight": 1, "cpu": "8", "memory": "16Gi", "runs": {"meanSeconds": 4000}},
    ]
    generator = {"seconds": SECONDS, "perHour": arrivals / SECONDS * 3600, "pods": shapes}
    shape = {"name": "n", "count": NODES, "cpu": "16", "memory": "64Gi"}
    return _scenario(cluster={"nodes": [shape]}, arrivals={"generators": [generator]})


def million(traces: Path, arrivals: int) -> dict[str, Any]:
    """A million of them, on one core."""
    played = _coming_and_going(arrivals)
    began = time.perf_counter()
    result = run_scenario(played, Candidate("kube-default"), 1)
    seconds = time.perf_counter() - began
    return {"pods": result.kpis["pods"], "target_s": 600, "seconds": seconds}


class _AttemptTimer:
    """Adds up the CPU time of attempts, from the queue to the node."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.attempts = 0

    def around(self, attempt: Callable[..., None]) -> Callable[..., None]:
        def timed(*given: Any) -> None:
            began = time.thread_time()
            attempt(*given)
            self.seconds += time.thread_time() - began
            self.attempts += 1

        return timed


def _timed_run(played: Scenario, *, in_full: bool) -> tuple[float, _AttemptTimer]:
    """The CPU time of a run and of its attempts; `in_full`, as the scheduler makes them."""
    timer = _AttemptTimer()
    attempt, totals = DirectEngine._attempt, QuickAttempts.totals
    DirectEngine._attempt = timer.around(attempt)  # type: ignore[method-assign]
    if in_full:
        QuickAttempts.totals = lambda self, info: None  # type: ignore[method-assign]
    try:
        began = time.thread_time()
        run_scenario(played, Candidate("kube-default"), 1)
        return time.thread_time() - began, timer
    finally:
        DirectEngine._attempt, QuickAttempts.totals = attempt, totals  # type: ignore[method-assign]


def split(traces: Path, arrivals: int) -> dict[str, Any]:
    """What an attempt takes, quick and in full, and what the simulator adds to it."""
    began = time.perf_counter()
    played = _coming_and_going(min(arrivals, SPLIT_ARRIVALS))
    spent, quick = _timed_run(played, in_full=False)
    spent_in_full, full = _timed_run(played, in_full=True)
    own = (spent - quick.seconds) / quick.attempts
    in_full = full.seconds / full.attempts
    return {
        "attempts": quick.attempts,
        "attempt_us": round(quick.seconds / quick.attempts * 1e6, 1),
        "attempt_in_full_us": round(in_full * 1e6, 1),
        "simulator_us": round(own * 1e6, 1),
        "simulator_of_attempt": round((spent_in_full - full.seconds) / full.seconds, 2),
        "target_of_attempt": 0.5,
        "seconds": time.perf_counter() - began,
    }


def philly(traces: Path, arrivals: int) -> dict[str, Any]:
    """A week of jobs, each a gang."""
    trace = {
        "file": str(traces / "philly_jobs_pollux.csv.gz"), "format": "philly",
        "start": "2017-10-09", "seconds": 604_800,
    }  # fmt: skip
    shape = {"name": "gpu", "count": 300, "cpu": "64", "memory": "512Gi", "gpu": 8}
    played = _scenario(cluster={"nodes": [shape]}, arrivals={"traces": [trace]})
    began = time.perf_counter()
    result = run_scenario(played, Candidate("kube-default"), 1)
    return {
        "pods": result.kpis["pods"], "gangs": result.kpis["gangs"],
        "attempts_per_pod": result.kpis["attempts_per_pod"],
        "target_s": 30, "seconds": time.perf_counter() - began,
    }  # fmt: skip


def large_manifests(traces: Path, arrivals: int) -> dict[str, Any]:
    """`moorage simulate` of 5,000 nodes and 20,000 pods as kubectl prints them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.yaml"
        manifests.write(file, NODES, 20_000)
        began = time.perf_counter()
        command = [sys.executable, "-m", "moorage", "simulate", str(file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"pods": 20_000, "target_s": 10, "seconds": seconds, "child_rss_mb": round(peak, 1)}


def cpu_seconds() -> float:
    """What this process and those it has waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


KINDS: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    "philly": philly,
    "openb": openb,
    "million": million,
    "split": split,
    "manifests": large_manifests,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--arrivals", type=int, default=1_000_000)
    parser.add_argument("--only", choices=KINDS)
    given = parser.parse_args()
    for kind, measure in KINDS.items():
        if given.only not in (None, kind):
            continue
        if lacks := lacking(given.traces, NEEDED.get(kind, ())):
            print(json.dumps({"kind": kind, "skipped": lacks}))
            continue
        cpu = cpu_seconds()
        found = measure(given.traces, given.arrivals)
        found["seconds"] = round(found["seconds"], 1)
        found["cpu_s"] = round(cpu_seconds() - cpu, 1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"kind": kind, **found, "peak_rss_mb": round(peak, 1)}), flush=True)


if __name__ == "__main__":
    main()
