"""A scheduler that decides nothing: each pod goes to the next node as soon as it is heard of.

What it reaches is what an API server bears that is asked as Moorage asks it: pods are watched,
each is bound, and an event tells of it. It reads no node but for its name, keeps nothing, and binds
pods where they could not run.
"""

import argparse
import asyncio
import itertools
import time
from typing import Any, Final

from bench.perf.follow import follow
from moorage.api.pod import Pod
from moorage.bind.event_recorder import micro_time
from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import EVENTS, NODES, PODS

READY: Final = "serving"
"""What it says once it is there."""


class Binder:
    """Binds pods to the nodes that are known, in turn."""

    def __init__(self, server: KubeApiServer) -> None:
        self._server = server
        self._nodes: list[str] = []
        self._known: set[str] = set()
        self._turns = itertools.count()
        self._seen: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def follow_nodes(self) -> None:
        async for event in follow(self._server, NODES):
            if event.object is not None and event.object.name not in self._known:
                self._known.add(event.object.name)
                self._nodes.append(event.object.name)

    async def follow_pods(self) -> None:
        async for event in follow(self._server, PODS):
            pod = event.object
            if isinstance(pod, Pod) and event.type != "DELETED" and self._is_to_be_bound(pod):
                self._seen.add(pod.uid)
                node = self._nodes[next(self._turns) % len(self._nodes)]
                task = asyncio.create_task(self._bind(pod, node))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _is_to_be_bound(self, pod: Pod) -> bool:
        waits = bool(pod.spec.node_name or pod.spec.scheduling_gates or pod.is_terminating)
        return not waits and pod.uid not in self._seen and bool(self._nodes)

    async def _bind(self, pod: Pod, node: str) -> None:
        try:
            await self._server.bind(pod.namespace, pod.name, pod.uid, node)
            await self._server.post(EVENTS, _event(pod, node))
        except ApiError as error:
            print(f"{pod.key}: {error}", flush=True)


def _event(pod: Pod, node: str) -> dict[str, Any]:
    now = time.time()
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{pod.name}.{int(now * 1e9):x}", "namespace": pod.namespace},
        "eventTime": micro_time(now),
        "reportingController": "bind-only",
        "reportingInstance": "bind-only",
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": f"Successfully assigned {pod.key} to {node}",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": pod.uid,
            "resourceVersion": pod.metadata.resource_version,
        },
    }


async def _run(path: str) -> None:
    server = KubeApiServer(kubeconfig.load_kubeconfig([path]), qps=0)
    binder = Binder(server)
    async with asyncio.TaskGroup() as group:
        group.create_task(binder.follow_nodes())
        group.create_task(binder.follow_pods())
        print(READY, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.perf.bind_only", description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    asyncio.run(_run(parser.parse_args().kubeconfig))


if __name__ == "__main__":
    main()
