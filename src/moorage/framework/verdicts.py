"""What a plugin may answer: Rejection, Skip, Wait, NodeNames, Nominated; and the errors.

Expected outcomes are values: `None` (it fits, go on), a `Rejection`, `SKIP`, a `Wait`, a set of
`NodeNames`. Surprises are exceptions: whatever a plugin raises becomes kube-scheduler's Error,
costs the pod one attempt, and names the plugin and the extension point.

    SchedulingError                whatever stops one attempt
    ├── NoNodesError               the cluster has no nodes
    └── PluginError                a plugin raised, or gave an invalid answer
"""

import enum
from numbers import Real
from typing import Final

import msgspec

from moorage.api.pod import Pod

MAX_SCORE: Final = 100
MIN_SCORE: Final = 0


class Code(enum.Enum):
    """kube-scheduler's status codes for refusals."""

    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    PENDING = "Pending"


class Rejection(msgspec.Struct, frozen=True):
    """An expected refusal. The engine fills in `plugin`."""

    code: Code
    reasons: tuple[str, ...]
    plugin: str = ""

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> "Rejection":
        return msgspec.structs.replace(self, plugin=plugin) if not self.plugin else self


def unschedulable(*reasons: str) -> Rejection:
    """Refuse, but removing pods from the node (preemption) may help."""
    return _refuse(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Rejection:
    """Refuse, and no preemption on this node will help."""
    return _refuse(Code.UNRESOLVABLE, reasons)


def pending(*reasons: str) -> Rejection:
    """Refuse until an event of the plugin's own arrives; the retry does not back off."""
    return _refuse(Code.PENDING, reasons)


def _refuse(code: Code, reasons: tuple[str, ...]) -> Rejection:
    for reason in reasons:
        if type(reason) is not str and not isinstance(reason, str):
            raise TypeError(f"the reason {reason!r} is no text: give one or several, one by one")
    return Rejection(code, reasons)


class Skip(enum.Enum):
    """PreFilter, PreScore: leave out the plugin's Filter or Score. Bind: ask the next plugin."""

    SKIP = "Skip"


SKIP: Final = Skip.SKIP


class NodeNames(msgspec.Struct, frozen=True):
    """PreFilter: only these nodes can be feasible; do not filter the others."""

    names: frozenset[str]


class Wait(msgspec.Struct, frozen=True):
    """Permit: hold the pod until it is allowed or rejected, or this many seconds have passed,
    a quarter of an hour at most."""

    seconds: float

    def __post_init__(self) -> None:
        if not isinstance(self.seconds, Real) or not self.seconds > 0:
            raise ValueError(f"Wait({self.seconds!r}): say how many seconds, as a number above 0")


class Nominated(msgspec.Struct, frozen=True):
    """PostFilter: room is being made for the pod on this node. An empty `node` clears a nomination.

    `victims` will be evicted, the most important first; `cleared` are the uids of pods that lose
    their own nomination.
    """

    node: str
    message: str = ""
    victims: tuple[Pod, ...] = ()
    cleared: tuple[str, ...] = ()


class SchedulingError(Exception):
    """Whatever stops one attempt; the pod is retried after its backoff."""


class NoNodesError(SchedulingError):
    """The cluster has no nodes; it is reported as Unschedulable, not as an error."""

    def __init__(self) -> None:
        super().__init__("no nodes available to schedule pods")


class PluginError(SchedulingError):
    """A plugin raised, or gave an answer that its extension point does not allow."""

    def __init__(self, plugin: str, point: str, detail: str) -> None:
        super().__init__(f"running {point} plugin {plugin!r}: {detail}")
        self.plugin = plugin
        self.point = point
        self.detail = detail


class ScoreRangeError(PluginError):
    """A score that is not 0 to 100 after normalisation; a node's amounts may have overflowed."""
