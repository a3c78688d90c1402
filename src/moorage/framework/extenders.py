"""Extenders: HTTP services that take part in decisions, as the engine sees them.

kube-scheduler's own contract: an extender may filter the nodes that plugins left, add to their
scores, have a say in preemption, and bind. How it is asked is not the engine's business.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.framework.verdicts import MAX_SCORE, SchedulingError

EXTENDER: Final = "Extender"
"""The plugin that is named where extenders refuse a pod."""
MAX_EXTENDER_SCORE: Final = 10
SCALE: Final = MAX_SCORE // MAX_EXTENDER_SCORE
"""An extender scores from 0 to 10; what it says is multiplied by this and by its weight."""


class ExtenderError(SchedulingError):
    """An extender did not answer, or answered what makes no sense."""


class ExtenderFilterResult(NamedTuple):
    """The nodes an extender lets pass, and why it refused others, by name.

    Nodes in neither are refused without a word.
    """

    names: Sequence[str]
    failed: Mapping[str, str] = {}
    unresolvable: Mapping[str, str] = {}


class ExtenderVictims(NamedTuple):
    """The uids of pods that would be evicted from a node, and how many against a budget's will."""

    uids: tuple[str, ...]
    violations: int = 0


class Extender(Protocol):
    """One extender. Whatever is asked of it may raise ExtenderError."""

    @property
    def name(self) -> str:
        """Where it is."""
        ...

    @property
    def ignorable(self) -> bool:
        """Whether decisions go on without it where it fails."""
        ...

    @property
    def filters(self) -> bool: ...

    @property
    def preempts(self) -> bool: ...

    @property
    def binds(self) -> bool: ...

    def is_interested(self, pod: Pod) -> bool:
        """Whether the pod asks for what it manages; one that manages nothing has a say on all."""
        ...

    def filter(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderFilterResult: ...

    def preempt(
        self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, ExtenderVictims]:
        """The candidates that remain; given are the victims and violations of each node."""
        ...

    async def bind(self, pod: Pod, node: str) -> None: ...


class Extenders(Protocol):
    """All extenders, those that may be ignored last."""

    def __iter__(self) -> Iterator[Extender]: ...

    def __bool__(self) -> bool: ...

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, dict[str, int]]]:
        """Name and weighted scores of each extender that answered; all are asked at once."""
        ...

    def skipped(self, extender: Extender, verb: str, error: Exception) -> None:
        """An extender failed, and the decision goes on without it."""
        ...


class _Nobody:
    def __iter__(self) -> Iterator[Extender]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, dict[str, int]]]:
        return []

    def skipped(self, extender: Extender, verb: str, error: Exception) -> None:
        return None


NO_EXTENDERS: Final[Extenders] = _Nobody()
