"""Reports of plugins that a circuit breaker switched off or on, and their texts."""

import contextlib
import importlib
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, NamedTuple

from moorage.config.moorage_configuration import GuardSettings, WhenOpen
from moorage.framework.verdicts import SchedulingError
from moorage.guard.breaker import Breaker

_MEANWHILE = {
    WhenOpen.FAIL: "its pods are not scheduled",
    WhenOpen.IGNORE: "pods are scheduled without it",
    WhenOpen.FALLBACK: "pods are scheduled without its filters, and with its fallback score",
}


_NOT_A_PLUGINS = frozenset({contextlib.__file__, importlib.__file__})


class SwitchedOff(NamedTuple):
    """A breaker opened: `detail` is the last failure, `pod` the pod of that attempt."""

    plugin: str
    profile: str
    point: str
    detail: str
    terms: GuardSettings
    pod: Any = None

    @property
    def message(self) -> str:
        terms = self.terms
        return (
            f"plugin {self.plugin!r} is switched off for {terms.cooldown}, after "
            f"{terms.failure_threshold} failed attempts in a row or a failed trial; meanwhile "
            f"{_MEANWHILE[terms.when_open]} (pluginGuard.whenOpen: {terms.when_open.value}). "
            f"The last failure, at {self.point}: {self.detail}"
        )


class SwitchedOn(NamedTuple):
    """A breaker closed: the plugin has passed an attempt."""

    plugin: str
    profile: str

    @property
    def message(self) -> str:
        return f"plugin {self.plugin!r} works again"


BreakerListener = Callable[[SwitchedOff | SwitchedOn], None]


class PluginSwitchedOff(SchedulingError):
    """The error that is reported to observers when a breaker opens."""


def ignore_breaker_event(change: SwitchedOff | SwitchedOn) -> None:
    """Ignore the event."""


def error_text(error: BaseException) -> str:
    """The exception as text, with the line of the plugin's file that it came from."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return said + error_place(error)


def error_place(error: BaseException) -> str:
    """The line of the plugin's file that an error came from, in brackets."""
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        importing = code.co_filename.startswith("<frozen importlib")
        own = module.startswith("moorage.") or code.co_filename in _NOT_A_PLUGINS
        if not (own or importing):
            file = PurePath(code.co_filename).name
            return f" (in {code.co_name}, line {traceback.tb_lineno} of {file})"
        traceback = traceback.tb_next
    return ""


def is_plugins_own_exit(error: BaseException) -> bool:
    """Whether a plugin raised something that `except Exception` does not catch.

    The plugin, or a library it uses, tried to end the process (or a Rust panic, a gevent timeout).
    False for exceptions of Moorage, which include Ctrl-C: the command line raises its own subclass
    of KeyboardInterrupt.
    """
    return not isinstance(error, Exception) and not type(error).__module__.startswith("moorage.")


def exit_text(error: BaseException) -> str:
    """The text about an attempt to end the process, or the task, with a remedy."""
    if isinstance(error, SystemExit | KeyboardInterrupt):
        remedy = "a plugin may not end the process: answer a Rejection, or raise an "
    else:
        remedy = "it would end the scheduler, being no Exception: catch it, and raise an "
    return f"{error_text(error)}: {remedy}ordinary exception"


def switched_off_text(breaker: Breaker) -> str:
    """Why a plugin is not called."""
    return (
        f"it is switched off for a while after too many failures, the last at "
        f"{breaker.last_error}; mend it, or set pluginGuard.whenOpen to Ignore or Fallback"
    )
