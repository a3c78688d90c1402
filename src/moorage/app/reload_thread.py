"""The thread in which a configuration is read again, while pods are scheduled.

A plugin file runs when it is loaded. An endless loop in it is interrupted (`guard.load_deadline`).
A blocking system call cannot be interrupted: after `LONGEST_SECONDS` the reload is refused and the
thread abandoned. The next reload gets a new thread, and the abandoned one does not keep the process
alive.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from moorage.config.field_errors import InputError

LONGEST_SECONDS: Final = 120.0

T = TypeVar("T")


async def in_reload_thread(work: Callable[[], T], /, seconds: float = LONGEST_SECONDS) -> T:
    """The result of the work; InputError if it takes longer than `seconds`."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def report(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # None where T is None

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except BaseException as error:
            failure = error
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(report, result, failure)

    threading.Thread(target=run, name="reload", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            return await done
    except TimeoutError:
        message = (
            f"not read within {seconds:g}s: a plugin blocks while it is loaded; what takes long, "
            "or never ends, belongs in a hook, or in another process"
        )
        raise InputError([message]) from None
