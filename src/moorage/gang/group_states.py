"""The table of legal transitions between the states of a group.

Whether a group has its pods is counted, never stored. The state says what became of it beyond that:
whether its pods were let go, and what keeps it from being tried again.
"""

import enum
from typing import Final


class GroupState(enum.Enum):
    """Where a group is between its pods' arrival and their nodes."""

    HELD = "held"
    """Its pods are gated: something is missing, or nobody has looked yet."""
    RELEASED = "released"
    """Its pods were let go, to be tried together."""
    BACKING_OFF = "backing off"
    """An attempt, or its binding, failed."""
    EVICTING = "evicting"
    """It waits for pods to leave that are evicted for it."""
    EVICTING_BACKING_OFF = "evicting, backing off"
    """Both: a part of it that was bound earlier failed meanwhile."""

    __hash__ = object.__hash__


class GroupTrigger(enum.Enum):
    """What makes a group change its state."""

    RELEASE = "release"
    """It has all that it needs: its pods are let go."""
    HOLD = "hold"
    """It does not have what it needs any more."""
    FAIL = "fail"
    """An attempt at it, or its binding, failed."""
    EVICT = "evict"
    """Pods are evicted to make room for it."""
    VICTIMS_GONE = "victims gone"
    """They have left, or are not waited for any longer."""
    BACKOFF_COMPLETE = "backoff completes"

    __hash__ = object.__hash__


HELD, RELEASED = GroupState.HELD, GroupState.RELEASED
BACKING_OFF, EVICTING = GroupState.BACKING_OFF, GroupState.EVICTING
EVICTING_BACKING_OFF = GroupState.EVICTING_BACKING_OFF

TABLE: Final[dict[GroupState, dict[GroupTrigger, GroupState]]] = {
    HELD: {
        GroupTrigger.RELEASE: RELEASED,
        GroupTrigger.FAIL: BACKING_OFF,
        GroupTrigger.EVICT: EVICTING,
    },
    RELEASED: {
        GroupTrigger.HOLD: HELD,
        GroupTrigger.FAIL: BACKING_OFF,
        GroupTrigger.EVICT: EVICTING,
    },
    BACKING_OFF: {
        GroupTrigger.RELEASE: RELEASED,
        GroupTrigger.FAIL: BACKING_OFF,
        GroupTrigger.BACKOFF_COMPLETE: HELD,
    },
    EVICTING: {
        GroupTrigger.RELEASE: RELEASED,
        GroupTrigger.FAIL: EVICTING_BACKING_OFF,
        GroupTrigger.VICTIMS_GONE: HELD,
    },
    EVICTING_BACKING_OFF: {
        GroupTrigger.RELEASE: RELEASED,
        GroupTrigger.FAIL: EVICTING_BACKING_OFF,
        GroupTrigger.VICTIMS_GONE: BACKING_OFF,
        GroupTrigger.BACKOFF_COMPLETE: EVICTING,
    },
}
"""A group that is placed one by one after all (`RELEASE`) waits for neither."""

WAITS_FOR_VICTIMS: Final = frozenset({EVICTING, EVICTING_BACKING_OFF})
BACKS_OFF: Final = frozenset({BACKING_OFF, EVICTING_BACKING_OFF})


class GroupError(Exception):
    """The caller broke the table of legal transitions: a bug of ours, never a user's."""


def target(group: str, state: GroupState, trigger: GroupTrigger) -> GroupState:
    """Where a trigger leads; GroupError where it is not legal."""
    found = TABLE[state].get(trigger)
    if found is None:
        raise GroupError(f"group {group} is {state.value}: {trigger.value} is not legal there")
    return found


def diagram() -> str:
    """The table as a mermaid state diagram."""
    arrows = [
        f"    {_id(source)} --> {_id(reached)}: {trigger.value}"
        for source, targets in TABLE.items()
        for trigger, reached in targets.items()
    ]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {_id(HELD)}", *arrows])


def _id(state: GroupState) -> str:
    return state.value.replace(", ", "_").replace(" ", "_")
