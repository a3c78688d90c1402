"""Guarded wrappers of hooks that are called once per attempt or about one node.

If the plugin is switched off and `whenOpen` does not fail the attempt, a hook gives the answer that
leaves the plugin out, mostly `None`.
"""

from collections.abc import Callable
from typing import Any

from moorage.api.meta import KubeObject
from moorage.config.moorage_configuration import WhenOpen
from moorage.framework.verdicts import Rejection
from moorage.guard import answer_checks
from moorage.guard.answer_checks import WrongAnswer
from moorage.guard.breaker import State
from moorage.guard.plugin_guard import BINDING, DECIDING, QUEUEING, Guard, Hook, LeftOut
from moorage.guard.read_only_objects import seal

Function = Callable[..., Any]
Wrapper = Callable[[Guard, Function], Function]


def call_hook(guard: Guard, hook: Hook, function: Function, *args: Any) -> Any:
    """Call a hook with (self, cycle, pod, ...), and check its answer."""
    for arg in args[2:]:
        if isinstance(arg, KubeObject):
            seal(arg)

    def checked() -> Any:
        answer = function(*args)
        answer_checks.check_answer(hook.point, answer)
        return answer

    return guard.call(hook, args[2], checked)


def wrap_hook(point: str, strand: str = DECIDING, left_out: Any = None) -> Wrapper:
    """Wrapper of a hook that is called within an attempt, or while its pod is bound."""

    def wrap(guard: Guard, function: Function) -> Function:
        hook = guard.hook(point, strand)

        def call(self: Any, cycle: Any, *args: Any) -> Any:
            try:
                guard.admit(hook, cycle)
            except LeftOut:
                return left_out
            return call_hook(guard, hook, function, self, cycle, *args)

        return call

    return wrap


def wrap_rejection(guard: Guard, function: Function) -> Function:
    """`rejection`: called even if the plugin was switched off since it wrote the code."""
    hook = guard.hook("Filter")

    def rejection(self: Any, cycle: Any, pod: Any, code: int) -> Any:
        def checked() -> Any:
            answer = function(self, cycle, pod, code)
            if not isinstance(answer, Rejection):
                raise WrongAnswer(f"explained code {code} by {answer!r}: answer a Rejection")
            answer_checks.check_rejection(answer)
            return answer

        guard.begin(hook, cycle)
        return guard.call(hook, pod, checked)

    return rejection


def wrap_promise(guard: Guard, function: Function) -> Function:
    """`admits_all`, `accepts_fewer`: False while the plugin is switched off."""
    hook = guard.hook("Filter")

    def promises(self: Any, cycle: Any, pod: Any) -> bool:
        try:
            guard.admit(hook, cycle)
        except LeftOut:
            return False
        seal(pod)
        return bool(guard.call(hook, pod, function, self, cycle, pod))

    return promises


def wrap_score(guard: Guard, function: Function) -> Function:
    """`score` about a single node."""
    hook = guard.hook("Score")

    def score(self: Any, cycle: Any, pod: Any, node: Any) -> int:
        try:
            guard.admit(hook, cycle)
        except LeftOut:
            return score_when_off(guard)
        seal(pod)
        seal(node)

        def checked() -> int:
            return answer_checks.check_score(
                function(self, cycle, pod, node), node, guard.normalizes
            )

        found: int = guard.call(hook, pod, checked)
        return found

    return score


def score_when_off(guard: Guard) -> int:
    """The score of every node while the plugin is switched off."""
    terms = guard.terms
    return terms.fallback_score if terms.when_open is WhenOpen.FALLBACK else 0


def wrap_unreserve(guard: Guard, function: Function) -> Function:
    """`unreserve`: called even if the plugin is switched off, because it may have reserved."""
    hook = guard.hook("Unreserve", BINDING)

    def unreserve(self: Any, cycle: Any, *args: Any) -> Any:
        guard.begin(hook, cycle)
        return call_hook(guard, hook, function, self, cycle, *args)

    return unreserve


def pre_enqueue(guard: Guard, function: Function) -> Function:
    hook = guard.hook("PreEnqueue", QUEUEING)

    def call(self: Any, pod: Any) -> Any:
        try:
            guard.admit(hook, object())
        except LeftOut:
            return None
        return call_hook(guard, hook, lambda plugin, _, pod: function(plugin, pod), self, None, pod)

    return call


def wrap_label_keys(guard: Guard, function: Function) -> Function:
    """`label_keys`: None, so any label counts, unless the breaker is closed."""
    hook = guard.hook("Sign")

    def label_keys(self: Any, cycle: Any) -> Any:
        if guard.breaker.state is not State.CLOSED:
            return None
        guard.admit(hook, cycle)

        def checked() -> Any:
            keys = function(self, cycle)
            return None if keys is None else frozenset(keys)

        return guard.call(hook, cycle.pod, checked)

    return label_keys


def wrap_sign(guard: Guard, function: Function) -> Function:
    """`sign` and the like: None, so nothing is kept, unless the breaker is closed."""
    hook = guard.hook("Sign")

    def sign(self: Any, cycle: Any) -> Any:
        if guard.breaker.state is not State.CLOSED:
            return None
        guard.admit(hook, cycle)

        def checked() -> Any:
            answer = function(self, cycle)
            hash(answer)
            return answer

        return guard.call(hook, cycle.pod, checked)

    return sign
