"""What a plugin says of itself, when a profile is built or replaced; and its hints, later."""

from contextlib import suppress
from typing import Any

from moorage.api.meta import KubeObject
from moorage.framework.events import EventHint, Hint
from moorage.framework.verdicts import PluginError
from moorage.guard.answers import Wrong
from moorage.guard.asking import Function
from moorage.guard.calling import QUEUEING, Guard, Off
from moorage.guard.sealing import seal


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


def concerns(guard: Guard, function: Function) -> Function:
    """What is asked once, when a profile is built."""
    hook = guard.hook("Concerns", QUEUEING)

    def call(self: Any) -> int:
        found: int = guard.call(hook, None, function, self)
        return found

    return call
