"""The observer hooks, all optional, and `Observers`, which calls them."""

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from moorage.framework.cycle import NO_TIMER, Timer
from moorage.observe.records import Attempt, Bound, Compared, Evicted, Reloaded, RolledBack


class Observer(Protocol):
    """The hooks of an observer. Every method is optional."""

    def timer(self, profile: str, pod: str, attempt: str) -> Timer:
        """An attempt begins; the timer receives its steps. Only the first observer is asked."""

    def attempted(self, attempt: Attempt) -> None:
        """An attempt ended: the pod was assumed, or put back with its reason."""

    def bound(self, bound: Bound) -> None:
        """The API server has accepted the binding."""

    def evicted(self, evicted: Evicted) -> None:
        """A pod is evicted to make room for another."""

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        """Something went wrong that was not the pod's fault."""

    def called(self, extender: str, verb: str, result: str, seconds: float) -> None:
        """An extender was asked: success, error or timeout."""

    def reloaded(self, reloaded: Reloaded) -> None:
        """A configuration was read again."""

    def compared(self, compared: Compared) -> None:
        """A canary was compared with the stable version."""

    def rolled_back(self, rolled_back: RolledBack) -> None:
        """A canary was given up."""

    def outdated(self, why: str) -> None:
        """Data may be outdated, and no decisions are made for now."""

    def caught_up(self, why: str, seconds: float) -> None:
        """Data is up to date again, after so many seconds."""


HOOKS: Final = tuple(name for name in vars(Observer) if not name.startswith("_"))
"""The names of an observer's hooks, in the order above."""


class Observers:
    """Calls every observer's hook; one that raises is not called again."""

    def __init__(self, observers: Iterable[Any] = ()) -> None:
        self._hooks: dict[str, list[Callable[..., Any]]] = {hook: [] for hook in HOOKS}
        self.switched_off: list[tuple[Any, Exception]] = []
        for observer in observers:
            self.add(observer)

    def add(self, observer: Any) -> None:
        for hook in HOOKS:
            method = getattr(observer, hook, None)
            if method is not None:
                self._hooks[hook].append(method)

    def timer(self, profile: str, pod: str = "", attempt: str = "") -> Timer:
        """The timer of an attempt, from the first observer that provides one."""
        for method in list(self._hooks["timer"]):
            try:
                timer: Timer = method(profile, pod, attempt)
            except Exception as error:
                self._switch_off("timer", method, error)
            else:
                return timer
        return NO_TIMER

    def attempted(self, attempt: Attempt) -> None:
        self._call("attempted", attempt)

    def bound(self, bound: Bound) -> None:
        self._call("bound", bound)

    def evicted(self, evicted: Evicted) -> None:
        self._call("evicted", evicted)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        self._call("failed", pod, attempt, error)

    def called(self, extender: str, verb: str, result: str, seconds: float) -> None:
        self._call("called", extender, verb, result, seconds)

    def reloaded(self, reloaded: Reloaded) -> None:
        self._call("reloaded", reloaded)

    def compared(self, compared: Compared) -> None:
        self._call("compared", compared)

    def rolled_back(self, rolled_back: RolledBack) -> None:
        self._call("rolled_back", rolled_back)

    def outdated(self, why: str) -> None:
        self._call("outdated", why)

    def caught_up(self, why: str, seconds: float) -> None:
        self._call("caught_up", why, seconds)

    def _call(self, hook: str, *args: Any) -> None:
        for method in list(self._hooks[hook]):
            try:
                method(*args)
            except Exception as error:
                self._switch_off(hook, method, error)

    def _switch_off(self, hook: str, method: Callable[..., Any], error: Exception) -> None:
        self._hooks[hook].remove(method)
        self.switched_off.append((getattr(method, "__self__", method), error))
