"""The table of legal transitions between the states of a group.

Whether a group has enough pods is counted, never stored. The state says everything else: whether
its pods were released, and what keeps it from being tried again.
"""

import enum
from typing import Final


class GroupState(enum.Enum):
    """Where a group is between its pods' arrival and their nodes."""

    HELD = "held"
    """Its pods are gated: something is missing, or it was not reviewed yet."""
    RELEASED = "released"
    """Its pods were released, to be tried together."""
    BACKING_OFF = "backing off"
    """An attempt, or its binding, failed."""
    EVICTING = "evicting"
    """It waits until the pods that are evicted for it are gone."""
    EVICTING_BACKING_OFF = "evicting, backing off"
    """Both: the binding of pods that were placed earlier failed meanwhile."""

    __hash__ = object.__hash__


class GroupTrigger(enum.Enum):
    """What makes a group change its state."""

    RELEASE = "release"
    """It has all that it needs: its pods are released."""
    HOLD = "hold"
    """It no longer has all that it needs."""
    FAIL = "fail"
    """An attempt at it, or its binding, failed."""
    EVICT = "evict"
    """Pods are evicted to make room for it."""
    VICTIMS_GONE = "victims gone"
    """The victims have left, or are no longer waited for."""
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
"""RELEASE from a waiting state: the group is now placed pod by pod, so it waits no longer."""

WAITS_FOR_VICTIMS: Final = frozenset({EVICTING, EVICTING_BACKING_OFF})
BACKS_OFF: Final = frozenset({BACKING_OFF, EVICTING_BACKING_OFF})


class GroupError(Exception):
    """A caller broke the table of legal transitions: a bug of Moorage, never of a user."""


def target(group: str, state: GroupState, trigger: GroupTrigger) -> GroupState:
    """The state that a trigger leads to; GroupError if it is not legal."""
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
