"""Resources that an API server need not have: followed where it does, asked for where it does not.

That a resource is missing, or that we may not read it, is an answer and not a failure: nothing
waits for it, and the question is put again every now and then, quietly.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from typing import Final

from moorage.clock import Clock
from moorage.watch.errors import ApiError, Forbidden, NotFound
from moorage.watch.reflector import Change, Reflector
from moorage.watch.resources import Resource
from moorage.watch.surface import ApiServer

ASK_AGAIN_SECONDS: Final = 30.0

Make = Callable[[Resource], Reflector]


async def changes(
    server: ApiServer,
    resources: Iterable[Resource],
    make: Make,
    clock: Clock,
    failed: Callable[[Resource, ApiError], None],
) -> AsyncIterator[tuple[Resource, Change | None]]:
    """Every change of the first of these resources that is served; None, once, if none is yet."""
    versions, told = tuple(resources), False
    while (resource := await _served(server, versions, clock, failed)) is None:
        if not told:
            told = True
            yield versions[0], None
        await clock.sleep(ASK_AGAIN_SECONDS)
    async with aclosing(make(resource).changes()) as following:
        async for change in following:
            yield resource, change


async def _served(
    server: ApiServer,
    resources: Iterable[Resource],
    clock: Clock,
    failed: Callable[[Resource, ApiError], None],
) -> Resource | None:
    for resource in resources:
        while True:
            try:
                await server.list_page(resource, limit=1)
            except (NotFound, Forbidden):
                break
            except ApiError as error:
                failed(resource, error)
                await clock.sleep(max(1.0, error.retry_after))
            else:
                return resource
    return None
