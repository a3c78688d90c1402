"""One record per decision, the same for logs, metrics, explanations and simulations."""

import enum

import msgspec


class Result(enum.Enum):
    """kube-scheduler's result labels."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """One attempt at one pod, and how it ended.

    `seconds` is the time from popping the pod to its being assumed or given up.
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


class Bound(msgspec.Struct, frozen=True, gc=False):
    """A pod was bound; `since_added` counts from when it was first queued."""

    attempt: str
    pod: str
    uid: str
    profile: str
    node: str
    time: float
    attempts: int
    since_added: float
