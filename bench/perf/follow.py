"""Every object of a resource, and every change from then on."""

import contextlib
from collections.abc import AsyncGenerator

from moorage.kube.kube_api_server import KubeApiServer
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import WatchEvent


async def follow(server: KubeApiServer, resource: Resource) -> AsyncGenerator[WatchEvent, None]:
    page = await server.list_page(resource)
    for obj in page.items:
        yield WatchEvent("ADDED", obj, page.resource_version)
    version = page.resource_version
    while True:
        async with contextlib.aclosing(server.watch(resource, resource_version=version)) as events:
            async for event in events:
                version = event.resource_version
                yield event
