"""Tasks that run together until the first of them ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def until_first(*work: Coroutine[Any, Any, Any]) -> None:
    """Run all of these until one ends; the others are cancelled, and the first error is raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended = await cancelled(*tasks)
    for error in ended:
        if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
            raise error


async def cancelled(*tasks: "asyncio.Future[Any]") -> list[Any]:
    """Cancel some tasks; how each of them ended."""
    for task in tasks:
        task.cancel()
    return await asyncio.gather(*tasks, return_exceptions=True)
