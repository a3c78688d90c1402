"""One pod as JSON: its node, its attempts, an explanation, and preemption for or by it."""

from collections.abc import Callable
from typing import Any, Final

from moorage.api import podgroup
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.dashboard.eviction_rows import left_for, victims_of
from moorage.dashboard.node_view import requests_of
from moorage.dashboard.queue_view import QueueView
from moorage.dashboard.slices import Later, between_attempts
from moorage.dashboard.sources import Explain, KnownPod
from moorage.observe.decision_records import DecisionRecord, DecisionRecords
from moorage.queue.scheduling_queue import SchedulingQueue

EXPLAIN_OFF: Final = "start it with --enable-explain to see why here and why not there"
NOT_ASKED: Final = ""
MOST_EXPLAINED: Final = 2
BUSY: Final = f"{MOST_EXPLAINED} pods are being explained: ask again in a second"


class PodView:
    """Answers requests for one pod."""

    def __init__(
        self,
        cache: Cache,
        known: KnownPod,
        queue: SchedulingQueue,
        waiting: QueueView,
        records: DecisionRecords,
        explain: Explain | None,
        now: Callable[[], float],
        later: Later,
    ) -> None:
        self._cache = cache
        self._known = known
        self._queue = queue
        self._waiting = waiting
        self._records = records
        self._explain = explain
        self._now = now
        self._later = later
        self._explaining = 0

    async def page(self, key: str, *, explained: bool) -> dict[str, Any]:
        """Everything about a pod; LookupError if nothing is known of it."""
        found = await between_attempts(self._later, lambda: self._pod(key))
        explanation, off = None, NOT_ASKED
        if self._explain is None:
            off = EXPLAIN_OFF
        elif explained:
            explanation, off = await self._explained(self._explain, key)
        return {**found, "explanation": explanation, "explain_off": off}

    def find(self, key: str) -> Pod:
        """A pod that waits or is on a node; LookupError if there is none."""
        found = self._known(key)
        if found is None:
            raise LookupError(f"there is no pod {key}")
        return found

    async def _explained(self, explain: Explain, key: str) -> tuple[Any, str]:
        if self._explaining >= MOST_EXPLAINED:
            return None, BUSY
        self._explaining += 1
        try:
            return await explain(key), ""
        except (ValueError, LookupError, TimeoutError, RuntimeError) as error:
            return None, str(error.args[0] if error.args else error)
        finally:
            self._explaining -= 1

    def _pod(self, key: str) -> dict[str, Any]:
        attempts = self._records.of_pod(key)
        known = self._known(key)
        uid = "" if known is None else known.uid
        evictions = self._records.evictions
        left = left_for(evictions, key, uid)
        group = "" if known is None else podgroup.group_key(known) or ""
        victims = victims_of(evictions, key, uid, group)
        if known is None and not (attempts or left or victims):
            raise LookupError(f"there is no pod {key}, and no record of one")
        info = None if known is None else self._cache.pod(uid) or self._cache.info(known)
        entry = self._waiting.item_of(uid)
        return {
            "pod": key,
            "state": self._state(known, entry),
            "node": self._cache.node_of(uid) or "",
            "priority": None if info is None else info.priority,
            "requests": {} if info is None else requests_of(info),
            "profile": "" if info is None else info.pod.spec.scheduler_name,
            "queue": entry,
            "attempts": attempts,
            "preemption": self._preemption(info, attempts),
            "victims": victims,
            "left_for": left,
            "events": self._story(uid),
        }

    def _state(self, known: Pod | None, entry: dict[str, Any] | None) -> str:
        if entry is not None:
            return str(entry["state"])
        if known is None:
            return "gone"
        if known.uid in self._cache.assumed:
            return "binding"
        return "bound" if self._cache.node_of(known.uid) else "not ours"

    def _story(self, uid: str) -> list[dict[str, Any]]:
        """The pod's events in the queue, newest first."""
        return [
            {
                "reason": each.event,
                "message": f"{each.source.value} → {each.target.value}",
                "age_s": round(max(0.0, self._now() - each.time), 1),
            }
            for each in reversed(self._queue.story(uid))
        ]

    def _preemption(
        self, info: PodInfo | None, attempts: list[DecisionRecord]
    ) -> dict[str, Any] | None:
        """The node that the pod is nominated for, and the pods that are evicted from it."""
        if info is None:
            return None
        node = self._cache.nominations.node_of(info.uid) or ""
        if not node:
            return None
        row = self._cache.table.row_of.get(node)
        here = () if row is None else self._cache.table.pods[row].values()
        victims = [each.pod.key for each in here if each.pod.is_terminating]
        counted = next((each.victims for each in reversed(attempts) if each.victims), len(victims))
        return {"for": info.pod.key, "node": node, "victims": victims, "victim_count": counted}
