"""Guarded wrappers of QueueSort, event hints, and hooks called when a profile is built."""

from contextlib import suppress
from typing import Any

from moorage.api.meta import KubeObject
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Keyed, Resource
from moorage.framework.verdicts import PluginError
from moorage.guard.answer_checks import WrongAnswer
from moorage.guard.breaker_events import error_text
from moorage.guard.hook_wrappers import Function
from moorage.guard.plugin_guard import QUEUEING, Guard, Hook, LeftOut
from moorage.guard.read_only_objects import seal


def wrap_events(guard: Guard, function: Function) -> Function:
    """`events`: the hint functions are guarded too; who is switched off says Queue."""

    def checked(self: Any) -> tuple[EventHint, ...]:
        answer = function(self)
        if not (isinstance(answer, tuple) and all(isinstance(e, EventHint) for e in answer)):
            raise WrongAnswer(f"answered {answer!r}: answer a tuple of EventHint")
        wrapper = _HintWrapper(guard)
        return tuple(wrapper.wrap(entry) for entry in answer)

    def events(self: Any) -> tuple[EventHint, ...]:
        found: tuple[EventHint, ...] = guard.call(
            guard.hook("Events", QUEUEING), None, checked, self
        )
        return found

    return events


def _is_event(given: Any) -> bool:
    if not isinstance(given, ClusterEvent):
        return False
    parts: tuple[Any, ...] = given
    return isinstance(parts[0], Resource) and isinstance(parts[1], Action)


class _HintWrapper:
    """Guards the functions of a plugin's hints; one that several hints have in common stays one."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._hook = guard.hook("QueueingHint", QUEUEING)
        self._wrapped: list[tuple[Function, Function]] = []

    def wrap(self, entry: EventHint) -> EventHint:
        event, keyed = entry.event, entry.keyed
        if not _is_event(event):
            raise WrongAnswer(
                f"answered an EventHint of {event!r}: its event is a ClusterEvent(resource, "
                "action), as in ClusterEvent(Resource.NODE, Action.ADD)"
            )
        spec = entry.per_spec
        return entry._replace(
            hint=None if entry.hint is None else self._hint(entry.hint),
            class_hint=None if entry.class_hint is None else self._hint(entry.class_hint),
            per_spec=spec if isinstance(spec, bool) else self._promise(spec, left_out=False),
            keyed=None if keyed is None else Keyed(*(self._promise(each, None) for each in keyed)),
        )

    def _hint(self, hint: Function) -> Function:
        def checked(*args: Any) -> Hint:
            answer = hint(*args)
            if not isinstance(answer, Hint):
                raise WrongAnswer(f"answered {answer!r}: answer Hint.QUEUE or Hint.SKIP")
            return answer

        return self._guarded(hint, checked, Hint.QUEUE)

    def _promise(self, function: Function, left_out: Any) -> Function:
        return self._guarded(function, function, left_out)

    def _guarded(self, own: Function, checked: Function, left_out: Any) -> Function:
        for known, wrapped in self._wrapped:
            if known == own:
                return wrapped
        if not callable(own):
            raise WrongAnswer(f"answered an EventHint with {own!r}, which is no function")

        def call(*args: Any) -> Any:
            try:
                self._guard.admit(self._hook, object())
            except LeftOut:
                return left_out
            for arg in args:
                if isinstance(arg, KubeObject):
                    seal(arg)
            about = next((arg for arg in args if isinstance(arg, KubeObject)), None)
            return self._guard.call(self._hook, about, checked, *args)

        self._wrapped.append((own, call))
        return call


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

    def checked(self: Any) -> int:
        answer = function(self)
        if not isinstance(answer, int):
            raise WrongAnswer(f"answered {answer!r}: answer flags of Feature, joined by |")
        return answer

    def call(self: Any) -> int:
        found: int = guard.call(hook, None, checked, self)
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
        if not self.keyed:
            return self.since == other.since
        try:
            return bool(self.value == other.value)
        except Exception:
            return False

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
        guard.begin(hook, object())
        with suppress(PluginError):
            guard.call(hook, None, function, self)

    return call
