"""An API server that keeps no more than it must: objects that are there, as bytes for watches."""

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.watch.api_resources import PODS, Resource
from tests.fuzz.byte_server import ByteServer

Raw = dict[str, Any]


class ByteCluster(ByteServer):
    """Objects come, change and go; each change is sent as the bytes of a watch."""

    def __init__(self) -> None:
        super().__init__()
        self.bound = self.evicted = 0

    def put(self, resource: Resource, raw: Raw, type_: str = "ADDED") -> None:
        """Say that an object is there."""
        self._version += 1
        meta = {**raw["metadata"], "resourceVersion": str(self._version)}
        line = {"type": type_, "object": {**raw, "metadata": meta}}
        self.send(resource, msgspec.json.encode(line))

    def remove(self, resource: Resource, raw: Raw) -> None:
        """Say that an object is gone."""
        if resource is PODS:
            key = f"{raw['metadata']['namespace']}/{raw['metadata']['name']}"
            raw = self._pods.get(key, raw)
        self.put(resource, raw, "DELETED")
        if resource is PODS:
            self._pods.pop(key, None)

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self.bound += 1
        await super().bind(namespace, name, uid, node, annotations)

    async def delete(self, resource: Resource, namespace: str, name: str, **rest: Any) -> None:
        self.evicted += 1
        await super().delete(resource, namespace, name, **rest)
        self._pods.pop(f"{namespace}/{name}", None)
