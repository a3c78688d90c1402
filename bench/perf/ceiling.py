"""What the API server bears where nobody has to decide anything."""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from bench.perf.client import Client, Raw, many
from bench.perf.operations import BASE_NODE, BASE_POD
from bench.perf.pods import Pods
from bench.perf.run import control_plane
from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from tests.integration.control_plane import ControlPlane

PODS: Final = 2000
NODES: Final = 100


class Ceiling(NamedTuple):
    """Per second: bindings of pods that are there; pods that are created, bound and told of."""

    bindings: float = 0.0
    pods: float = 0.0


def measure(programs: Path) -> Ceiling:
    """Requests of thirty at once, each an answer of the API server."""
    with (
        tempfile.TemporaryDirectory() as home,
        control_plane(programs, Path(home) / "plane", None) as plane,
    ):
        return asyncio.run(_measure(plane))


async def _measure(plane: ControlPlane) -> Ceiling:
    server = KubeApiServer(kubeconfig.load_kubeconfig([plane.kubeconfig]), qps=0, selectors={})
    client = Client(plane, server)

    async def node(index: int) -> None:
        await client.create({**BASE_NODE, "metadata": {"name": f"node-{index}"}})

    following = asyncio.ensure_future(Pods().follow(client))
    try:
        await many(NODES, node)
        return Ceiling(await _bindings(client), await _pods(client))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await server.close()


async def _bindings(client: Client) -> float:
    made: list[Raw] = []

    async def create(index: int) -> None:
        made.append(await _create(client, f"bound-{index}"))

    async def bind(index: int) -> None:
        await _bind(client, made[index], index)

    await many(PODS, create)
    began = time.monotonic()
    await many(PODS, bind)
    return PODS / (time.monotonic() - began)


async def _pods(client: Client) -> float:
    """Creation goes on by thirty at once, and binding by thirty more."""
    made: asyncio.Queue[Raw] = asyncio.Queue()

    async def create(index: int) -> None:
        made.put_nowait(await _create(client, f"scheduled-{index}"))

    async def schedule(index: int) -> None:
        pod = await made.get()
        await _bind(client, pod, index)
        await client.create(_event(pod), "default")

    began = time.monotonic()
    await asyncio.gather(many(PODS, create), many(PODS, schedule))
    return PODS / (time.monotonic() - began)


async def _create(client: Client, name: str) -> Raw:
    return await client.create({**BASE_POD, "metadata": {"name": name}}, "default")


async def _bind(client: Client, pod: Raw, index: int) -> None:
    metadata = pod["metadata"]
    await client.bind("default", metadata["name"], metadata["uid"], f"node-{index % NODES}")


def _event(pod: Raw) -> Raw:
    name = pod["metadata"]["name"]
    regarding = {"kind": "Pod", "namespace": "default", "name": name, "apiVersion": "v1"}
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.event"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": f"Successfully assigned default/{name}",
        "regarding": regarding,
        "reportingController": "nobody",
        "reportingInstance": "nobody",
    }
