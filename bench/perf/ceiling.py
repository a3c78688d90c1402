"""How many bindings per second the API server bears where nobody has to decide anything."""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.perf.client import Client, many
from bench.perf.operations import BASE_NODE, BASE_POD
from bench.perf.run import control_plane
from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from tests.integration.control_plane import ControlPlane

PODS: Final = 2000
NODES: Final = 100


def bindings_per_second(programs: Path) -> float:
    """Bindings of pods that are there, thirty at once, each an answer of the API server."""
    with (
        tempfile.TemporaryDirectory() as home,
        control_plane(programs, Path(home) / "plane", None) as plane,
    ):
        return asyncio.run(_measure(plane))


async def _measure(plane: ControlPlane) -> float:
    server = KubeApiServer(kubeconfig.load_kubeconfig([plane.kubeconfig]), qps=0, selectors={})
    client = Client(plane, server)
    uids: dict[int, str] = {}

    async def node(index: int) -> None:
        await client.create({**BASE_NODE, "metadata": {"name": f"node-{index}"}})

    async def pod(index: int) -> None:
        made = await client.create({**BASE_POD, "metadata": {"name": f"pod-{index}"}}, "default")
        uids[index] = made["metadata"]["uid"]

    async def bind(index: int) -> None:
        await client.bind("default", f"pod-{index}", uids[index], f"node-{index % NODES}")

    try:
        await many(NODES, node)
        await many(PODS, pod)
        began = time.monotonic()
        await many(PODS, bind)
        return PODS / (time.monotonic() - began)
    finally:
        await server.close()
