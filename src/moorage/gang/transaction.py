"""A gang in one transaction: enough of its pods fit at once, or nothing is held.

1. The pods are tried one after the other, each with those before it in place.
2. As soon as too few are left to reach the number needed, the refusal of the first refused pod is
   explained with the others still in place, and everything is undone in reverse order.
3. Pods beyond the number needed are placed if they fit, and left out if they do not.

This is one synchronous call: no other code sees the table in between, and two groups can never each
hold half of what the other needs.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from moorage.cache.table import NodeTable
from moorage.cycle.attempt import Unschedulable
from moorage.framework.cycle import Cycle
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import Rejection

P = TypeVar("P")


class Refused(NamedTuple):
    """A pod that found no place, and why."""

    queued: QueuedPod
    cycle: Cycle
    why: Unschedulable | Rejection

    @property
    def plugins(self) -> set[str]:
        """The plugins that refused it."""
        if isinstance(self.why, Rejection):
            return {self.why.plugin}
        diagnosis = self.why.diagnosis
        return diagnosis.unschedulable_plugins | diagnosis.pending_plugins


class Whole(NamedTuple, Generic[P]):
    """Enough pods are placed; those refused were not needed."""

    placed: list[P]
    refused: list[Refused]


class Misfit(NamedTuple):
    """Too few pods fit, and none is placed.

    `fitting` is how many did fit, `needed` how many had to. `blocker` is the first refused pod.
    `preemption` is the message about making room for an equal group, if the result is known from
    one; else None.
    """

    fitting: int
    needed: int
    blocker: Refused | None = None
    refused: Sequence[Refused] = ()
    explanation: str = ""
    domain: str = ""
    preemption: str | None = None


class Trying(Protocol[P]):
    """A way to try pods one after the other: for real, or on the table only."""

    def attempt_one(
        self, queued: QueuedPod, nodes: frozenset[str] | None, claims: set[str]
    ) -> P | Refused: ...

    def undo(self, placed: P) -> None: ...


Attempt = Callable[[QueuedPod], P | Refused]
Explain = Callable[[Refused, Sequence[QueuedPod]], str]


def place_together(
    members: Sequence[QueuedPod],
    needed: int,
    attempt: Attempt[P],
    undo: Callable[[P], object],
    explain: Explain,
) -> Whole[P] | Misfit:
    """Place at least `needed` of the pods, or none; if `attempt` raises, everything is undone."""
    placed: list[P] = []
    refused: list[Refused] = []
    try:
        for position, member in enumerate(members):
            outcome = attempt(member)
            if not isinstance(outcome, Refused):
                placed.append(outcome)
                continue
            refused.append(outcome)
            left = members[position + 1 :]
            if len(placed) + len(left) < needed:
                missing = [refusal.queued for refusal in refused] + list(left)
                why = explain(refused[0], missing[: needed - len(placed)])
                _undo(placed, undo)
                return Misfit(len(placed), needed, refused[0], refused, why)
    except BaseException:
        _undo(placed, undo)
        raise
    if len(placed) < needed:
        _undo(placed, undo)
        return Misfit(len(placed), needed, None, refused)
    return Whole(placed, refused)


def place_left_over(whole: Whole[P], attempt: Attempt[P], undo: Callable[[P], object]) -> Whole[P]:
    """Try in another way the pods that were refused and not needed."""
    placed, refused = list(whole.placed), []
    try:
        for each in whole.refused:
            outcome = attempt(each.queued)
            if isinstance(outcome, Refused):
                refused.append(outcome)
            else:
                placed.append(outcome)
    except BaseException:
        _undo(placed, undo)
        raise
    return Whole(placed, refused)


def _undo(placed: Iterable[P], undo: Callable[[P], object]) -> None:
    for outcome in reversed(list(placed)):
        undo(outcome)


def in_order(members: Iterable[QueuedPod], table: NodeTable) -> list[QueuedPod]:
    """The order in which to try pods: by priority, then large ones first, then by arrival.

    Large pods fit in fewer places.
    """
    offered = [max(int(amount), 1) for amount in table.allocatable.sum(axis=1)]

    def share(queued: QueuedPod) -> float:
        known = [(index, asked) for index, asked in queued.info.requests if index < len(offered)]
        return max((asked / offered[index] for index, asked in known), default=0.0)

    return sorted(
        members,
        key=lambda queued: (-queued.info.priority, -share(queued), queued.entered),
    )
