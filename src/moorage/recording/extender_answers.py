"""The answers of extenders: recorded while they are called, and given again in a replay."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.framework.extenders import (
    Extender,
    ExtenderError,
    ExtenderFilterResult,
    Extenders,
    ExtenderVictims,
)
from moorage.recording.entries import ExtenderSaid
from moorage.recording.recorded_cache import ChangeLog

T = TypeVar("T")
FILTER, PREEMPT, PRIORITIZE = "filter", "preempt", "prioritize"


class NotedExtenders:
    """Extenders with recorded answers; the cache may change while one is called."""

    def __init__(self, extenders: Extenders, log: ChangeLog) -> None:
        self._extenders = extenders
        self._log = log
        self.said: list[ExtenderSaid] = []

    def __iter__(self) -> Iterator[Extender]:
        return (_Noted(each, self) for each in self._extenders)

    def __bool__(self) -> bool:
        return bool(self._extenders)

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, dict[str, int]]]:
        self._log.muted = False
        try:
            answer = self._extenders.prioritize(pod, nodes)
        finally:
            self._log.muted = True
        self.said.append(ExtenderSaid("", PRIORITIZE, [list(each) for each in answer]))
        return answer

    def skipped(self, extender: Extender, verb: str, error: Exception) -> None:
        self._extenders.skipped(extender, verb, error)

    def asked(self, extender: Extender, verb: str, ask: Callable[[], T]) -> T:
        """The answer of an extender; its error is recorded, too."""
        self._log.muted = False
        try:
            return ask()
        except ExtenderError as error:
            said = ExtenderSaid(extender.name, verb, None, str(error), extender.ignorable)
            self.said.append(said)
            raise
        finally:
            self._log.muted = True


class _Noted:
    """One extender whose answers are recorded."""

    def __init__(self, extender: Extender, whole: NotedExtenders) -> None:
        self._extender = extender
        self._whole = whole
        self.name, self.ignorable = extender.name, extender.ignorable
        self.filters, self.preempts, self.binds = (
            extender.filters,
            extender.preempts,
            extender.binds,
        )

    def is_interested(self, pod: Pod) -> bool:
        return self._extender.is_interested(pod)

    def filter(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderFilterResult:
        found = self._whole.asked(self, FILTER, lambda: self._extender.filter(pod, nodes))
        self._keep(FILTER, [list(found.names), dict(found.failed), dict(found.unresolvable)])
        return found

    def preempt(
        self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, ExtenderVictims]:
        found = self._whole.asked(self, PREEMPT, lambda: self._extender.preempt(pod, victims))
        kept = {node: [list(each.uids), each.violations] for node, each in found.items()}
        self._keep(PREEMPT, kept)
        return found

    def _keep(self, verb: str, answer: Any) -> None:
        self._whole.said.append(ExtenderSaid(self.name, verb, answer, "", self.ignorable))

    async def bind(self, pod: Pod, node: str) -> None:
        await self._extender.bind(pod, node)


class GivenExtenders:
    """The extenders of a recording: each call gets its recorded answer.

    A call that was not recorded raises an ExtenderError.
    """

    def __init__(self, said: Sequence[ExtenderSaid]) -> None:
        self._said = list(said)
        self._named = {each.extender: each.ignorable for each in said if each.extender}

    def __iter__(self) -> Iterator[Extender]:
        return (_Given(name, ignorable, self) for name, ignorable in self._named.items())

    def __bool__(self) -> bool:
        return True

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, dict[str, int]]]:
        return [(name, dict(scores)) for name, scores in self.answer("", PRIORITIZE)]

    def skipped(self, extender: Extender, verb: str, error: Exception) -> None:
        """Do nothing: it was reported when it was recorded."""

    def has_answer(self, name: str, verb: str) -> bool:
        """Whether the next recorded answer is that of this extender and verb."""
        return bool(self._said) and (self._said[0].extender, self._said[0].verb) == (name, verb)

    def answer(self, name: str, verb: str) -> Any:
        if not self.has_answer(name, verb):
            raise ExtenderError(f"{verb}: the recording has no such answer of {name or 'any'}")
        said = self._said.pop(0)
        if said.error:
            raise ExtenderError(said.error)
        return said.answer


class _Given:
    """One extender of a recording; it is called only where the recording has its answer."""

    binds = False

    def __init__(self, name: str, ignorable: bool, whole: GivenExtenders) -> None:
        self.name, self.ignorable = name, ignorable
        self._whole = whole

    @property
    def filters(self) -> bool:
        return self._whole.has_answer(self.name, FILTER)

    @property
    def preempts(self) -> bool:
        return self._whole.has_answer(self.name, PREEMPT)

    def is_interested(self, pod: Pod) -> bool:
        return True

    def filter(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderFilterResult:
        names, failed, unresolvable = self._whole.answer(self.name, FILTER)
        return ExtenderFilterResult(names, failed, unresolvable)

    def preempt(
        self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, ExtenderVictims]:
        found = self._whole.answer(self.name, PREEMPT)
        return {node: ExtenderVictims(tuple(uids), count) for node, (uids, count) in found.items()}

    async def bind(self, pod: Pod, node: str) -> None:
        """Do nothing: a replay binds no pods."""
