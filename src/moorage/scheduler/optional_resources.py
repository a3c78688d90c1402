"""Resources that an API server need not have: followed if it does, else asked for now and then.

An API server that is starting refuses resources that it will serve in a moment: roles and custom
resources are not loaded yet. So a resource counts as absent only after it was refused for
`SURE_AFTER_SECONDS`. After that it is asked for every `ASK_AGAIN_SECONDS`. Time is the sum of the
seconds slept, because a clock may be set.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from typing import Final

from moorage.clock import Clock
from moorage.watch.api_errors import ApiError, Forbidden, NotFound
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import ApiServer
from moorage.watch.reflector import Change, Reflector

SURE_AFTER_SECONDS: Final = 10.0
"""How long a resource must have been refused to count as absent."""
LOOK_SECONDS: Final = 1.0
ASK_AGAIN_SECONDS: Final = 30.0

Make = Callable[[Resource], Reflector]
Failed = Callable[[Resource, ApiError], None]


async def optional_changes(
    server: ApiServer, resources: Iterable[Resource], make: Make, clock: Clock, failed: Failed
) -> AsyncIterator[tuple[Resource, Change | None]]:
    """Every change of the first of these resources that is served; None once if all are absent."""
    versions, told, slept = tuple(resources), False, 0.0
    while not isinstance(found := await _served(server, versions, clock, failed), Resource):
        if not told and slept >= SURE_AFTER_SECONDS:
            told = True
            if isinstance(found, Forbidden):
                failed(versions[0], found)
            yield versions[0], None
        pause = ASK_AGAIN_SECONDS if told else LOOK_SECONDS
        await clock.sleep(pause)
        slept += pause
    async with aclosing(make(found).changes()) as following:
        async for change in following:
            yield found, change


async def _served(
    server: ApiServer, resources: Iterable[Resource], clock: Clock, failed: Failed
) -> Resource | ApiError | None:
    """The first of the resources that can be listed; or why the last of them cannot."""
    refused: ApiError | None = None
    for resource in resources:
        while True:
            try:
                await server.list_page(resource, limit=1)
            except (NotFound, Forbidden) as error:
                refused = error
                break
            except ApiError as error:
                failed(resource, error)
                await clock.sleep(max(1.0, error.retry_after))
            else:
                return resource
    return refused
