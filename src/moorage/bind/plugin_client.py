"""The API client that Reserve, PreBind and Bind plugins are given."""

from collections.abc import Callable
from typing import Any, Final

from moorage.clock import Clock
from moorage.watch.api_server import RESOURCES, ApiServer

_LOOK_EVERY: Final = 0.1
"""Seconds between two looks."""


class PluginClient:
    """The API server by resource name, in plain objects."""

    def __init__(self, server: ApiServer, clock: Clock) -> None:
        self._server = server
        self._clock = clock

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        await self._server.bind(namespace, name, uid, node)

    async def get(self, resource: str, namespace: str, name: str) -> dict[str, Any]:
        return await self._server.get(RESOURCES[resource], namespace, name)

    async def patch(
        self, resource: str, namespace: str, name: str, patch: dict[str, Any]
    ) -> dict[str, Any]:
        return await self._server.patch(RESOURCES[resource], namespace, name, patch)

    async def update(self, resource: str, obj: dict[str, Any]) -> dict[str, Any]:
        return await self._server.update(RESOURCES[resource], obj)

    async def wait_until(self, check: Callable[[], bool], seconds: float) -> bool:
        """Look again and again whether something has come true; False when the time is over."""
        deadline = self._clock.now() + seconds
        while not check():
            if self._clock.now() >= deadline:
                return False
            await self._clock.sleep(min(_LOOK_EVERY, seconds))
        return True
