"""The extenders of a configuration, called over HTTP as kube-scheduler calls them."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from moorage.api import int64
from moorage.api.node import Node
from moorage.api.pod import Container, Pod
from moorage.config import types as config
from moorage.config.field_errors import ConfigError, Problem
from moorage.extender import protocol
from moorage.extender.async_bridge import AsyncBridge
from moorage.extender.http_sender import CallObserver, ExtenderSender, ExtenderTlsError, tls_context
from moorage.extender.request_bodies import RequestBodies
from moorage.framework.extenders import (
    SCALE,
    Extender,
    ExtenderError,
    ExtenderFilterResult,
    ExtenderVictims,
)

T = TypeVar("T")


class ExtenderObserver(Protocol):
    """Is told of calls to extenders, and of their failures."""

    def called(self, extender: str, verb: str, result: str, seconds: float) -> None: ...

    def failed(self, pod: str, attempt: str, error: BaseException) -> None: ...


class HttpExtender:
    """One extender; it is asked only for the verbs that are configured."""

    def __init__(
        self,
        given: config.Extender,
        bodies: RequestBodies,
        asking: AsyncBridge,
        called: CallObserver,
    ) -> None:
        self.given = given
        self.name = given.url_prefix
        self.ignorable = given.ignorable
        self.filters = bool(given.filter_verb)
        self.prioritizes = bool(given.prioritize_verb)
        self.preempts = bool(given.preempt_verb)
        self.binds = bool(given.bind_verb)
        self.sender = ExtenderSender(given, called)
        self._managed = frozenset(resource.name for resource in given.managed_resources)
        self._bodies = bodies
        self._asking = asking

    def is_interested(self, pod: Pod) -> bool:
        """Whether the pod requests a resource that it manages; True if it manages none."""
        if not self._managed:
            return True
        spec = pod.spec
        return any(map(self._manages, (*spec.containers, *spec.init_containers)))

    def _manages(self, container: Container) -> bool:
        asked = container.resources
        return not self._managed.isdisjoint({*asked.requests, *asked.limits})

    def filter(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderFilterResult:
        """Ask which of the nodes pass."""
        found = self._ask(
            self.given.filter_verb, self._args(pod, nodes), protocol.ExtenderFilterResult
        )
        if found.error:
            raise ExtenderError(found.error)
        return ExtenderFilterResult(
            self._passed(found), found.failed_nodes or {}, found.failed_and_unresolvable_nodes or {}
        )

    def _passed(self, found: protocol.ExtenderFilterResult) -> list[str]:
        if self.given.node_cache_capable and found.node_names is not None:
            return found.node_names
        return [] if found.nodes is None else self._bodies.names(found.nodes)

    async def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
        """Node -> what it adds to the score, weighted."""
        verb, args = self.given.prioritize_verb, self._args(pod, nodes)
        found = await self.sender.send(verb, args, list[protocol.HostPriority])
        factor = self.given.weight * SCALE
        scores = {host.host: int64.wrap(host.score * factor) for host in found}
        if len(scores) < len(found):  # what is said twice of a node counts twice
            scores = dict.fromkeys(scores, 0)
            for host in found:
                scores[host.host] = int64.wrap(scores[host.host] + host.score * factor)
        return scores

    def preempt(
        self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, ExtenderVictims]:
        """The candidate nodes that it leaves, and their victims."""
        body = self._bodies.preemption(pod, victims, by_uid=self.given.node_cache_capable)
        found = self._ask(self.given.preempt_verb, body, protocol.ExtenderPreemptionResult)
        answer = found.node_name_to_meta_victims or {}
        return {
            node: ExtenderVictims(
                tuple(pod.uid for pod in left.pods or ()), left.num_pdb_violations
            )
            for node, left in answer.items()
        }

    async def bind(self, pod: Pod, node: str) -> None:
        """Ask it to bind the pod."""
        args = protocol.ExtenderBindingArgs(
            pod_name=pod.name, pod_namespace=pod.namespace, pod_uid=pod.uid, node=node
        )
        body = msgspec.json.encode(args)
        found = await self.sender.send(self.given.bind_verb, body, protocol.ExtenderBindingResult)
        if found.error:
            raise ExtenderError(found.error)

    def _args(self, pod: Pod, nodes: Sequence[Node]) -> bytes:
        return self._bodies.args(pod, nodes, by_name=self.given.node_cache_capable)

    def _ask(self, verb: str, body: bytes, kind: type[T]) -> T:
        return self._asking.ask(lambda: self.sender.send(verb, body, kind))


class HttpExtenders:
    """All extenders of a configuration; those that are `ignorable` are asked last.

    `asking` lets decisions wait for answers. `observer` is told of calls, and of extenders without
    which decisions went on.
    """

    def __init__(
        self,
        given: Iterable[config.Extender],
        asking: AsyncBridge,
        observer: ExtenderObserver | None = None,
    ) -> None:
        self.asking = asking
        self.observer = observer
        bodies = RequestBodies()
        made = [HttpExtender(each, bodies, asking, self._called) for each in given]
        self._extenders = sorted(made, key=lambda extender: extender.ignorable)

    def __iter__(self) -> Iterator[HttpExtender]:
        return iter(self._extenders)

    def __bool__(self) -> bool:
        return bool(self._extenders)

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, dict[str, int]]]:
        """(name, scores by node) of the extenders that answered; all are asked at once."""
        asked = [e for e in self._extenders if e.prioritizes and e.is_interested(pod)]
        if not asked:
            return []
        answers = self.asking.ask(
            lambda: _gather_answers([e.prioritize(pod, nodes) for e in asked])
        )
        found = []
        for extender, answer in zip(asked, answers, strict=True):
            if isinstance(answer, Exception):
                self.skipped(extender, "prioritize", answer)
            else:
                found.append((extender.name, answer))
        return found

    def skipped(self, extender: Extender, verb: str, error: Exception) -> None:
        """Report that a decision goes on without an extender."""
        if self.observer is not None:
            self.observer.failed(f"extender/{extender.name}", "", error)

    def _called(self, extender: str, verb: str, result: str, seconds: float) -> None:
        if self.observer is not None:
            self.observer.called(extender, verb, result, seconds)

    async def close(self) -> None:
        """Close the connections that were opened on this event loop."""
        for extender in self._extenders:
            await extender.sender.close()


async def _gather_answers(work: Sequence[Coroutine[Any, Any, T]]) -> list[T | ExtenderError]:
    """The results of all coroutines, run at once; an ExtenderError in place of a result."""
    answers = await asyncio.gather(*work, return_exceptions=True)
    found: list[T | ExtenderError] = []
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, ExtenderError):
            raise answer
        found.append(answer)
    return found


def build_extenders(
    given: Sequence[config.Extender], asking: AsyncBridge, observer: ExtenderObserver | None = None
) -> HttpExtenders | None:
    """The extenders; None if there are none. ConfigError if one has unusable TLS settings."""
    problems = []
    for position, extender in enumerate(given):
        try:
            tls_context(extender)
        except ExtenderTlsError as error:
            problems.append(Problem(f"extenders[{position}]", str(error)))
    if problems:
        raise ConfigError(problems)
    return HttpExtenders(given, asking, observer) if given else None
