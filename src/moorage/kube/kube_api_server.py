"""`KubeApiServer`: the `ApiServer` protocol over HTTP to a real API server."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec

from moorage.api.decode import UNREADABLE
from moorage.api.lenient_json import decode_any_depth
from moorage.kube import binding_request, response_decoder
from moorage.kube.connection import Connection
from moorage.kube.fence import LeaseFence
from moorage.kube.kubeconfig import SelectedContext
from moorage.kube.request_sender import RequestSender
from moorage.observe.client_metrics import ClientMetrics
from moorage.observe.logs import say
from moorage.watch.api_errors import ApiError, ServerError
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Page, PatchType, Raw, WatchEvent

UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"
SELECTORS: Final[Mapping[str, str]] = {PODS.plural: UNFINISHED}
"""Field selectors of lists and watches: pods that have finished use no resources."""

SILENT_SECONDS: Final = 150.0
"""How long a watch may be silent: a server sends a bookmark about every minute."""
GRACE_SECONDS: Final = 30.0
"""How long a watch without bookmarks may go on after the time at which the server was to end it."""

_PATCHES: Final[dict[PatchType, str]] = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


MOST_EVENT: Final = 64 << 20
"""The most bytes of one event of a watch; etcd stores objects of 1.5 MiB."""


class KubeApiServer:
    """An API server over HTTP.

    `qps` and `burst` limit the rate of requests. Writes that only a leader may make are checked
    against `fence`.
    """

    def __init__(
        self,
        selected: SelectedContext,
        *,
        qps: float = 50.0,
        burst: int = 100,
        request_seconds: float = 30.0,
        selectors: Mapping[str, str] = SELECTORS,
        fence: LeaseFence | None = None,
    ) -> None:
        self._connection = Connection(selected, request_seconds=request_seconds, fence=fence)
        self._selectors = dict(selectors)
        self._sender = RequestSender(self._connection, qps, burst)
        self._unreadable = response_decoder.UnreadableObjects(self.requests.left_out)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return self._connection.url

    @property
    def requests(self) -> ClientMetrics:
        """The metrics of requests."""
        return self._connection.requests

    async def close(self) -> None:
        """Close every connection."""
        await self._connection.close()

    async def list_page(
        self,
        resource: Resource,
        *,
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
    ) -> Page:
        """Objects of all namespaces in order of their keys, at most `limit` (0 for all)."""
        query = self._query(
            resource, limit=limit, **{"continue": continue_token}, resourceVersion=resource_version
        )
        await self._sender.turn(resource)
        return response_decoder.decode_page(
            resource, await self._connection.fetch(resource.path() + query), self._unreadable
        )

    async def list_raw(
        self, resource: Resource, *, limit: int = 0, continue_token: str = ""
    ) -> Raw:
        """One page of a list with its objects as plain dicts, nothing left out."""
        query = self._query(resource, limit=limit, **{"continue": continue_token})
        await self._sender.turn(resource)
        return _raw_list(await self._connection.fetch(resource.path() + query), resource)

    async def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        timeout_seconds: float | None = None,
        bookmarks: bool = True,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Every change after that version, in order.

        A connection that breaks, or falls silent, ends the watch as the server would.
        """
        query = self._query(
            resource,
            watch="1",
            resourceVersion=resource_version,
            timeoutSeconds=int(timeout_seconds) if timeout_seconds else 0,
            allowWatchBookmarks="true" if bookmarks else "",
        )
        await self._sender.turn(resource)
        decode = response_decoder.decoder_for(resource)
        silent = SILENT_SECONDS if bookmarks else (timeout_seconds or 0.0) + GRACE_SECONDS
        async with self._connection.stream(resource.path() + query, silent) as stream:
            rest = b""
            while True:
                try:
                    chunk = await stream.readany()
                except OSError:
                    return
                if not chunk:
                    return
                lines = (rest + chunk).split(b"\n")
                rest = lines.pop()
                if len(rest) > MOST_EVENT:
                    said = f"an event of more than {MOST_EVENT:,} bytes"
                    raise ServerError(f"a watch of {resource.plural} sends {said}")
                for line in lines:
                    event = response_decoder.decode_watch_event(
                        resource, decode, line, self._unreadable
                    )
                    if event is not None:
                        yield event

    async def get(self, resource: Resource, namespace: str, name: str) -> Raw:
        """The object as it is now; without a name, the list of all."""
        body = await self._sender.repeat(resource, "GET", resource.path(namespace, name))
        return _raw(body, resource) if name else _raw_list(body, resource)

    async def create(self, resource: Resource, object: Raw) -> Raw:
        """Create the object, in the namespace its metadata names; the answer is as stored."""
        return _raw(await self._post(resource, object), resource)

    async def post(self, resource: Resource, object: Raw) -> None:
        """Create the object; the answer is not read."""
        await self._post(resource, object)

    async def _post(self, resource: Resource, object: Raw) -> bytes:
        path = resource.path(object["metadata"].get("namespace", ""))
        return await self._sender.once(resource, "POST", path, object)

    async def update(self, resource: Resource, object: Raw, *, subresource: str = "") -> Raw:
        """Replace the object."""
        metadata = object["metadata"]
        path = resource.path(metadata.get("namespace", ""), metadata["name"], subresource)
        return _raw(await self._sender.once(resource, "PUT", path, object), resource)

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
        """Change the object by a JSON merge patch or a strategic merge patch."""
        path = resource.path(namespace, name, subresource)
        body = await self._sender.once(resource, "PATCH", path, patch, _PATCHES[patch_type])
        return _raw(body, resource)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace_period_seconds: int | None = None,
    ) -> None:
        """Delete the object, or begin its graceful deletion."""
        send = self._sender.repeat if uid else self._sender.once
        options = _delete_options(uid, grace_period_seconds)
        await send(resource, "DELETE", resource.path(namespace, name), options)

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Bind the pod to the node; if the answer is lost, the pod is read.

        An API server adds a Binding's annotations to the pod, so they need no right to patch pods.
        """
        path = PODS.path(namespace, name, "binding")
        metadata: Raw = {"namespace": namespace, "name": name, "uid": uid}
        if annotations:
            metadata["annotations"] = dict(annotations)
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }

        async def ask() -> None:
            await self._sender.once(PODS, "POST", path, body)

        async def look() -> Raw:
            return await self.get(PODS, namespace, name)

        def told(error: ApiError) -> None:
            found = {"pod": f"{namespace}/{name}", "node": node, "err": str(error)}
            say(logging.WARNING, "Whether a pod is bound cannot be found out yet", **found)

        await binding_request.bind_exactly_once(ask, look, uid, node, asyncio.sleep, told)

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        """Change the pod's status by a strategic merge patch, if its uid is still `uid`."""
        body = {**patch, "metadata": {"uid": uid}} if uid else patch
        path = PODS.path(namespace, name, "status")
        await self._sender.repeat(PODS, "PATCH", path, body, _PATCHES["strategic"])

    async def evict(
        self, namespace: str, name: str, *, uid: str = "", grace_period_seconds: int | None = None
    ) -> None:
        """Evict the pod, if its disruption budget allows it."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": namespace, "name": name},
            "deleteOptions": _delete_options(uid, grace_period_seconds),
        }
        await self._sender.send(PODS, "POST", PODS.path(namespace, name, "eviction"), body)

    def _query(self, resource: Resource, **parameters: object) -> str:
        parameters["fieldSelector"] = resource.selector or self._selectors.get(resource.plural, "")
        given = {key: value for key, value in parameters.items() if value}
        return f"?{urlencode(given)}" if given else ""


def _delete_options(uid: str, grace_period_seconds: int | None) -> Raw:
    options: Raw = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if uid:
        options["preconditions"] = {"uid": uid}
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    return options


def _raw_list(body: bytes, resource: Resource) -> Raw:
    return _with("items", body, resource, "list")


def _raw(body: bytes, resource: Resource) -> Raw:
    found = _with("metadata", body, resource, "object")
    if not isinstance(found["metadata"], dict):
        raise _no_answer(resource, "object")
    return found


def _with(field: str, body: bytes, resource: Resource, what: str) -> Raw:
    try:
        found = decode_any_depth(msgspec.json.decode, body)
    except UNREADABLE:
        found = None
    if not isinstance(found, dict) or field not in found:
        raise _no_answer(resource, what)
    return found


def _no_answer(resource: Resource, what: str) -> ServerError:
    return ServerError(
        f"the answer for {resource.qualified} is no {what}: is this the address of an API "
        "server, with no proxy or login page in between?"
    )
