"""A pod in the queue, with its history of attempts."""

from moorage.cache.podinfo import PodInfo


class QueuedPod:
    """kube-scheduler's QueuedPodInfo."""

    __slots__ = (
        "attempts",
        "consecutive_errors",
        "entered",
        "first_attempt",
        "flushed",
        "gated_by",
        "info",
        "pending_plugins",
        "timestamp",
        "unschedulable_count",
        "unschedulable_plugins",
    )

    def __init__(self, info: PodInfo, timestamp: float) -> None:
        self.info = info
        self.timestamp = timestamp
        self.entered = timestamp
        self.first_attempt: float | None = None
        self.attempts = 0
        self.unschedulable_count = 0
        self.consecutive_errors = 0
        self.unschedulable_plugins: set[str] = set()
        self.pending_plugins: set[str] = set()
        self.gated_by = ""
        self.flushed = False

    def __repr__(self) -> str:
        return f"QueuedPod({self.info.pod.key}, attempts={self.attempts})"
