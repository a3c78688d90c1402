"""Hooks about many nodes: one guarded call for a whole pass, whichever form the plugin has."""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.cache.view import Nodes
from moorage.framework.verdicts import Rejection
from moorage.guard import answers
from moorage.guard.answers import Wrong
from moorage.guard.asking import Function, fallback
from moorage.guard.calling import Guard, Off
from moorage.guard.sealing import EMPTY, Sealed, seal


def filter_each(guard: Guard, function: Function) -> Function:
    """The scalar `filter` over some nodes."""
    hook = guard.hook("Filter")

    def run(plugin: Any, cycle: Any, pod: Any, nodes: list[Node]) -> list[Rejection | None]:
        found: list[Rejection | None] = []
        for node in nodes:
            labels = node.metadata.labels
            if type(labels) is not Sealed and labels is not EMPTY:
                seal(node)
            answer = function(plugin, cycle, pod, node)
            if answer is not None and not isinstance(answer, Rejection):
                about_node(hook.point, answer, node)
            found.append(answer)
        return found

    def each(self: Any, cycle: Any, pod: Any, nodes: list[Node]) -> list[Rejection | None]:
        try:
            guard.admit(hook, cycle)
        except Off:
            return [None] * len(nodes)
        seal(pod)
        found: list[Rejection | None] = guard.call(hook, pod, run, self, cycle, pod, nodes)
        return found

    return each


def about_node(point: str, answer: Any, node: Node) -> None:
    """Raise what is wrong with an answer, with the node it was about."""
    try:
        answers.check(point, answer)
    except Wrong as wrong:
        raise Wrong(f"{wrong} (asked about node {node.name})") from None


def score_each(guard: Guard, function: Function) -> Function:
    """The scalar `score` over some nodes."""
    hook = guard.hook("Score")

    def run(plugin: Any, cycle: Any, pod: Any, nodes: list[Node]) -> list[int]:
        normalizes, found = guard.normalizes, []
        for node in nodes:
            labels = node.metadata.labels
            if type(labels) is not Sealed and labels is not EMPTY:
                seal(node)
            answer = function(plugin, cycle, pod, node)
            if type(answer) is not int or not 0 <= answer <= 100:
                answer = answers.score(answer, node, normalizes)
            found.append(answer)
        return found

    def each(self: Any, cycle: Any, pod: Any, nodes: list[Node]) -> list[int]:
        try:
            guard.admit(hook, cycle)
        except Off:
            return [fallback(guard)] * len(nodes)
        seal(pod)
        found: list[int] = guard.call(hook, pod, run, self, cycle, pod, nodes)
        return found

    return each


def filter_all(guard: Guard, function: Function) -> Function:
    def check(out: NDArray[Any], nodes: Nodes) -> None:
        answers.codes(out, lambda position: nodes.node(position).name)

    return _vector(guard, "Filter", function, check)


def score_all(guard: Guard, function: Function) -> Function:
    def check(out: NDArray[Any], nodes: Nodes) -> None:
        if not guard.normalizes:
            answers.scores(out, lambda position: nodes.node(position).name)

    def left_out(out: NDArray[Any]) -> None:
        out[:] = fallback(guard)

    return _vector(guard, "Score", function, check, left_out)


def normalize(guard: Guard, function: Function) -> Function:
    """Where all nodes scored alike there is one score to normalise, whichever node it is of."""

    def check(scores: NDArray[Any], nodes: Nodes) -> None:
        answers.scores(scores, lambda position: nodes.node(position).name)

    return _vector(guard, "NormalizeScore", function, check)


def _vector(
    guard: Guard,
    point: str,
    function: Function,
    check: Callable[[NDArray[Any], Nodes], None],
    left_out: Callable[[NDArray[Any]], None] = lambda out: None,
) -> Function:
    """A hook that writes into an array; `left_out` writes where the plugin is switched off."""
    hook = guard.hook(point)

    def run(plugin: Any, cycle: Any, pod: Any, nodes: Nodes, out: NDArray[Any]) -> None:
        answers.nothing(function(plugin, cycle, pod, nodes, out))
        check(out, nodes)

    def call(self: Any, cycle: Any, pod: Any, nodes: Nodes, out: NDArray[Any]) -> None:
        try:
            guard.admit(hook, cycle)
        except Off:
            left_out(out)
            return
        seal(pod)
        guard.call(hook, pod, run, self, cycle, pod, nodes, out)

    return call
