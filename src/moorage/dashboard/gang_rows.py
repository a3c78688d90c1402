"""Gangs as JSON: how many pods of a group exist and are bound, and why it waits."""

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from moorage.cache.cache import Cache
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.observe.decision_records import DecisionRecords

MOST: Final = 200


ASKED: Final = 20
"""How many pods of a gang are searched for a message, which only its first pod has."""


def gang_rows(
    cache: Cache, groups: Directory, records: DecisionRecords
) -> Callable[[], list[dict[str, Any]]]:
    """A function that returns the gangs, waiting ones first."""

    def rows() -> list[dict[str, Any]]:
        waiting_first = sorted(groups, key=lambda group: (not group.waiting, group.key))
        return [_row(cache, group, records) for group in waiting_first[:MOST] if not group.is_empty]

    return rows


def _row(cache: Cache, group: Group, records: DecisionRecords) -> dict[str, Any]:
    there = group.on_nodes(cache.assumed)
    return {
        "group": group.key,
        "state": "bound" if there and group.is_whole(there) else group.state.value,
        "members": group.members,
        "min_member": group.minimum,
        "bound": len(there),
        "reason": (group.refusal() or _told(group, records)) if group.waiting else "",
        "refused_by": sorted(group.refused_by),
        "failures": group.failures,
    }


def _told(group: Group, records: DecisionRecords) -> str:
    """The message of the last attempt at a gang."""
    for pod in islice(group.waiting.values(), ASKED):
        if (made := records.of_pod(pod.key)) and made[-1].message:
            return made[-1].message
    return ""
