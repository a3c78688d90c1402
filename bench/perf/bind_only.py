"""A scheduler that decides nothing: each pod goes to the next node as soon as it is heard of.

What it reaches is what an API server bears that is asked as Moorage asks it: pods are watched,
each is bound, and an event tells of it. Where the next node is full, pods of less priority that are
there leave first, as pods do that are preempted: marked, deleted and told of, while the one they
leave for says so in its status. Nothing else is looked at: pods are bound where they could not run.
"""

import argparse
import asyncio
import itertools
import time
from typing import Any, Final

from bench.perf.follow import follow
from bench.perf.room import Room
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.bind import status_patches
from moorage.bind.event_recorder import micro_time
from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import EVENTS, NODES, PODS

READY: Final = "serving"
"""What it says once it is there."""
NAME: Final = "bind-only"


class Binder:
    """Binds pods to the nodes that are known, in turn."""

    def __init__(self, server: KubeApiServer) -> None:
        self._server = server
        self._room = Room()
        self._turns = itertools.count()
        self._seen: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def follow_nodes(self) -> None:
        async for event in follow(self._server, NODES):
            if isinstance(event.object, Node):
                self._room.put_node(event.object)

    async def follow_pods(self) -> None:
        async for event in follow(self._server, PODS):
            pod = event.object
            if not isinstance(pod, Pod):
                continue
            if event.type == "DELETED":
                self._room.remove(pod)
            elif pod.spec.node_name:
                self._room.put(pod, pod.spec.node_name)
            elif self._is_to_be_bound(pod):
                self._begin(pod)

    def _is_to_be_bound(self, pod: Pod) -> bool:
        waits = bool(pod.spec.scheduling_gates or pod.is_terminating)
        return not waits and pod.uid not in self._seen and bool(self._room.nodes)

    def _begin(self, pod: Pod) -> None:
        self._seen.add(pod.uid)
        nodes = self._room.nodes
        node = nodes[next(self._turns) % len(nodes)]
        victims = self._room.make(pod, node)
        self._room.put(pod, node)
        task = asyncio.create_task(self._bind(pod, node, victims))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _bind(self, pod: Pod, node: str, victims: list[Pod]) -> None:
        try:
            if victims:
                await self._make_room(pod, node, victims)
            await self._server.bind(pod.namespace, pod.name, pod.uid, node)
            note = f"Successfully assigned {pod.key} to {node}"
            await self._server.post(EVENTS, _event(pod, "Scheduled", note))
        except ApiError as error:
            print(f"{pod.key}: {error}", flush=True)

    async def _make_room(self, pod: Pod, node: str, victims: list[Pod]) -> None:
        nominated = status_patches.nomination_patch(node)
        await self._server.patch_pod_status(pod.namespace, pod.name, nominated, pod.uid)
        await self._server.post(EVENTS, _event(pod, "FailedScheduling", "pods leave for it"))
        await asyncio.gather(*map(self._evict, victims))
        await self._room.until_gone(victims)

    async def _evict(self, victim: Pod) -> None:
        where = victim.namespace, victim.name
        marked = status_patches.disruption_target_patch(victim, NAME, time.time())
        await self._server.patch_pod_status(*where, marked, victim.uid)
        await self._server.delete(PODS, *where, uid=victim.uid)
        await self._server.post(EVENTS, _event(victim, "Preempted", "makes room"))


def _event(pod: Pod, reason: str, note: str) -> dict[str, Any]:
    now = time.time()
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{pod.name}.{int(now * 1e9):x}", "namespace": pod.namespace},
        "eventTime": micro_time(now),
        "reportingController": NAME,
        "reportingInstance": NAME,
        "type": "Normal",
        "reason": reason,
        "action": "Binding",
        "note": note,
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
