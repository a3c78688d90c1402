"""Moorage and kube-scheduler on a real API server: pods per second, CPU per pod.

For each size and kind: pods wait in the API server, a scheduler starts, and its bindings are
watched. What counts is from the first binding to the last; CPU is the scheduler's own, until its
last event has arrived. One JSON line each; etcd, kube-apiserver and this script share the machine,
so pods per second say what this machine can do, CPU per pod what the scheduler costs.
"""

import argparse
import asyncio
import contextlib
import json
import os
import pstats
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from moorage.api.pod import Pod  # noqa: E402 found in this tree
from moorage.bench import workload_kinds  # noqa: E402
from moorage.kube import kubeconfig  # noqa: E402
from moorage.kube.kube_api_server import KubeApiServer  # noqa: E402
from moorage.watch.api_resources import EVENTS, NODES, PODS  # noqa: E402
from moorage.watch.api_server import WatchEvent  # noqa: E402
from tests.integration.control_plane import (  # noqa: E402
    MISSING,
    ControlPlane,
    assets,
    free_ports,
)

KINDS = ("basic", "varied", "spread", "antiaffinity")
SIZES = (1000, 5000)
SCHEDULERS = ("moorage", "kube-scheduler")
NAMESPACE = workload_kinds.NAMESPACE
AT_ONCE = 32
QUIET_SECONDS = 2.0
TIMEOUT_SECONDS = 300.0
TICKS = os.sysconf("SC_CLK_TCK")
FLAGS = ("--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000")
MOORAGE = "from moorage.cli.main import main; main()"
PROFILED = """
import cProfile, time
profile = cProfile.Profile(time.thread_time)
try:
    profile.run({!r})
finally:
    profile.dump_stats({!r})
"""


class Result(msgspec.Struct, frozen=True):
    """One line of output.

    `api_cpu_ms_per_pod` is what kube-apiserver and etcd spend; `start_s` is from the start of the
    process to its first binding.
    """

    scheduler: str
    kind: str
    nodes: int
    pods: int
    scheduled: int
    events: int
    pods_per_s: float
    cpu_ms_per_pod: float
    api_cpu_ms_per_pod: float
    start_s: float
    peak_rss_mb: float


class Bindings:
    """Notes when pods are bound and how many events there are."""

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.events = 0
        self.first = self.last = self.last_event = 0.0

    async def watch_pods(self, server: KubeApiServer) -> None:
        async for event in _followed(server, PODS):
            pod = event.object
            if isinstance(pod, Pod) and pod.spec.node_name and pod.name not in self.bound:
                self.bound.add(pod.name)
                self.last = time.monotonic()
                self.first = self.first or self.last

    async def watch_events(self, server: KubeApiServer) -> None:
        async for event in _followed(server, EVENTS):
            self.events += event.type == "ADDED"
            self.last_event = time.monotonic()


async def _followed(server: KubeApiServer, resource: Any) -> AsyncIterator[WatchEvent]:
    version = (await server.list_page(resource, limit=1)).resource_version
    while True:
        async for event in server.watch(resource, resource_version=version):
            version = event.resource_version
            yield event


async def create_all(server: KubeApiServer, resource: Any, objects: Iterator[Any]) -> None:
    async def worker() -> None:
        for obj in objects:
            raw = msgspec.to_builtins(obj)
            raw["metadata"].pop("uid", None)
            await server.create(resource, raw)

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


def cpu_seconds(*pids: int) -> float:
    """What these processes have used so far, by Linux's account."""
    stats = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids)
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / TICKS


class Running:
    """A scheduler in a process of its own."""

    def __init__(self, name: str, plane: ControlPlane, profile: str) -> None:
        self.name = name
        self._profile = profile
        config = plane.home / f"{name}.yaml"
        connection = {"kubeconfig": str(plane.kubeconfig), "qps": 10_000, "burst": 10_000}
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": connection,
        }
        config.write_text(yaml.safe_dump(document))
        with open(plane.home / f"{name}.log", "wb") as log:
            self.process = subprocess.Popen(
                self._command(plane, config), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _command(self, plane: ControlPlane, config: Path) -> list[str]:
        (port,) = free_ports(1)
        if self.name == "kube-scheduler":
            access = f"--authorization-kubeconfig={plane.kubeconfig}"
            return [
                str(plane.programs / self.name),
                f"--config={config}",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                f"--authentication-kubeconfig={plane.kubeconfig}",
                access,
            ]
        code = PROFILED.format(MOORAGE, self._profile) if self._profile else MOORAGE
        return [sys.executable, "-c", code, "run", f"--config={config}", "--secure-port=0"]

    def peak_rss_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM if self._profile else signal.SIGKILL)
        self.process.wait()


