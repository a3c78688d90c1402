"""A pod in the queue, with its history of attempts."""

import enum

from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo


class State(enum.Enum):
    """Where a pod is, as the scheduling queue sees it."""

    OUTSIDE = "outside"
    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"

    __hash__ = object.__hash__


NO_PLUGINS: frozenset[str] = frozenset()
_IN_LINE = frozenset({State.ACTIVE, State.BACKOFF})


class QueuedPod:
    """kube-scheduler's QueuedPodInfo. The scheduling queue writes it, others read.

    `timestamp` is when the pod last came to the queue, `entered` when it first did, and
    `first_attempt` when it was first ready to be attempted; `flushed` tells that the attempt
    was owed to the passing of time and to no event.
    """

    __slots__ = (
        "attempts",
        "backoff_until",
        "consecutive_errors",
        "deleted",
        "entered",
        "first_attempt",
        "flushed",
        "flushed_at",
        "gated_by",
        "gated_reason",
        "info",
        "latest",
        "pending_plugins",
        "seen_as",
        "sequence",
        "stands_for",
        "state",
        "timestamp",
        "unschedulable_count",
        "unschedulable_plugins",
    )

    def __init__(self, info: PodInfo, timestamp: float) -> None:
        self.info = info
        self.latest = info
        self.seen_as: Pod | None = None
        """The pod as it was judged in its last attempt, where a plugin had changed it."""
        self.timestamp = timestamp
        self.entered = timestamp
        self.first_attempt: float | None = None
        self.attempts = 0
        self.unschedulable_count = 0
        self.consecutive_errors = 0
        self.unschedulable_plugins = NO_PLUGINS
        self.pending_plugins = NO_PLUGINS
        self.gated_by = ""
        self.gated_reason = ""
        self.backoff_until: float | None = None
        self.flushed = False
        self.flushed_at = timestamp
        self.deleted = False
        self.state = State.OUTSIDE
        self.sequence = 0
        self.stands_for: QueuedPod | None = None
        """The pod that is in the queue, where this one is only shown to QueueSort in its place."""

    @property
    def judged(self) -> Pod:
        """The pod that plugins refused, and that their hints are about."""
        return self.info.pod if self.seen_as is None else self.seen_as

    @property
    def is_ahead(self) -> bool:
        """Whether the pod stands in line to be attempted."""
        return (self.stands_for or self).state in _IN_LINE

    @property
    def refused_by(self) -> frozenset[str]:
        """The plugins that refused the pod, be it as unschedulable or as pending."""
        if not self.pending_plugins:
            return self.unschedulable_plugins
        return self.unschedulable_plugins | self.pending_plugins

    def __repr__(self) -> str:
        return f"QueuedPod({self.info.pod.key}, {self.state.value}, attempts={self.attempts})"
