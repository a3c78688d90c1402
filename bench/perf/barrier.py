"""Where a workload waits for pods, and goes on with the one that was missing.

Upstream looks once a second, which is longer than most stages of its small workloads take: what is
measured then is how often somebody looked.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable

from moorage.api.pod import Pod


class Barrier:
    """Opens when so many pods are as they should be."""

    def __init__(self, count: int, is_met: Callable[[Pod], bool], there: Iterable[Pod]) -> None:
        self._is_met = is_met
        self._missing = count - sum(map(is_met, there))
        self._opened = asyncio.Event()
        self._look()

    @property
    def is_open(self) -> bool:
        return self._opened.is_set()

    def note(self, before: Pod | None, now: Pod | None) -> None:
        """A pod has come, has changed or is gone."""
        was = before is not None and self._is_met(before)
        self._missing += was - (now is not None and self._is_met(now))
        self._look()

    def _look(self) -> None:
        if self._missing <= 0:
            self._opened.set()

    async def wait(self, seconds: float) -> None:
        """Return when it opens, or after so long."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._opened.wait(), seconds)
