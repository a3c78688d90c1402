"""`schedulerLatency` of a pod: a condition that tells how long it waited to be bound.

It is written only if configured (`logging.schedulerLatency`), after the binding, and never delays
it: a write that fails is not retried. The metric of the same latency is always served.
"""

import asyncio
from datetime import UTC, datetime
from typing import Any, Final

from moorage.observe.records import Bound
from moorage.watch.api_errors import ApiError
from moorage.watch.api_server import ApiServer

CONDITION: Final = "schedulerLatency"
UNDER_WAY: Final = 256
"""The most writes at once; further conditions are skipped."""


class LatencyConditions:
    """An observer that writes conditions while `enabled`."""

    def __init__(self, server: ApiServer, enabled: bool = False) -> None:
        self.enabled = enabled
        self.skipped = 0
        self._server = server
        self._tasks: set[asyncio.Task[None]] = set()

    def bound(self, bound: Bound) -> None:
        if not self.enabled:
            return
        if len(self._tasks) >= UNDER_WAY:
            self.skipped += 1
            return
        task = asyncio.ensure_future(self._write(bound))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write(self, bound: Bound) -> None:
        namespace, _, name = bound.pod.partition("/")
        try:
            await self._server.patch_pod_status(namespace, name, latency_patch(bound), bound.uid)
        except ApiError:
            self.skipped += 1


def latency_patch(bound: Bound) -> dict[str, Any]:
    """The status patch with the condition."""
    when = datetime.fromtimestamp(bound.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    tries = "1 attempt" if bound.attempts == 1 else f"{bound.attempts} attempts"
    condition = {
        "type": CONDITION,
        "status": "True",
        "reason": "Bound",
        "message": f"{bound.since_added:.3f}s from its arrival to its binding, in {tries}",
        "lastTransitionTime": when,
    }
    return {"status": {"conditions": [condition]}}
