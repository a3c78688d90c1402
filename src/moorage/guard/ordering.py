"""QueueSort: the queue keeps an order whatever a plugin's keys are.

A pod whose key could not be had comes after those that have one, the oldest first; keys that
cannot be compared are left out of account, and the plugin is named.
"""

from typing import Any

from moorage.framework.verdicts import PluginError
from moorage.guard.asking import Function
from moorage.guard.calling import QUEUEING, Guard, Hook, Off
from moorage.guard.telling import words


class Key:
    """A plugin's key, or none, beside the time to go by where keys do not help."""

    __slots__ = ("_guard", "_hook", "keyed", "since", "value")

    def __init__(self, guard: Guard, hook: Hook, keyed: bool, value: Any, since: float) -> None:
        self._guard = guard
        self._hook = hook
        self.keyed = keyed
        self.value = value
        self.since = since

    def __lt__(self, other: "Key") -> bool:
        if self.keyed != other.keyed:
            return self.keyed
        if self.keyed:
            try:
                return bool(self.value < other.value)
            except Exception as error:
                self._guard.failed(self._hook, None, "answer", words(error))
        return self.since < other.since

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key) or self.keyed != other.keyed:
            return False
        return bool(self.value == other.value) if self.keyed else self.since == other.since

    __hash__ = None  # type: ignore[assignment]  # keys are compared, never looked up


def sort_key(guard: Guard, function: Function) -> Function:
    hook = guard.hook("QueueSort", QUEUEING)

    def call(self: Any, queued: Any) -> Key:
        try:
            guard.admit(hook, object())
            value = guard.call(hook, queued.info.pod, function, self, queued)
        except (PluginError, Off):
            return Key(guard, hook, False, None, queued.timestamp)
        return Key(guard, hook, True, value, queued.timestamp)

    return call
