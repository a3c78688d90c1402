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
    `first_attempt` when it was first ready to be attempted. `flushed`: the attempt is due to the
    timeout for unschedulable pods, and to no event.
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
        """The pod as it was filtered in its last attempt, if a plugin had changed it."""
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
        """The pod in the queue in whose place QueueSort gets this one; None for a queued pod."""

    @property
    def judged(self) -> Pod:
        """The pod that plugins refused, and that their hints are about."""
        return self.info.pod if self.seen_as is None else self.seen_as

    @property
    def is_ahead(self) -> bool:
        """Whether the pod is active or backs off after a refusal."""
        return (self.stands_for or self).state in _IN_LINE

    @property
    def refused_by(self) -> frozenset[str]:
        """The plugins that refused the pod, be it as unschedulable or as pending."""
        if not self.pending_plugins:
            return self.unschedulable_plugins
        return self.unschedulable_plugins | self.pending_plugins

    def __repr__(self) -> str:
        return f"QueuedPod({self.info.pod.key}, {self.state.value}, attempts={self.attempts})"
