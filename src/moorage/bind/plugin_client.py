"""The API client for Reserve, PreBind and Bind plugins."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from moorage.clock import Clock
from moorage.watch.api_server import RESOURCES, ApiServer, Resource

_LOOK_EVERY: Final = 0.1
"""Seconds between two calls of `check`."""


class PluginClient:
    """Calls the API server by resource name, with plain dicts as objects.

    `served` maps a plural name to the served version of an optional resource.
    """

    def __init__(
        self, server: ApiServer, clock: Clock, served: Mapping[str, Resource] | None = None
    ) -> None:
        self._server = server
        self._clock = clock
        self._served = {} if served is None else served

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        await self._server.bind(namespace, name, uid, node, annotations)

    async def get(self, resource: str, namespace: str, name: str) -> dict[str, Any]:
        return await self._server.get(self._resource(resource), namespace, name)

    async def patch(
        self,
        resource: str,
        namespace: str,
        name: str,
        patch: dict[str, Any],
        *,
        subresource: str = "",
    ) -> dict[str, Any]:
        where = self._resource(resource)
        return await self._server.patch(where, namespace, name, patch, subresource=subresource)

    async def create(self, resource: str, obj: dict[str, Any]) -> dict[str, Any]:
        return await self._server.create(self._resource(resource), obj)

    async def update(self, resource: str, obj: dict[str, Any]) -> dict[str, Any]:
        return await self._server.update(self._resource(resource), obj)

    def _resource(self, plural: str) -> Resource:
        """The resource in the version that is served."""
        return self._served.get(plural) or RESOURCES[plural]

    async def wait_until(self, check: Callable[[], bool], seconds: float) -> bool:
        """Call `check` repeatedly until it returns True; False after `seconds`."""
        deadline = self._clock.now() + seconds
        while not check():
            if self._clock.now() >= deadline:
                return False
            await self._clock.sleep(min(_LOOK_EVERY, seconds))
        return True
