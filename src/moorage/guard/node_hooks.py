"""Guarded wrappers of Filter, Score and NormalizeScore over many nodes in one call."""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.cache.node_view import Nodes
from moorage.framework.verdicts import Code, Rejection
from moorage.guard import answer_checks
from moorage.guard.answer_checks import WrongAnswer
from moorage.guard.hook_wrappers import Function, score_when_off
from moorage.guard.plugin_guard import Guard, LeftOut
from moorage.guard.read_only_objects import EMPTY, ReadOnlyDict, seal


def filter_each(guard: Guard, function: Function) -> Function:
    """A `filter_each` that calls the scalar `filter` for all nodes in one guarded call."""
    hook = guard.hook("Filter")

    def run(plugin: Any, cycle: Any, pod: Any, nodes: list[Node]) -> list[Rejection | None]:
        found: list[Rejection | None] = []
        for node in nodes:
            labels = node.metadata.labels
            if type(labels) is not ReadOnlyDict and labels is not EMPTY:
                seal(node)
            answer = function(plugin, cycle, pod, node)
            if answer is not None and not _may_be_rejection(answer):
                check_node_answer(hook.point, answer, node)
            found.append(answer)
        return found

    def each(self: Any, cycle: Any, pod: Any, nodes: list[Node]) -> list[Rejection | None]:
        try:
            guard.admit(hook, cycle)
        except LeftOut:
            return [None] * len(nodes)
        seal(pod)
        found: list[Rejection | None] = guard.call(hook, pod, run, self, cycle, pod, nodes)
        return found

    return each


def _may_be_rejection(answer: Any) -> bool:
    """Whether it has the form of one; texts were looked at where it was made."""
    return (
        isinstance(answer, Rejection)
        and type(answer.reasons) is tuple
        and type(answer.code) is Code
    )


def check_node_answer(point: str, answer: Any, node: Node) -> None:
    """Raise WrongAnswer, with the node's name, if an answer is invalid."""
    try:
        answer_checks.check_answer(point, answer)
    except WrongAnswer as wrong:
        raise WrongAnswer(f"{wrong} (asked about node {node.name})") from None


def score_each(guard: Guard, function: Function) -> Function:
    """A `score_each` that calls the scalar `score` for all nodes in one guarded call."""
    hook = guard.hook("Score")

    def run(plugin: Any, cycle: Any, pod: Any, nodes: list[Node]) -> list[int]:
        normalizes, found = guard.normalizes, []
        for node in nodes:
            labels = node.metadata.labels
            if type(labels) is not ReadOnlyDict and labels is not EMPTY:
                seal(node)
            answer = function(plugin, cycle, pod, node)
            if type(answer) is not int or not 0 <= answer <= 100:
                answer = answer_checks.check_score(answer, node, normalizes)
            found.append(answer)
        return found

    def each(self: Any, cycle: Any, pod: Any, nodes: list[Node]) -> list[int]:
        try:
            guard.admit(hook, cycle)
        except LeftOut:
            return [score_when_off(guard)] * len(nodes)
        seal(pod)
        found: list[int] = guard.call(hook, pod, run, self, cycle, pod, nodes)
        return found

    return each


def filter_all(guard: Guard, function: Function) -> Function:
    def check(out: NDArray[Any], nodes: Nodes) -> None:
        answer_checks.check_codes(out, lambda position: nodes.node(position).name)

    return _vector(guard, "Filter", function, check)


def score_all(guard: Guard, function: Function) -> Function:
    def check(out: NDArray[Any], nodes: Nodes) -> None:
        if not guard.normalizes:
            answer_checks.check_scores(out, lambda position: nodes.node(position).name)

    def left_out(out: NDArray[Any]) -> None:
        out[:] = score_when_off(guard)

    return _vector(guard, "Score", function, check, left_out)


def normalize(guard: Guard, function: Function) -> Function:
    """`normalize`; if all nodes have the same score, `scores` has one entry for any of them."""

    def check(scores: NDArray[Any], nodes: Nodes) -> None:
        answer_checks.check_scores(scores, lambda position: nodes.node(position).name)

    return _vector(guard, "NormalizeScore", function, check, written="scores")


def _vector(
    guard: Guard,
    point: str,
    function: Function,
    check: Callable[[NDArray[Any], Nodes], None],
    left_out: Callable[[NDArray[Any]], None] = lambda out: None,
    written: str = "out",
) -> Function:
    """Wrapper of a vector hook; `left_out` writes `out` if the plugin is switched off."""
    hook = guard.hook(point)

    def run(plugin: Any, cycle: Any, pod: Any, nodes: Nodes, out: NDArray[Any]) -> None:
        answer_checks.check_returns_nothing(function(plugin, cycle, pod, nodes, out), written)
        check(out, nodes)

    def call(self: Any, cycle: Any, pod: Any, nodes: Nodes, out: NDArray[Any]) -> None:
        try:
            guard.admit(hook, cycle)
        except LeftOut:
            left_out(out)
            return
        seal(pod)
        guard.call(hook, pod, run, self, cycle, pod, nodes, out)

    return call
