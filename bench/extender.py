"""Pods per second through an extender, on a real API server.

For each way: pods wait in the API server, a scheduler starts, and its bindings are watched. What
counts is from the first binding to the last. One JSON line each; etcd, kube-apiserver, scheduler,
extender and this script share the machine, so pods per second say what this machine can do, CPU per
pod what scheduler and extender cost.

| way | who schedules | where the rule runs |
|---|---|---|
| alone | kube-scheduler | nowhere |
| names | kube-scheduler | `moorage extender serve`, which follows the cluster |
| loop | kube-scheduler | the same, the rule written for one node at a time |
| nodes | kube-scheduler | `moorage extender serve`, sent whole nodes |
| inside | Moorage | in Moorage |
| asked | Moorage | `moorage extender serve`, asked by Moorage |
"""

import argparse
import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.kube import (  # noqa: E402 found here
    FLAGS,
    NAMESPACE,
    Bindings,
    cpu_seconds,
    create_all,
    words,
)
from moorage.bench import workload_kinds  # noqa: E402
from moorage.kube import kubeconfig  # noqa: E402
from moorage.kube.kube_api_server import KubeApiServer  # noqa: E402
from moorage.watch.api_resources import NODES, PODS  # noqa: E402
from tests.integration.control_plane import (  # noqa: E402
    MISSING,
    ControlPlane,
    assets,
    free_ports,
)
from tests.integration.extending import serving  # noqa: E402

WAYS = ("alone", "names", "loop", "nodes", "inside", "asked")
TIMEOUT_SECONDS = 120.0
QUIET_SECONDS = 1.0
MOORAGE = "from moorage.cli.main import main; main()"
RULE = ROOT / "bench" / "extender_rule.py"


def configuration(plane: ControlPlane, extenders: list[Any], plugins: list[str]) -> dict[str, Any]:
    enabled = [{"name": name} for name in plugins]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(plane.kubeconfig), "qps": 10_000, "burst": 10_000},
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"multiPoint": {"enabled": enabled}},
            }
        ],
        "extenders": extenders,
    }


@contextlib.contextmanager
def scheduler(way: str, plane: ControlPlane, file: Path) -> Iterator[subprocess.Popen[bytes]]:
    (port,) = free_ports(1)
    if way in ("inside", "asked"):
        command = [sys.executable, "-c", MOORAGE, "run", f"--config={file}", "--secure-port=0"]
        command.append(f"--plugin={RULE}")
    else:
        command = [
            str(plane.programs / "kube-scheduler"),
            f"--config={file}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--authentication-kubeconfig={plane.kubeconfig}",
            f"--authorization-kubeconfig={plane.kubeconfig}",
        ]
    with open(plane.home / f"{way}.log", "wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def extenders(way: str, plane: ControlPlane) -> Iterator[tuple[list[Any], list[int]]]:
    """The extender of a way, serving, and its process; none where there is none."""
    if way in ("alone", "inside"):
        yield [], []
        return
    config = plane.home / "extender.yaml"
    rule = "ByNode" if way == "loop" else "ByColumn"
    config.write_text(yaml.safe_dump(configuration(plane, [], [rule])))
    known = [] if way == "nodes" else [f"--kubeconfig={plane.kubeconfig}"]
    given = (f"--config={config}", f"--plugin={RULE}", "--http", *known)
    with serving(plane.home, *given) as extender:
        yield [extender.stanza(ignorable=False, httpTimeout="30s")], [extender.process.pid]
        extender.process.send_signal(signal.SIGTERM)
        extender.process.wait()


async def measure(
    plane: ControlPlane, server: KubeApiServer, way: str, nodes: int, pods: int
) -> dict[str, Any]:
    plane.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods?gracePeriodSeconds=0")
    await create_all(server, PODS, (workload_kinds.pod("varied", index) for index in range(pods)))
    seen = Bindings()
    watch = asyncio.ensure_future(seen.watch_pods(server))
    await asyncio.sleep(QUIET_SECONDS)
    with extenders(way, plane) as (named, served):
        file = plane.home / f"{way}.yaml"
        rules = ["ByColumn"] if way == "inside" else []
        file.write_text(yaml.safe_dump(configuration(plane, named, rules)))
        with scheduler(way, plane, file) as process:
            used = await _used(seen, process, served, pods)
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
    done = len(seen.bound)
    rate = (done - 1) / (seen.last - seen.first) if done > 1 else 0.0
    return {
        "way": way,
        "nodes": nodes,
        "pods": pods,
        "scheduled": done,
        "pods_per_s": round(rate, 1),
        "scheduler_cpu_ms_per_pod": round(used[0] / max(done, 1) * 1000, 2),
        "extender_cpu_ms_per_pod": round(used[1] / max(done, 1) * 1000, 2),
    }


async def _used(
    seen: Bindings, process: "subprocess.Popen[bytes]", served: list[int], pods: int
) -> tuple[float, float]:
    """The CPU seconds of scheduler and extender from the first binding to the last."""
    began, first = time.monotonic(), (0.0, 0.0)
    while len(seen.bound) < pods and time.monotonic() - began < TIMEOUT_SECONDS:
        if process.poll() is not None:
            sys.exit("the scheduler ended")
        if not seen.bound:
            first = (cpu_seconds(process.pid), cpu_seconds(*served))
        await asyncio.sleep(0.02)
    return cpu_seconds(process.pid) - first[0], cpu_seconds(*served) - first[1]


async def main(given: argparse.Namespace, programs: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as home,
        ControlPlane(programs, Path(home), *FLAGS) as plane,
    ):
        server = KubeApiServer(kubeconfig.load_kubeconfig([plane.kubeconfig]), qps=0, selectors={})
        await create_all(server, NODES, iter(workload_kinds.nodes("basic", given.nodes)))
        for way in given.ways:
            print(
                json.dumps(await measure(plane, server, way, given.nodes, given.pods)), flush=True
            )
        await server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ways", type=words, default=list(WAYS))
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=500)
    arguments = parser.parse_args()
    found = assets()
    if found is None:
        sys.exit(MISSING)
    asyncio.run(main(arguments, found))
