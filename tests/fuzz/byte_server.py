"""An API server that serves whatever bytes it is given; they are decoded as from a real one."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec

from moorage.api.decode import UNREADABLE
from moorage.kube.response_decoder import decode_watch_event, decoder_for
from moorage.watch.api_errors import NotFound
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Page, PatchType, Raw, WatchEvent


class ByteServer:
    """Lists are empty; watches send lines. Every write succeeds, and bindings come back."""

    def __init__(self) -> None:
        self._lines: dict[str, asyncio.Queue[bytes]] = defaultdict(asyncio.Queue)
        self._pods: dict[str, Raw] = {}
        self._version = 1_000_000

    def send(self, resource: Resource, line: bytes) -> None:
        """Let the watch of a resource say this."""
        self._lines[resource.qualified].put_nowait(line)
        if resource.plural == PODS.plural:
            self._remember(line)

    async def list_page(
        self,
        resource: Resource,
        *,
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
    ) -> Page:
        return Page((), "1")

    async def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        timeout_seconds: float | None = None,
        bookmarks: bool = True,
    ) -> AsyncGenerator[WatchEvent, None]:
        decode, lines = decoder_for(resource), self._lines[resource.qualified]
        while True:
            event = decode_watch_event(resource, decode, await lines.get())
            if event is not None:
                yield event

    async def get(self, resource: Resource, namespace: str, name: str) -> Raw:
        raise NotFound(f"{resource.qualified} {name!r} not found")

    async def create(self, resource: Resource, object: Raw) -> Raw:
        return object

    async def post(self, resource: Resource, object: Raw) -> None:
        msgspec.json.encode(object)

    async def update(self, resource: Resource, object: Raw, *, subresource: str = "") -> Raw:
        return object

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Raw,
        *,
        subresource: str = "",
        patch_type: PatchType = "merge",
    ) -> Raw:
        return patch

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace_period_seconds: int | None = None,
    ) -> None:
        self._change("DELETED", namespace, name, {})

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self._change("MODIFIED", namespace, name, {"nodeName": node})

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        msgspec.json.encode(patch)

    async def evict(
        self, namespace: str, name: str, *, uid: str = "", grace_period_seconds: int | None = None
    ) -> None:
        self._change("DELETED", namespace, name, {})

    def _remember(self, line: bytes) -> None:
        try:
            raw: Any = msgspec.json.decode(line)["object"]
            self._pods[f"{raw['metadata'].get('namespace')}/{raw['metadata']['name']}"] = raw
        except (*UNREADABLE, LookupError, TypeError, AttributeError):
            return  # not a pod that anybody could bind

    def _change(self, type_: str, namespace: str, name: str, spec: Raw) -> None:
        raw = self._pods.get(f"{namespace or None}/{name}") or self._pods.get(f"{namespace}/{name}")
        if raw is None:
            return
        self._version += 1
        meta = {**raw["metadata"], "resourceVersion": str(self._version)}
        before = raw.get("spec")
        changed = {
            **raw,
            "metadata": meta,
            "spec": {**(before if isinstance(before, dict) else {}), **spec},
        }
        self.send(PODS, msgspec.json.encode({"type": type_, "object": changed}))
