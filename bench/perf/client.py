"""Requests of a workload to the API server: objects of any kind, many at once."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Any, Final

from bench.perf.follow import follow
from moorage.kube.kube_api_server import KubeApiServer
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import WatchEvent
from tests.integration.control_plane import ControlPlane

Raw = dict[str, Any]
AT_ONCE: Final = 30
"""As many as upstream creates at once."""
CLUSTER_WIDE: Final = frozenset(
    [
        "Namespace",
        "Node",
        "PersistentVolume",
        "StorageClass",
        "CSINode",
        "PriorityClass",
        "DeviceClass",
        "ResourceSlice",
        "DeviceTaintRule",
    ]
)


def resource_of(obj: Raw) -> Resource:
    """The resource that objects of this kind are served as."""
    group, _, version = obj["apiVersion"].rpartition("/")
    kind: str = obj["kind"]
    plural = kind.lower() + ("es" if kind.endswith("ss") else "s")
    return Resource(group, version, plural, kind, kind not in CLUSTER_WIDE)


class Client:
    """An API server as the administrator sees it."""

    def __init__(self, plane: ControlPlane, server: KubeApiServer) -> None:
        self._plane = plane
        self._server = server

    async def create(self, obj: Raw, namespace: str = "") -> Raw:
        resource = resource_of(obj)
        if resource.namespaced:
            obj = {**obj, "metadata": {**obj.get("metadata", {}), "namespace": namespace}}
        return await self._server.create(resource, obj)

    async def update(self, obj: Raw, namespace: str, subresources: Iterable[str] = ("",)) -> None:
        """Replace an object, or parts of it, whatever version it has by now."""
        resource = resource_of(obj)
        metadata = {**obj["metadata"], **({"namespace": namespace} if namespace else {})}
        for subresource in subresources:
            await self._server.update(
                resource, {**obj, "metadata": metadata}, subresource=subresource
            )

    async def patch(self, obj: Raw, patch: Raw) -> None:
        await self._server.patch(resource_of(obj), "", obj["metadata"]["name"], patch)

    async def patch_status(self, obj: Raw, status: Raw) -> None:
        metadata = obj["metadata"]
        where = (metadata.get("namespace", ""), metadata["name"])
        change = {"status": status}
        await self._server.patch(resource_of(obj), *where, change, subresource="status")

    async def delete(self, obj: Raw, grace_seconds: int | None = None) -> None:
        metadata = obj["metadata"]
        await self._server.delete(
            resource_of(obj),
            metadata.get("namespace", ""),
            metadata["name"],
            grace_period_seconds=grace_seconds,
        )

    async def delete_all(self, path: str) -> None:
        await asyncio.to_thread(self._plane.request, "DELETE", path)

    async def count(self, path: str) -> int:
        """How many objects there are, by the server's own count."""
        page = await asyncio.to_thread(self._plane.request, "GET", f"{path}?limit=1")
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))

    async def list(self, resource: Resource) -> Any:
        return await self._server.list_page(resource)

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        await self._server.bind(namespace, name, uid, node)

    def follow(self, resource: Resource) -> AsyncGenerator[WatchEvent, None]:
        """Every object there is, and every change from then on."""
        return follow(self._server, resource)


async def many(count: int, make: Callable[[int], Awaitable[Any]]) -> None:
    """Do something `count` times, some of it at once."""
    indices = iter(range(count))

    async def worker() -> None:
        for index in indices:
            await make(index)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(count, AT_ONCE)):
            group.create_task(worker())
