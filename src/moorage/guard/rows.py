"""Hooks about many nodes: one guarded call for a whole pass, whichever form the plugin has."""

from typing import Any

import numpy as np
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
    hook = guard.hook("Filter")

    def run(plugin: Any, cycle: Any, pod: Any, nodes: Nodes, out: NDArray[np.int32]) -> None:
        answers.nothing(function(plugin, cycle, pod, nodes, out))
        answers.codes(out, lambda position: nodes.node(position).name)

    def call(self: Any, cycle: Any, pod: Any, nodes: Nodes, out: NDArray[np.int32]) -> None:
        try:
            guard.admit(hook, cycle)
        except Off:
            return
        seal(pod)
        guard.call(hook, pod, run, self, cycle, pod, nodes, out)

    return call


def score_all(guard: Guard, function: Function) -> Function:
    hook = guard.hook("Score")

    def run(plugin: Any, cycle: Any, pod: Any, nodes: Nodes, out: NDArray[np.int64]) -> None:
        answers.nothing(function(plugin, cycle, pod, nodes, out))
        if not guard.normalizes:
            answers.scores(out, lambda position: nodes.node(position).name)

    def call(self: Any, cycle: Any, pod: Any, nodes: Nodes, out: NDArray[np.int64]) -> None:
        try:
            guard.admit(hook, cycle)
        except Off:
            out[:] = fallback(guard)
            return
        seal(pod)
        guard.call(hook, pod, run, self, cycle, pod, nodes, out)

    return call


def normalize(guard: Guard, function: Function) -> Function:
    """Where all nodes scored alike there is one score to normalise, whichever node it is of."""
    hook = guard.hook("NormalizeScore")

    def run(plugin: Any, cycle: Any, pod: Any, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        answers.nothing(function(plugin, cycle, pod, nodes, scores))
        answers.scores(scores, lambda position: nodes.node(position).name)

    def call(self: Any, cycle: Any, pod: Any, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        try:
            guard.admit(hook, cycle)
        except Off:
            return
        seal(pod)
        guard.call(hook, pod, run, self, cycle, pod, nodes, scores)

    return call
