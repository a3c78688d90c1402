"""Extenders: HTTP services that take part in decisions, as the engine sees them.

kube-scheduler's contract: an extender may filter the nodes that plugins left, add to their scores,
narrow the candidates for preemption, and bind. The engine does not know how it is called.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.framework.verdicts import MAX_SCORE, SchedulingError

EXTENDER: Final = "Extender"
"""The plugin name under which refusals of extenders are reported."""
MAX_EXTENDER_SCORE: Final = 10
SCALE: Final = MAX_SCORE // MAX_EXTENDER_SCORE
"""An extender scores from 0 to 10; its scores are multiplied by this and by its weight."""


class ExtenderError(SchedulingError):
    """An extender did not answer, or its answer is invalid."""


class ExtenderFilterResult(NamedTuple):
    """The nodes an extender lets pass, and its reasons for refusing others, by node name.

    Nodes in neither are refused without a reason.
    """

    names: Sequence[str]
    failed: Mapping[str, str] = {}
    unresolvable: Mapping[str, str] = {}


class ExtenderVictims(NamedTuple):
    """The uids of pods to evict from a node, and how many evictions violate a disruption budget."""

    uids: tuple[str, ...]
    violations: int = 0


class Extender(Protocol):
    """One extender. Each call of it may raise ExtenderError."""

    @property
    def name(self) -> str:
        """Where it is."""
        ...

    @property
    def ignorable(self) -> bool:
        """Whether decisions go on without it if it fails."""
        ...

    @property
    def filters(self) -> bool: ...

    @property
    def preempts(self) -> bool: ...

    @property
    def binds(self) -> bool: ...

    def is_interested(self, pod: Pod) -> bool:
        """Whether the pod requests a resource it manages; if it manages none, always True."""
        ...

    def filter(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderFilterResult: ...

    def preempt(
        self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, ExtenderVictims]:
        """The candidate nodes that remain, out of those given with their victims and violations."""
        ...

    async def bind(self, pod: Pod, node: str) -> None: ...


class Extenders(Protocol):
    """All extenders; those that are `ignorable` come last."""

    def __iter__(self) -> Iterator[Extender]: ...

    def __bool__(self) -> bool: ...

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, dict[str, int]]]:
        """(name, weighted score by node) of each extender that answered; all are asked at once."""
        ...

    def skipped(self, extender: Extender, verb: str, error: Exception) -> None:
        """Report that an extender failed, and that the decision goes on without it."""
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
