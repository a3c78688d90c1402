"""Writes the status of pods: per pod in order, and never after what it says has ceased to hold.

A pod that failed may be bound a few milliseconds later. What is written of the failure must reach
the API server before the binding does, or not at all: a bound pod that says it is not scheduled
would say so for good.

1. One write of a pod is under way at a time; what comes meanwhile is joined into one more.
2. Before a pod is bound its writes end: one under way is waited for, one not begun is dropped.
3. While it is being bound nothing is written. If it is not bound after all, writing goes on.
4. What the server refuses is dropped and told. What did not get to be judged (429, 5xx, no answer,
   an expired token, a lease that ran out and may be renewed yet) is written again, later each time,
   for as long as the pod waits and nothing newer is to be said.
5. Why a pod waits is written and told at once; that it waits for something else by now, a little
   later, and not at all where it is bound or has another reason by then. While others come and go,
   a pod is refused again and again.
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
"""A reason and a message."""
FORGOTTEN_FROM: Final = 1000
"""From so many on, last words of pods that wait no more are forgotten, every now and then."""
REFUSALS: Final = (BadRequest, Forbidden, AlreadyExists, Conflict, Gone, Invalid)
"""Errors after which the same would be refused again."""
AGAIN_SECONDS: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""How long after each failure in a row it is tried again; then it is given up."""


REWORDED_SECONDS: Final = 2.5
"""How much later another message is written: a pod that was refused twice is tried before that."""


def _nothing() -> None: ...


class StatusWriter:
    """What is to be written of each pod, by uid; `waits` tells whether one still has no node."""

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
        """Writes of a pod that have failed in a row."""
        self._next: dict[str, tuple[Pod, Patch]] = {}
        self._untold: dict[str, Tell] = {}
        """What is to be told when the next is written."""
        self._under_way: dict[str, asyncio.Event] = {}
        self._held: set[str] = set()
        self._last_words: dict[str, LastWord] = {}
        self._looked_through_at = FORGOTTEN_FROM

    def write(self, pod: Pod, patch: Patch, tell: Tell = _nothing) -> None:
        """Patch a pod's status, after whatever is being written of it already; and `tell` of it."""
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
        """Why a pod is not scheduled, as it was last to be written; None where it never was.

        The pod that is known here may say something older: what was written has not been heard of
        yet, or is not written yet.
        """
        return self._last_words.get(uid)

    @asynccontextmanager
    async def binding(self, uid: str) -> AsyncIterator[None]:
        """Around the binding of a pod: nothing is written of it meanwhile.

        What was to be written is dropped where the pod is bound, and written where that fails.
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
        """Why it could not be written; that the pod is gone is fine."""
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
        """Whether a patch that failed is to be written again later, with what came meanwhile."""
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
    """Whether all that is new is the message of a pod that has said before that it waits."""
    if said is None or patch["status"].keys() != {"conditions"}:
        return False
    return all(
        condition["type"] == "PodScheduled" and condition.get("reason", "") == said[0]
        for condition in patch["status"]["conditions"]
    )


def _joined(earlier: Patch, later: Patch) -> Patch:
    """Two patches of a status in one: the later has the last word on each field and condition."""
    before, after = earlier.get("status", {}), later["status"]
    joined = {**before, **after}
    if "conditions" in before and "conditions" in after:
        types = {condition["type"] for condition in after["conditions"]}
        kept = [condition for condition in before["conditions"] if condition["type"] not in types]
        joined["conditions"] = [*kept, *after["conditions"]]
    return {"status": joined}
