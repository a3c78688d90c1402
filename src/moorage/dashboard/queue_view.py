"""Which pods wait, where and why, as JSON: in the order in which they will be tried."""

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from moorage.api import podgroup
from moorage.api.annotations import read_int
from moorage.dashboard.slices import Later, sliced
from moorage.dashboard.sources import QueueSource
from moorage.framework.queued_pod import QueuedPod, State
from moorage.observe.decision_records import DecisionRecords

DEFAULT_LIMIT: Final = 200
MOST: Final = 1000
TOP: Final = 20
CHUNK: Final = 200
KEPT_SECONDS: Final = 1.0
"""The least time in seconds for which a computed order is shown again."""
REST: Final = 30
"""The order is also kept for this many times as long as sorting took."""
WAITING_ON_PERMIT: Final = "waiting_on_permit"
STATES: Final = {
    State.ACTIVE: "active",
    State.BACKOFF: "backoff",
    State.ERROR_BACKOFF: "backoff",
    State.UNSCHEDULABLE: "unschedulable",
    State.GATED: "gated",
    State.IN_FLIGHT: "in_flight",
}
_LATE: Final = {"in_flight": 0, "active": 1, "backoff": 2, "unschedulable": 3, "gated": 4}


class QueueFilter(msgspec.Struct, frozen=True):
    """Which pods to return; an empty field matches everything."""

    state: str = ""
    namespace: str = ""
    reason: str = ""
    q: str = ""
    limit: int = DEFAULT_LIMIT
    after: int = 0

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "QueueFilter":
        """The filter of a query string; ValueError names an invalid parameter."""
        text = {name: query.get(name, "") for name in ("state", "namespace", "reason", "q")}
        numbers = (("limit", str(DEFAULT_LIMIT)), ("continue", "0"))
        limit, after = (_number(name, query.get(name) or default) for name, default in numbers)
        return cls(**text, limit=min(limit, MOST), after=after)


class QueueView:
    """Answers requests for the queue."""

    def __init__(
        self,
        source: QueueSource,
        records: DecisionRecords,
        now: Callable[[], float],
        later: Later,
    ) -> None:
        self._source = source
        self._records = records
        self._now = now
        self._later = later
        self._order: list[QueuedPod] = []
        self._good_until = 0.0

    def counts(self) -> dict[str, int]:
        """The number of pods by state."""
        queue, waiting = self._source.queue, len(self._source.waiting)
        counts = queue.pending_counts()
        in_flight = len(queue) - sum(counts.values())
        return {**counts, "in_flight": in_flight, WAITING_ON_PERMIT: waiting}

    async def page(self, wanted: QueueFilter) -> dict[str, Any]:
        """Some pods in the order in which they will be tried, and the reasons of all pods."""
        order = await self._in_order()
        found: list[tuple[int, QueuedPod]] = []
        reasons: Counter[str] = Counter()
        await sliced(self._later, self._selected(order, wanted, found, reasons))
        shown = found[wanted.after : wanted.after + wanted.limit]
        items = await sliced(self._later, (self._item(place, pod) for place, pod in shown))
        end = wanted.after + len(shown)
        return {
            "counts": self.counts(),
            "items": items,
            "total": len(found),
            "continue": str(end) if end < len(found) else "",
            "gangs": self._source.gangs(),
            "tenants": self._source.tenants(),
            "reasons": [{"reason": each, "pods": pods} for each, pods in reasons.most_common(50)],
        }

    async def top(self) -> dict[str, Any]:
        """The counts, and the pods that are tried next."""
        order = await self._in_order()
        first = list(enumerate(order[:TOP], 1))
        items = await sliced(self._later, (self._item(place, pod) for place, pod in first))
        return {"counts": self.counts(), "top": items}

    def item_of(self, uid: str) -> dict[str, Any] | None:
        """One pod with its state in the queue, or None."""
        pod = self._source.queue.find(uid)
        return None if pod is None else self._item(None, pod)

    async def _in_order(self) -> list[QueuedPod]:
        """All pods in the order in which they will be tried; kept for a while."""
        begun = time.perf_counter()
        if begun < self._good_until:
            return [pod for pod in self._order if pod.state is not State.OUTSIDE]
        chunks = await sliced(self._later, self._sorted_chunks(list(self._source.queue)))
        merged = heapq.merge(*chunks, key=lambda each: each[:-1])
        self._order = [each[-1] for each in await sliced(self._later, merged)]
        now = time.perf_counter()
        self._good_until = now + max(KEPT_SECONDS, REST * (now - begun))
        return self._order

    def _sorted_chunks(self, pods: list[QueuedPod]) -> Iterator[list[Any]]:
        rank = self._source.queue.rank
        for start in range(0, len(pods), CHUNK):
            chunk = pods[start : start + CHUNK]
            yield sorted(
                ((_LATE[STATES[pod.state]], rank(pod), pod.sequence, pod.info.uid, pod))
                for pod in chunk
                if pod.state is not State.OUTSIDE
            )

    def _selected(
        self,
        order: list[QueuedPod],
        wanted: QueueFilter,
        found: list[tuple[int, QueuedPod]],
        reasons: Counter[str],
    ) -> Iterator[None]:
        for place, pod in enumerate(order, 1):
            reason = self._short_reason(pod)
            if self._takes(wanted, pod, reason):
                found.append((place, pod))
            if reason:
                reasons[reason] += 1
            yield

    def _takes(self, wanted: QueueFilter, pod: QueuedPod, reason: str) -> bool:
        return (
            (not wanted.state or wanted.state == self._state(pod))
            and wanted.namespace in ("", pod.info.cls.namespace)
            and wanted.reason in ("", reason)
            and (not wanted.q or wanted.q in pod.info.pod.key)
        )

    def _state(self, pod: QueuedPod) -> str:
        if pod.state is State.IN_FLIGHT and pod.info.uid in self._source.waiting:
            return WAITING_ON_PERMIT
        return STATES.get(pod.state, "")

    def _short_reason(self, pod: QueuedPod) -> str:
        """Why a pod waits, in a few words: the gate, or the plugins that refused it."""
        if pod.gated_by:
            return pod.gated_reason or pod.gated_by
        return ", ".join(sorted(pod.refused_by)) if pod.refused_by else ""

    def _item(self, place: int | None, pod: QueuedPod) -> dict[str, Any]:
        info, now = pod.info, self._now()
        told = self._records.of_pod(info.pod.key)
        return {
            "pod": info.pod.key,
            "state": self._state(pod),
            "place": place,
            "age_s": round(max(0.0, now - pod.entered), 3),
            "attempts": pod.attempts,
            "reason": pod.gated_reason or (told[-1].message if told else ""),
            "waits_for": self._short_reason(pod),
            "plugins": sorted(pod.refused_by) or ([pod.gated_by] if pod.gated_by else []),
            "priority": info.priority,
            "profile": info.pod.spec.scheduler_name,
            "group": podgroup.group_key(info.pod) or "",
            "backoff_s": _left(pod, now),
            "nominated": info.pod.status.nominated_node_name,
        }


def _left(pod: QueuedPod, now: float) -> float | None:
    """The seconds left of a pod's backoff."""
    if pod.state not in (State.BACKOFF, State.ERROR_BACKOFF) or pod.backoff_until is None:
        return None
    return round(max(0.0, pod.backoff_until - now), 3)


def _number(name: str, value: str) -> int:
    number = read_int(value)
    if number is None:
        raise ValueError(f"{name}={value}: not a number")
    return number
