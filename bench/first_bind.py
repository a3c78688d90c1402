"""How long a scheduler takes from the start of its process to its first binding.

    .venv/bin/python bench/first_bind.py --nodes 5000 --runs 3

A pod waits in a real API server beside the nodes; each scheduler is started some times, and the
best run counts. Moorage's modules are compiled first, as those of a wheel and of the image are,
also where PYTHONDONTWRITEBYTECODE is set. One JSON line each: `cpu_s` is what the scheduler itself
had used by then, `api_cpu_s` what kube-apiserver and etcd spent meanwhile. On a busy machine
compare these.
"""

import argparse
import asyncio
import compileall
import json
import sys
import tempfile
import time
from pathlib import Path

import kube
from kube import Bindings, Running

from moorage.bench import workload_kinds
from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from moorage.watch.api_resources import NODES, PODS
from tests.integration.control_plane import MISSING, ControlPlane, assets

PODS_PATH = f"/api/v1/namespaces/{kube.NAMESPACE}/pods?gracePeriodSeconds=0"


async def first_bind(plane: ControlPlane, server: KubeApiServer, name: str) -> dict[str, float]:
    """Start a scheduler with one pod waiting; seconds until it is bound."""
    plane.request("DELETE", PODS_PATH)
    await kube.create_all(server, PODS, iter([workload_kinds.pod("basic", 0)]))
    seen = Bindings()
    watch = asyncio.ensure_future(seen.watch_pods(server))
    await asyncio.sleep(kube.QUIET_SECONDS)
    api_before = kube.cpu_seconds(*plane.pids)
    running = Running(name, plane, "")
    began = time.monotonic()
    try:
        cpu, api_cpu = await kube.cpu_at_first(seen, running, began, plane.pids)
    finally:
        running.stop()
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
    return {
        "first_bind_s": round(seen.first - began, 2),
        "cpu_s": round(cpu, 2),
        "api_cpu_s": round(api_cpu - api_before, 2),
    }


async def main(arguments: argparse.Namespace, programs: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as home,
        ControlPlane(programs, Path(home) / "plane", *kube.FLAGS) as plane,
    ):
        context = kubeconfig.load_kubeconfig([plane.kubeconfig])
        server = KubeApiServer(context, qps=0, selectors={})
        nodes = iter(workload_kinds.nodes("basic", arguments.nodes))
        await kube.create_all(server, NODES, nodes)
        for name in arguments.schedulers:
            runs = [await first_bind(plane, server, name) for _ in range(arguments.runs)]
            best = min(runs, key=lambda run: run["first_bind_s"])
            print(json.dumps({"scheduler": name, "nodes": arguments.nodes, **best}), flush=True)
        await server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedulers", type=kube.words, default=list(kube.SCHEDULERS))
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    found = assets()
    if found is None:
        sys.exit(MISSING)
    compileall.compile_dir(kube.ROOT / "src", quiet=1)
    asyncio.run(main(given, found))
