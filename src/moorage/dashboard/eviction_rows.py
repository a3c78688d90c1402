"""Evictions as JSON: a pod's victims, and the pods that it was evicted for; newest first."""

from typing import Any

from moorage.bind.status_patches import preemption_message
from moorage.observe.eviction_records import EvictionRecords
from moorage.observe.records import Evicted


def victims_of(
    evictions: EvictionRecords, pod: str, uid: str, group: str = ""
) -> list[dict[str, Any]]:
    """The pods evicted for a pod or its group; `earlier` marks those of a namesake before it."""
    return [
        {
            "pod": each.pod,
            "node": each.node,
            "room_on": each.room_on,
            "priority": each.priority,
            "time": each.time,
            "way": each.way,
            "what": each.what,
            "earlier": each.by == pod and _is_another(uid, each.by_uid),
        }
        for each in _newest_first(evictions.of_preemptor(pod, group))
    ]


def left_for(evictions: EvictionRecords, pod: str, uid: str) -> list[dict[str, Any]]:
    """What a pod, or an `earlier` one of the same name, was evicted for, and why."""
    return [
        {
            "by": each.by,
            "what": each.what,
            "node": each.node,
            "room_on": each.room_on,
            "priority": each.priority,
            "by_priority": each.by_priority,
            "time": each.time,
            "way": each.way,
            "why": preemption_message(each.profile, each.what),
            "earlier": _is_another(uid, each.uid),
        }
        for each in _newest_first(evictions.of_victim(pod))
    ]


def _newest_first(found: list[Evicted]) -> list[Evicted]:
    """Newest first; evictions at the same time keep their order."""
    return sorted(found, key=lambda each: -each.time)


def _is_another(known: str, uid: str) -> bool:
    return bool(known) and known != uid
