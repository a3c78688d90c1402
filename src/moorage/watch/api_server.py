"""The `ApiServer` protocol: the calls a scheduler makes to an API server, real or embedded."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, Protocol

import msgspec

from moorage.api.meta import KubeObject
from moorage.watch.api_errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    VersionTooLarge,
)
from moorage.watch.api_resources import RESOURCES, Resource

__all__ = [
    "RESOURCES",
    "AlreadyExists",
    "ApiError",
    "ApiServer",
    "BadRequest",
    "Conflict",
    "EventType",
    "Forbidden",
    "Gone",
    "Invalid",
    "NotFound",
    "Page",
    "PatchType",
    "Raw",
    "Resource",
    "ServerError",
    "TooManyRequests",
    "Unauthorized",
    "Unreachable",
    "VersionTooLarge",
    "WatchEvent",
]

Raw = dict[str, Any]
"""A whole object, or a patch, as decoded JSON."""

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
PatchType = Literal["merge", "strategic"]


class Page(msgspec.Struct, frozen=True):
    """Some objects as of `resource_version`; if `continue_token` is set, more follow."""

    items: tuple[KubeObject, ...]
    resource_version: str
    continue_token: str = ""


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One change. A bookmark has no object: all changes up to its version have been sent."""

    type: EventType
    object: KubeObject | None
    resource_version: str


class ApiServer(Protocol):
    """An API server. Every call may raise an `ApiError`."""

    async def list_page(
        self,
        resource: Resource,
        *,
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
    ) -> Page:
        """Objects of all namespaces in order of their keys, at most `limit` (0 for all).

        All pages of one list have the same version. `Gone` if the token has expired.
        """
        ...

    def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        timeout_seconds: float | None = None,
        bookmarks: bool = True,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Every change after that version, in order, until the server ends the watch.

        `Gone` if that version is no longer kept, or the reader has fallen too far behind.
        """
        ...

    async def get(self, resource: Resource, namespace: str, name: str) -> Raw:
        """The object as it is now."""
        ...

    async def create(self, resource: Resource, object: Raw) -> Raw:
        """Create the object in the namespace of its metadata; the object as stored."""
        ...

    async def post(self, resource: Resource, object: Raw) -> None:
        """Create the object; returns nothing."""
        ...

    async def update(self, resource: Resource, object: Raw, *, subresource: str = "") -> Raw:
        """Replace the object. `Conflict` if its `resourceVersion` is not the current one."""
        ...

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
        ...

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace_period_seconds: int | None = None,
    ) -> None:
        """Delete the object. `Conflict` if `uid` is given and the object has another one."""
        ...

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Bind the pod to the node, and add annotations to it at that moment.

        `Conflict` if it is another pod, bound, or being deleted.
        """
        ...

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        """Change the pod's status by a strategic merge patch, if its uid is still `uid`."""
        ...

    async def evict(
        self, namespace: str, name: str, *, uid: str = "", grace_period_seconds: int | None = None
    ) -> None:
        """Evict the pod. `TooManyRequests` if its disruption budget does not allow it."""
        ...
