"""Writes the status of pods: in order per pod, and never after the status has ceased to hold.

A pod that failed may be bound a few milliseconds later. The patch about the failure must reach the
API server before the binding does, or not at all: else a bound pod would say for good that it is
not scheduled.

1. Each pod has at most one write under way; patches that come meanwhile are joined into one more.
2. Before a pod is bound its writes end: one under way is waited for, one not begun is dropped.
3. While it is being bound nothing is written. If the binding fails, writing goes on.
4. A write that the server refuses is dropped, and the error reported. A write that failed otherwise
   (429, 5xx, no answer, an expired token, an expired lease that may yet be renewed) is retried
   after the delays of `AGAIN_SECONDS`, joined with newer patches, while the pod waits.
5. The first reason why a pod waits is written, and its event recorded, at once. A new message for
   the same reason follows `REWORDED_SECONDS` later, and not at all if the pod is bound by then:
   while other pods come and go, a pod is refused again and again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from moorage.api.pod import Pod
from moorage.clock import Clock
from moorage.observe.observers import Observers
from moorage.scheduler.tasks import Start
from moorage.watch.api_errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
)
from moorage.watch.api_server import ApiServer

Patch = dict[str, Any]
Tell = Callable[[], None]
LastWord = tuple[str, str]
"""The reason and the message of a pod's PodScheduled condition."""
FORGOTTEN_FROM: Final = 1000
"""Beyond this number, the last words of pods that no longer wait are forgotten now and then."""
REFUSALS: Final = (BadRequest, Forbidden, AlreadyExists, Conflict, Gone, Invalid)
"""Errors after which the same write would be refused again."""
AGAIN_SECONDS: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""The delays before a write is retried, one for each failure in a row; then it is dropped."""


REWORDED_SECONDS: Final = 2.5
"""The delay of a reworded message; a pod that was refused twice is retried before it is over."""


def _nothing() -> None: ...


class StatusWriter:
    """The patches to write for each pod, by uid; `waits` tells whether a pod is in the queue."""

    def __init__(
        self,
        server: ApiServer,
        observers: Observers,
        start: Start,
        clock: Clock,
        waits: Callable[[str], bool],
    ) -> None:
        self._server = server
        self._observers = observers
        self._start = start
        self._clock = clock
        self._waits = waits
        self._failures: dict[str, int] = {}
        """Pod uid -> the number of writes that have failed in a row."""
        self._next: dict[str, tuple[Pod, Patch]] = {}
        self._untold: dict[str, Tell] = {}
        """Pod uid -> what to call when the next patch is written."""
        self._under_way: dict[str, asyncio.Event] = {}
        self._held: set[str] = set()
        self._last_words: dict[str, LastWord] = {}
        self._looked_through_at = FORGOTTEN_FROM

    def write(self, pod: Pod, patch: Patch, tell: Tell = _nothing) -> None:
        """Patch a pod's status after its earlier patches; `tell` is called when that begins.

        For a reworded message that is `REWORDED_SECONDS` later, else at once.
        """
        _, earlier = self._next.get(pod.uid, (pod, {}))
        self._next[pod.uid] = pod, _joined(earlier, patch)
        rewords = _only_rewords(patch, self._last_words.get(pod.uid))
        self._remember(pod.uid, patch)
        if rewords:
            self._untold[pod.uid] = tell
            if not earlier:
                self._start(self._again(pod, REWORDED_SECONDS), f"status/{pod.key}")
        else:
            if "conditions" in patch["status"]:
                self._untold.pop(pod.uid, None)
            tell()
            self._begin(pod)

    def last_word(self, uid: str) -> LastWord | None:
        """The reason and message last passed to `write`; None if there are none.

        The cached pod may have an older one: the write may not have been watched yet, or not begun.
        """
        return self._last_words.get(uid)

    @asynccontextmanager
    async def binding(self, uid: str) -> AsyncIterator[None]:
        """Wraps the binding of a pod: its status is not written meanwhile.

        A patch that was due is dropped if the pod is bound, and written if the binding fails.
        """
        self._held.add(uid)
        dropped, untold = self._next.pop(uid, None), self._untold.pop(uid, _nothing)
        while (ended := self._under_way.get(uid)) is not None:
            await ended.wait()
        try:
            yield
        except BaseException:
            self._held.discard(uid)
            later = self._next.pop(uid, dropped)
            if later is not None:
                self.write(*later, self._untold.pop(uid, untold))
            raise
        self._held.discard(uid)
        self._next.pop(uid, None)
        self._untold.pop(uid, None)
        self._last_words.pop(uid, None)

    def _remember(self, uid: str, patch: Patch) -> None:
        for condition in patch["status"].get("conditions", ()):
            if condition["type"] == "PodScheduled":
                self._last_words[uid] = condition.get("reason", ""), condition["message"]
        if len(self._last_words) > self._looked_through_at:
            kept = {uid: word for uid, word in self._last_words.items() if self._waits(uid)}
            self._last_words, self._looked_through_at = kept, 2 * len(kept) + FORGOTTEN_FROM

    def _begin(self, pod: Pod) -> None:
        if pod.uid not in self._under_way and pod.uid not in self._held:
            self._under_way[pod.uid] = asyncio.Event()
            self._start(self._send(pod.uid), f"status/{pod.key}")

    async def _send(self, uid: str) -> None:
        try:
            while uid in self._next and uid not in self._held:
                pod, patch = self._next.pop(uid)
                self._untold.pop(uid, _nothing)()
                error = await self._patch(pod, patch)
                if error is None:
                    continue
                if self._keeps(pod, patch, error):
                    return
                if uid not in self._next:
                    self._last_words.pop(uid, None)
        finally:
            self._under_way.pop(uid).set()

    async def _patch(self, pod: Pod, patch: Patch) -> ApiError | None:
        """Write one patch; the error if it failed. A pod that is gone is no error."""
        try:
            await self._server.patch_pod_status(pod.namespace, pod.name, patch, pod.uid)
        except NotFound:
            pass
        except ApiError as error:
            self._observers.failed(pod.key, "", error)
            return error
        self._failures.pop(pod.uid, None)
        return None

    def _keeps(self, pod: Pod, patch: Patch, error: ApiError) -> bool:
        """Whether a failed patch is retried later; if so, it is joined with newer patches."""
        failures = self._failures.pop(pod.uid, 0)
        if isinstance(error, REFUSALS) or failures == len(AGAIN_SECONDS):
            return False
        self._failures[pod.uid] = failures + 1
        latest, newer = self._next.get(pod.uid, (pod, {"status": {}}))
        self._next[pod.uid] = latest, _joined(patch, newer)
        delay = max(AGAIN_SECONDS[failures], error.retry_after)
        self._start(self._again(pod, delay), f"status/{pod.key}")
        return True

    async def _again(self, pod: Pod, delay: float) -> None:
        await self._clock.sleep(delay)
        if not self._waits(pod.uid):
            self._next.pop(pod.uid, None)
            self._untold.pop(pod.uid, None)
        if pod.uid in self._next:
            self._begin(pod)
        else:
            self._failures.pop(pod.uid, None)


def _only_rewords(patch: Patch, said: LastWord | None) -> bool:
    """Whether a patch changes only the message of the PodScheduled condition, not its reason."""
    if said is None or patch["status"].keys() != {"conditions"}:
        return False
    return all(
        condition["type"] == "PodScheduled" and condition.get("reason", "") == said[0]
        for condition in patch["status"]["conditions"]
    )


def _joined(earlier: Patch, later: Patch) -> Patch:
    """Two status patches in one: the later one wins for each field and each condition type."""
    before, after = earlier.get("status", {}), later["status"]
    joined = {**before, **after}
    if "conditions" in before and "conditions" in after:
        types = {condition["type"] for condition in after["conditions"]}
        kept = [condition for condition in before["conditions"] if condition["type"] not in types]
        joined["conditions"] = [*kept, *after["conditions"]]
    return {"status": joined}
