"""Pods whose PreBind plugins are at work: not bound yet, and they can still be called back."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from moorage.framework.verdicts import SchedulingError

T = TypeVar("T")
PREEMPTED: Final = "preempted by a pod of higher priority before it was bound"


class Preparing:
    """What is under way, by the pod's uid."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._called_back: set[str] = set()

    async def run(self, uid: str, work: Coroutine[Any, Any, T]) -> T:
        """Do the work, unless the pod is called back meanwhile: then SchedulingError is raised."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks[uid] = task
        try:
            return await work
        except asyncio.CancelledError:
            if uid not in self._called_back:
                raise
            task.uncancel()
            raise SchedulingError(PREEMPTED) from None
        finally:
            del self._tasks[uid]
            self._called_back.discard(uid)

    def call_back(self, uid: str) -> bool:
        """Stop the work for a pod; False where there is none."""
        task = self._tasks.get(uid)
        if task is None:
            return False
        self._called_back.add(uid)
        task.cancel()
        return True