async def measure(
    plane: ControlPlane,
    server: KubeApiServer,
    name: str,
    kind: str,
    size: tuple[int, int],
    profile: str,
) -> Result:
    nodes, pods = size
    plane.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods?gracePeriodSeconds=0")
    plane.request("DELETE", f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events")
    await create_all(server, PODS, (workload_kinds.pod(kind, index) for index in range(pods)))
    seen = Bindings()
    watches = [
        asyncio.ensure_future(seen.watch_pods(server)),
        asyncio.ensure_future(seen.watch_events(server)),
    ]
    await asyncio.sleep(QUIET_SECONDS)
    running = Running(name, plane, profile)
    try:
        began = time.monotonic()
        before, api_before = await cpu_at_first(seen, running, began, plane.pids)
        await _until_quiet(seen, pods, began)
        cpu = cpu_seconds(running.process.pid) - before
        api_cpu = cpu_seconds(*plane.pids) - api_before
        rss = running.peak_rss_mb()
    finally:
        running.stop()
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
    done = len(seen.bound)
    return Result(
        scheduler=name,
        kind=kind,
        nodes=nodes,
        pods=pods,
        scheduled=done,
        events=seen.events,
        pods_per_s=round((done - 1) / (seen.last - seen.first), 1),
        cpu_ms_per_pod=round(cpu / done * 1000, 3),
        api_cpu_ms_per_pod=round(api_cpu / done * 1000, 3),
        start_s=round(seen.first - began, 2),
        peak_rss_mb=round(rss, 1),
    )


async def cpu_at_first(
    seen: Bindings, running: Running, began: float, api: list[int]
) -> tuple[float, float]:
    """What the scheduler, and its API server, had used by the first binding."""
    used = (0.0, 0.0)
    while not seen.bound:
        used = (cpu_seconds(running.process.pid), cpu_seconds(*api))
        if running.process.poll() is not None or time.monotonic() - began > TIMEOUT_SECONDS:
            sys.exit(f"{running.name} does not schedule")
        await asyncio.sleep(0.005)
    return used


async def _until_quiet(seen: Bindings, pods: int, began: float) -> None:
    while time.monotonic() - began < TIMEOUT_SECONDS:
        quiet = time.monotonic() - max(seen.last, seen.last_event)
        if quiet > QUIET_SECONDS * (1 if len(seen.bound) == pods else 5):
            return
        await asyncio.sleep(0.05)


async def main(arguments: argparse.Namespace, programs: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        for nodes in arguments.nodes:
            with ControlPlane(programs, Path(home) / str(nodes), *FLAGS) as plane:
                server = KubeApiServer(
                    kubeconfig.load_kubeconfig([plane.kubeconfig]), qps=0, selectors={}
                )
                with contextlib.suppress(asyncio.CancelledError):
                    await create_all(server, NODES, iter(workload_kinds.nodes("basic", nodes)))
                    for kind in arguments.kinds:
                        for name in arguments.schedulers:
                            profile = arguments.profile if name == "moorage" else ""
                            size = (nodes, arguments.pods)
                            result = await measure(plane, server, name, kind, size, profile)
                            print(json.dumps(msgspec.to_builtins(result)), flush=True)
                await server.close()


def words(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", type=words, default=list(KINDS))
    parser.add_argument("--schedulers", type=words, default=list(SCHEDULERS))
    parser.add_argument(
        "--nodes", type=lambda text: [int(word) for word in words(text)], default=list(SIZES)
    )
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--profile", default="", help="write Moorage's profile to this file")
    given = parser.parse_args()
    found = assets()
    if found is None:
        sys.exit(MISSING)
    asyncio.run(main(given, found))
    if given.profile:
        pstats.Stats(given.profile, stream=sys.stderr).sort_stats("tottime").print_stats(40)
