"""A sample hook for each extension point, with its imports."""

from typing import NamedTuple


class Sample(NamedTuple):
    """`base` is the class of the point; `imports` are further names to import from `moorage`."""

    base: str
    imports: tuple[str, ...]
    code: str
    events: bool = False


SAMPLES: dict[str, Sample] = {
    "pre_enqueue": Sample(
        "PreEnqueue",
        ("Pod", "Rejection", "unresolvable"),
        '''
    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        """Hold back a pod that is not approved yet; an update of the pod asks again."""
        waits = pod.annotations.get("example.com/approved") == "false"
        return unresolvable("waiting for approval") if waits else None
''',
    ),
    "queue_sort": Sample(
        "QueueSort",
        ("QueuedPod",),
        '''
    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        """The highest priority first, then the oldest."""
        return -queued.info.priority, queued.timestamp
''',
    ),
    "pre_filter": Sample(
        "PreFilter",
        ("SKIP", "Cycle", "Pod", "Skip"),
        '''
    def pre_filter(self, cycle: Cycle, pod: Pod) -> Skip | None:
        """Leave out my Filter for pods that do not ask for a value."""
        return None if self.label in pod.labels else SKIP
''',
    ),
    "filter": Sample(
        "Filter",
        ("Cycle", "Node", "Pod", "Rejection", "unresolvable"),
        '''
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        """A pod that asks for a value goes to nodes that have it."""
        wanted = pod.labels.get(self.label)
        if wanted is None or node.labels.get(self.label) == wanted:
            return None
        return unresolvable(REFUSED)
''',
    ),
    "post_filter": Sample(
        "PostFilter",
        ("Cycle", "Diagnosis", "Nominated", "Pod", "Rejection", "unschedulable"),
        '''
    def post_filter(
        self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis
    ) -> Nominated | Rejection | None:
        """Say whom to ask; what is said here ends the pod's FailedScheduling message."""
        return unschedulable("ask the platform team for more nodes")
''',
    ),
    "pre_score": Sample(
        "PreScore",
        ("SKIP", "Cycle", "Nodes", "Pod", "Skip"),
        '''
    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        """Leave out my Score for pods that say so."""
        return SKIP if pod.annotations.get("example.com/anywhere") == "true" else None
''',
    ),
    "score": Sample(
        "Score",
        ("MAX_SCORE", "Cycle", "Node", "Pod"),
        '''
    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        """Prefer nodes that have the preferred value."""
        return MAX_SCORE if node.labels.get(self.label) == self.preferred else 0
''',
    ),
    "reserve": Sample(
        "Reserve",
        ("Cycle", "Node", "Pod", "Rejection"),
        '''
    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        """Book what the pod needs outside of its node."""
        cycle.shared.setdefault("booked", set()).add(pod.uid)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        """Give back what was booked; called twice, it does no harm."""
        cycle.shared.setdefault("booked", set()).discard(pod.uid)
''',
    ),
    "permit": Sample(
        "Permit",
        ("Cycle", "Node", "Pod", "Rejection", "Wait"),
        '''
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | Wait | None:
        """Now (`None`), never (a rejection), or later (`Wait(seconds)`)."""
        return None
''',
    ),
    "pre_bind": Sample(
        "PreBind",
        ("Cycle", "Node", "Pod", "Rejection"),
        '''
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        """Make ready what the pod needs on its node; `await` whatever takes time."""
        return None
''',
    ),
    "bind": Sample(
        "Bind",
        ("SKIP", "Cycle", "Node", "Pod", "Skip"),
        '''
    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> Skip | None:
        """Leave the binding to the next binder."""
        return SKIP
''',
    ),
    "post_bind": Sample(
        "PostBind",
        ("Cycle", "Node", "Pod"),
        '''
    def post_bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        """Count what was bound."""
        cycle.shared["bound"] = cycle.shared.get("bound", 0) + 1
''',
    ),
}
"""Samples by the point's name in Python."""
