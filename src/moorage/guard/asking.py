"""Hooks that are called once, or about one node: ask the breaker, call, check the answer.

Where the plugin is switched off and that does not fail the attempt, a hook answers what leaves
the plugin out: `None`, mostly.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from moorage.api.meta import KubeObject
from moorage.config.guarding import WhenOpen
from moorage.framework.events import EventHint, Hint
from moorage.framework.verdicts import SKIP, PluginError, Rejection
from moorage.guard import answers
from moorage.guard.answers import Wrong
from moorage.guard.breaker import State
from moorage.guard.calling import BINDING, QUEUEING, Guard, Hook, Off
from moorage.guard.sealing import seal

Function = Callable[..., Any]
Wrapper = Callable[[Guard, Function], Function]


def ask(guard: Guard, hook: Hook, function: Function, *args: Any) -> Any:
    """Call a hook that answers a value: (self, cycle, pod, ...)."""
    for arg in args[2:]:
        if isinstance(arg, KubeObject):
            seal(arg)

    def checked() -> Any:
        answer = function(*args)
        answers.check(hook.point, answer)
        return answer

    return guard.call(hook, args[2], checked)


def deciding(point: str) -> Wrapper:
    """A hook that is called within an attempt."""

    def wrap(guard: Guard, function: Function) -> Function:
        hook = guard.hook(point)

        def call(self: Any, cycle: Any, *args: Any) -> Any:
            try:
                guard.admit(hook, cycle)
            except Off:
                return None
            return ask(guard, hook, function, self, cycle, *args)

        return call

    return wrap


def explaining(guard: Guard, function: Function) -> Function:
    """`rejection`: what a code means is asked even of a plugin that was switched off since."""
    hook = guard.hook("Filter")

    def rejection(self: Any, cycle: Any, pod: Any, code: int) -> Any:
        def checked() -> Any:
            answer = function(self, cycle, pod, code)
            if not isinstance(answer, Rejection):
                raise Wrong(f"explained code {code} by {answer!r}: answer a Rejection")
            return answer

        return guard.call(hook, pod, checked)

    return rejection


def foreseeing(guard: Guard, function: Function) -> Function:
    """`admits_all`: who is switched off foresees nothing."""
    hook = guard.hook("Filter")

    def admits_all(self: Any, cycle: Any, pod: Any) -> bool:
        try:
            guard.admit(hook, cycle)
        except Off:
            return False
        seal(pod)
        return bool(guard.call(hook, pod, function, self, cycle, pod))

    return admits_all


def scoring(guard: Guard, function: Function) -> Function:
    """`score` about a single node."""
    hook = guard.hook("Score")

    def score(self: Any, cycle: Any, pod: Any, node: Any) -> int:
        try:
            guard.admit(hook, cycle)
        except Off:
            return fallback(guard)
        seal(pod)
        seal(node)

        def checked() -> int:
            return answers.score(function(self, cycle, pod, node), node, guard.normalizes)

        found: int = guard.call(hook, pod, checked)
        return found

    return score


def fallback(guard: Guard) -> int:
    """What every node scores while the plugin is switched off."""
    terms = guard.terms
    return terms.fallback_score if terms.when_open is WhenOpen.FALLBACK else 0


def undoing(guard: Guard, function: Function) -> Function:
    """`unreserve`: called whatever the breaker says, since something may be booked."""
    hook = guard.hook("Unreserve", BINDING)

    def unreserve(self: Any, *args: Any) -> Any:
        return ask(guard, hook, function, self, *args)

    return unreserve


def pre_flight(guard: Guard, function: Function) -> Function:
    hook = guard.hook("PreBindPreFlight", BINDING)

    def pre_bind_pre_flight(self: Any, cycle: Any, *args: Any) -> Any:
        try:
            guard.admit(hook, cycle)
        except Off:
            return SKIP
        return ask(guard, hook, function, self, cycle, *args)

    return pre_bind_pre_flight


def post_bind(guard: Guard, function: Function) -> Function:
    hook = guard.hook("PostBind", BINDING)

    def call(self: Any, cycle: Any, *args: Any) -> Any:
        try:
            guard.admit(hook, cycle)
        except Off:
            return None
        return ask(guard, hook, function, self, cycle, *args)

    return call


def pre_enqueue(guard: Guard, function: Function) -> Function:
    hook = guard.hook("PreEnqueue", QUEUEING)

    def call(self: Any, pod: Any) -> Any:
        try:
            guard.admit(hook, object())
        except Off:
            return None
        return ask(guard, hook, lambda plugin, _, pod: function(plugin, pod), self, None, pod)

    return call


def signing(guard: Guard, function: Function) -> Function:
    """Nothing is kept of what a plugin computed while it was not in order."""
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


def hinting(guard: Guard, function: Function) -> Function:
    """`events`: the hint functions are guarded too; who is switched off says Queue."""
    hook = guard.hook("QueueingHint", QUEUEING)

    def guarded(hint: Function) -> Function:
        def call(pod: Any, old: Any, new: Any) -> Hint:
            try:
                guard.admit(hook, object())
            except Off:
                return Hint.QUEUE
            for obj in (pod, old, new):
                if isinstance(obj, KubeObject):
                    seal(obj)

            def checked() -> Hint:
                answer = hint(pod, old, new)
                if not isinstance(answer, Hint):
                    raise Wrong(f"answered {answer!r}: answer Hint.QUEUE or Hint.SKIP")
                return answer

            found: Hint = guard.call(hook, pod, checked)
            return found

        return call

    def checked(self: Any) -> tuple[EventHint, ...]:
        answer = function(self)
        if not (isinstance(answer, tuple) and all(isinstance(e, EventHint) for e in answer)):
            raise Wrong(f"answered {answer!r}: answer a tuple of EventHint")
        return tuple(
            entry if entry.hint is None else entry._replace(hint=guarded(entry.hint))
            for entry in answer
        )

    def events(self: Any) -> tuple[EventHint, ...]:
        found: tuple[EventHint, ...] = guard.call(
            guard.hook("Events", QUEUEING), None, checked, self
        )
        return found

    return events


def inheriting(guard: Guard, function: Function) -> Function:
    """`inherit`: a plugin that fails to take over begins with nothing; a reload goes on."""
    hook = guard.hook("Inherit", QUEUEING)

    def inherit(self: Any, before: Any) -> None:
        with suppress(PluginError):
            guard.call(hook, None, function, self, before)

    return inherit


def describing(guard: Guard, function: Function) -> Function:
    """What is asked once, when a profile is built."""
    hook = guard.hook("Concerns", QUEUEING)

    def concerns(self: Any) -> int:
        found: int = guard.call(hook, None, function, self)
        return found

    return concerns
