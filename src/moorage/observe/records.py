"""Records that observers receive: attempts, bindings, evictions, reloads and canary rollbacks."""

import enum
from collections.abc import Sequence
from typing import Literal

import msgspec


class Result(enum.Enum):
    """kube-scheduler's result labels."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """One attempt at one pod, and how it ended.

    `seconds` is the time from popping the pod until it was assumed or put back. An attempt whose
    binding fails is reported twice under the same id: as scheduled, and then with its outcome.
    `trace` is the id of its trace, if it has one. `plugin` and `point` name the plugin whose
    exception ended the attempt. `generation` is the generation of the configuration that decided,
    `version` the version of the profile, if it has several.
    """

    id: str
    pod: str
    uid: str
    profile: str
    result: Result
    time: float
    seconds: float = 0.0
    node: str = ""
    score: int = 0
    feasible: int = 0
    evaluated: int = 0
    attempts: int = 1
    message: str = ""
    nominated: str = ""
    victims: int = 0
    plugin: str = ""
    point: str = ""
    generation: int = 0
    version: str = ""
    trace: str = ""
    scores: tuple[tuple[str, int], ...] = ()
    """Each plugin's weighted score for the chosen node; empty if only one node was feasible."""
    runners_up: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    """The next best nodes with their scores; empty for most attempts."""
    steps: Sequence[tuple[str, str, float, float]] = ()
    """(extension point, status it ended with, time it began, seconds it took)."""


class Bound(msgspec.Struct, frozen=True, gc=False):
    """A pod was bound.

    `seconds` is the time of the whole attempt; `since_added` counts from when the pod was first
    queued, `since_ready` from when it was first ready to be attempted. `flushed`: the attempt was
    due to the timeout for unschedulable pods, and to no event.
    """

    attempt: str
    pod: str
    uid: str
    profile: str
    node: str
    time: float
    attempts: int
    since_added: float
    since_ready: float = 0.0
    seconds: float = 0.0
    flushed: bool = False
    generation: int = 0
    version: str = ""
    steps: Sequence[tuple[str, str, float, float]] = ()


class Evicted(msgspec.Struct, frozen=True, gc=False):
    """A pod was evicted from `node`, because `by` needed room.

    `what` is kube's word for the kind of `by`. `room_on` is the node where the room is: another
    than `node` for a pod that leaves with its group, and "cluster" if the room is for a group.
    `way` is how: by deletion, by the Eviction API, or in memory, if it waited at Permit and was
    sent back; or the pod was only chosen, and its outcome is unknown.
    """

    pod: str
    uid: str
    node: str
    priority: int
    by: str
    by_uid: str
    by_priority: int | None
    what: str
    room_on: str
    profile: str
    way: Literal["deletion", "eviction", "memory", "chosen"]
    time: float


Outcome = Literal["success", "refused", "unchanged"]


class Reloaded(msgspec.Struct, frozen=True):
    """A configuration was read again: it took over, was refused, or was unchanged.

    `generation` and `digest` are those of the configuration in force now; `canaries` are its
    (profile, version, percent). `message` is the error, `restart` the settings that need a restart.
    """

    outcome: Outcome
    generation: int
    digest: str
    source: str = ""
    message: str = ""
    restart: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    canaries: tuple[tuple[str, str, float], ...] = ()


class Compared(msgspec.Struct, frozen=True):
    """A canary was compared with the stable version once more."""

    profile: str
    version: str
    look: int
    summary: str


class RolledBack(msgspec.Struct, frozen=True):
    """A canary was rolled back."""

    profile: str
    version: str
    reason: str
