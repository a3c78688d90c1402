"""How many pods per second the API server binds where nobody has to decide anything."""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.perf.client import Client, Raw, many
from bench.perf.operations import BASE_NODE, BASE_POD
from bench.perf.pods import Pods
from bench.perf.run import control_plane
from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from tests.integration.control_plane import ControlPlane

PODS: Final = 2000
NODES: Final = 100


def measure(programs: Path) -> float:
    """Bindings per second of pods that are there already, thirty at once."""
    with (
        tempfile.TemporaryDirectory() as home,
        control_plane(programs, Path(home) / "plane", None) as plane,
    ):
        return asyncio.run(_measure(plane))


async def _measure(plane: ControlPlane) -> float:
    server = KubeApiServer(kubeconfig.load_kubeconfig([plane.kubeconfig]), qps=0, selectors={})
    client = Client(plane, server)

    async def node(index: int) -> None:
        await client.create({**BASE_NODE, "metadata": {"name": f"node-{index}"}})

    following = asyncio.ensure_future(Pods().follow(client))
    try:
        await many(NODES, node)
        return await _bindings(client)
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


async def _create(client: Client, name: str) -> Raw:
    return await client.create({**BASE_POD, "metadata": {"name": name}}, "default")


async def _bind(client: Client, pod: Raw, index: int) -> None:
    metadata = pod["metadata"]
    await client.bind("default", metadata["name"], metadata["uid"], f"node-{index % NODES}")
