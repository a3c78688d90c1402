"""Guarded wrappers of QueueSort, event hints, and hooks called when a profile is built."""

from contextlib import suppress
from typing import Any

from moorage.api.meta import KubeObject
from moorage.framework.events import EventHint, Hint
from moorage.framework.verdicts import PluginError
from moorage.guard.answer_checks import WrongAnswer
from moorage.guard.breaker_events import error_text
from moorage.guard.hook_wrappers import Function
from moorage.guard.plugin_guard import QUEUEING, Guard, Hook, LeftOut
from moorage.guard.read_only_objects import seal


def wrap_events(guard: Guard, function: Function) -> Function:
    """`events`: the hint functions are guarded too; a plugin that is switched off says Queue."""
    hook = guard.hook("QueueingHint", QUEUEING)

    def guarded(hint: Function) -> Function:
        def call(pod: Any, old: Any, new: Any) -> Hint:
            try:
                guard.admit(hook, object())
            except LeftOut:
                return Hint.QUEUE
            for obj in (pod, old, new):
                if isinstance(obj, KubeObject):
                    seal(obj)

            def checked() -> Hint:
                answer = hint(pod, old, new)
                if not isinstance(answer, Hint):
                    raise WrongAnswer(f"answered {answer!r}: answer Hint.QUEUE or Hint.SKIP")
                return answer

            found: Hint = guard.call(hook, pod, checked)
            return found

        return call

    def checked(self: Any) -> tuple[EventHint, ...]:
        answer = function(self)
        if not (isinstance(answer, tuple) and all(isinstance(e, EventHint) for e in answer)):
            raise WrongAnswer(f"answered {answer!r}: answer a tuple of EventHint")
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


def wrap_inherit(guard: Guard, function: Function) -> Function:
    """`inherit`: if it fails, the plugin begins without state, and the reload goes on."""
    hook = guard.hook("Inherit", QUEUEING)

    def inherit(self: Any, before: Any) -> None:
        with suppress(PluginError):
            guard.call(hook, None, function, self, before)

    return inherit


def concerns(guard: Guard, function: Function) -> Function:
    """`concerns`, which is called once, when a profile is built."""
    hook = guard.hook("Concerns", QUEUEING)

    def call(self: Any) -> int:
        found: int = guard.call(hook, None, function, self)
        return found

    return call


class GuardedSortKey:
    """A plugin's sort key, or none, with the pod's timestamp to fall back on.

    Pods with a key come before pods without one.
    """

    __slots__ = ("_guard", "_hook", "keyed", "since", "value")

    def __init__(self, guard: Guard, hook: Hook, keyed: bool, value: Any, since: float) -> None:
        self._guard = guard
        self._hook = hook
        self.keyed = keyed
        self.value = value
        self.since = since

    def __lt__(self, other: "GuardedSortKey") -> bool:
        if self.keyed != other.keyed:
            return self.keyed
        if self.keyed:
            try:
                return bool(self.value < other.value)
            except Exception as error:
                self._guard.failed(self._hook, None, "answer", error_text(error))
        return self.since < other.since

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GuardedSortKey) or self.keyed != other.keyed:
            return False
        return bool(self.value == other.value) if self.keyed else self.since == other.since

    __hash__ = None  # type: ignore[assignment]  # keys are compared, never looked up


def sort_key(guard: Guard, function: Function) -> Function:
    hook = guard.hook("QueueSort", QUEUEING)

    def call(self: Any, queued: Any) -> GuardedSortKey:
        try:
            guard.admit(hook, object())
            value = guard.call(hook, queued.info.pod, function, self, queued)
        except (PluginError, LeftOut):
            return GuardedSortKey(guard, hook, False, None, queued.timestamp)
        return GuardedSortKey(guard, hook, True, value, queued.timestamp)

    return call


def begin_sort(guard: Guard, function: Function) -> Function:
    """`begin_sort`: if it fails, the queue is sorted all the same."""
    hook = guard.hook("QueueSort", QUEUEING)

    def call(self: Any) -> None:
        with suppress(PluginError):
            guard.call(hook, None, function, self)

    return call
