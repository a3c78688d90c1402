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

    `seconds` is the time from popping the pod to its being assumed or given up. An attempt whose
    binding fails is told twice: as scheduled, and then, under the same id, as what became of it.
    `trace` is the id of the trace it is kept in, if it is.
    `plugin` and `point` name the plugin whose exception ended the attempt. `generation` is that of
    the configuration that decided, `version` that of the profile, while it has several.
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
    """What each plugin gave the chosen node, weighted; nothing where there was no choice."""
    runners_up: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    """The next best nodes, and the same of them; not told of every attempt."""
    steps: Sequence[tuple[str, str, float, float]] = ()
    """Each extension point, how it ended, when it began, and the seconds it took."""


class Bound(msgspec.Struct, frozen=True, gc=False):
    """A pod was bound.

    `seconds` is the time of the whole attempt; `since_added` counts from when the pod was first
    queued, `since_ready` from when it was first ready to be attempted. `flushed` tells that only
    the passing of time had brought the pod back.
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
    """A pod had to leave `node`, since `by` needed room.

    `what` is kube's word for the kind of `by`, `room_on` the node where the room is: for a pod
    that leaves with its group it is another than `node`; where a group makes room it is "cluster".
    `way` tells how: its deletion or eviction was asked for; it waited for permission and was sent
    back, in memory; or it was chosen, and nobody tells what came of that.
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
    """A configuration was read again: it took over, was refused, or says what the one before says.

    `generation` and `digest` are those of the one in force now; `canaries` are its (profile,
    version, percent). `message` tells what was wrong, `restart` what needs a restart.
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
    """A canary was compared with the stable version, for the so-manieth time."""

    profile: str
    version: str
    look: int
    summary: str


class RolledBack(msgspec.Struct, frozen=True):
    """A canary was given up."""

    profile: str
    version: str
    reason: str
