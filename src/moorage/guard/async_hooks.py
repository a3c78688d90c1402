"""Guarded wrappers of the async hooks PreBind and Bind: they may await, but not block.

Each stretch between two awaits is a guarded call with the usual deadline; the whole hook has
`bindDeadline`. An error of the API server does not count as a failure of the plugin.
"""

import asyncio
import inspect
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final

from moorage.guard import answer_checks
from moorage.guard.answer_checks import WrongAnswer
from moorage.guard.breaker_events import error_text
from moorage.guard.hook_wrappers import Function, Wrapper
from moorage.guard.plugin_guard import BINDING, Guard, Hook, LeftOut
from moorage.guard.read_only_objects import seal
from moorage.watch.api_errors import ApiError

CANCELLED: Final = "what it awaits was cancelled: catch that, and raise an ordinary exception"


def wrap_async_hook(point: str, left_out: Any) -> Wrapper:
    """Wrapper of an async hook; `left_out` is the answer if the plugin is switched off."""

    def wrap(guard: Guard, function: Function) -> Function:
        hook = guard.hook(point, BINDING)

        async def call(self: Any, cycle: Any, pod: Any, node: Any) -> Any:
            try:
                guard.admit(hook, cycle)
            except LeftOut:
                return left_out
            seal(pod)
            seal(node)
            started = guard.call(hook, pod, _start, function, self, cycle, pod, node)
            answer = await _bounded(guard, hook, pod, started)
            guard.call(hook, pod, answer_checks.check_answer, point, answer)
            return answer

        return call

    return wrap


def _start(function: Function, *args: Any) -> Coroutine[Any, Any, Any]:
    started = function(*args)
    if not inspect.iscoroutine(started):
        raise WrongAnswer("is not a coroutine: define it with `async def`")
    return started


async def _bounded(guard: Guard, hook: Hook, pod: Any, work: Coroutine[Any, Any, Any]) -> Any:
    limit = guard.terms.bind_deadline
    if limit <= 0:
        return await _run(guard, hook, pod, work)
    working = asyncio.ensure_future(_run(guard, hook, pod, work))
    working.add_done_callback(lambda _: work.close())  # it may be cancelled before it begins
    alarm = asyncio.ensure_future(guard.sleep(limit.seconds))
    try:
        await asyncio.wait({working, alarm}, return_when=asyncio.FIRST_COMPLETED)
        if working.cancelled():
            detail = f"CancelledError: {CANCELLED}"
            raise guard.failed(hook, pod, "raised", detail)
        if working.done():
            return working.result()
        detail = f"took longer than its bindDeadline of {limit}: wait for less, or raise it"
        raise guard.failed(hook, pod, "deadline", detail)
    finally:
        working.cancel()
        alarm.cancel()


async def _run(guard: Guard, hook: Hook, pod: Any, work: Coroutine[Any, Any, Any]) -> Any:
    """Run the hook; a CancelledError without a request to cancel counts as the plugin's failure.

    Something that the plugin awaited was cancelled then.
    """
    try:
        return await _stepwise(guard, hook, pod, work)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        detail = f"{error_text(error)}: {CANCELLED}"
        raise guard.failed(hook, pod, "raised", detail) from error


@types.coroutine
def _stepwise(
    guard: Guard, hook: Hook, pod: Any, work: Coroutine[Any, Any, Any]
) -> Generator[Any, Any, Any]:
    """Run a coroutine with each stretch between two awaits guarded."""
    resume: Callable[[Any], Any] = work.send
    value: Any = None
    while True:
        hook.used = 0.0
        done, answer, refused = guard.call(hook, pod, _run_to_next_await, resume, value)
        if refused is not None:
            raise refused
        if done:
            return answer
        try:
            resume, value = work.send, (yield answer)
        except BaseException as error:
            resume, value = work.throw, error


def _run_to_next_await(
    resume: Callable[[Any], Any], value: Any
) -> tuple[bool, Any, BaseException | None]:
    """(whether it has ended, its answer or what it awaits, an exception that is not its fault).

    That is an error of the API server, a cancellation, or the GeneratorExit of closing it.
    """
    try:
        return False, resume(value), None
    except StopIteration as stop:
        return True, stop.value, None
    except (ApiError, asyncio.CancelledError) as error:
        return True, None, error
    except GeneratorExit as error:
        if error is not value:
            raise
        return True, None, error
