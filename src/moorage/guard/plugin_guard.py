"""The guard of one plugin: deadline, error handling and circuit breaker of every hook call."""

import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Final

from moorage.config.moorage_configuration import GuardSettings, WhenOpen
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import PluginError, SchedulingError
from moorage.guard.answer_checks import WrongAnswer
from moorage.guard.breaker import Breaker, State
from moorage.guard.breaker_events import (
    BreakerListener,
    SwitchedOff,
    SwitchedOn,
    error_place,
    error_text,
    exit_text,
    is_plugins_own_exit,
    switched_off_text,
)
from moorage.guard.deadline_watchdog import NEVER, WATCHDOG, Overdue, TimedCall, now
from moorage.guard.read_only_objects import EMPTY, MUTATION_REMEDY, MutationError, check_empty

MAIN_THREAD: Final = threading.main_thread().ident
VECTOR_FORMS: Final = frozenset({"Filter", "Score"})
DECIDING, QUEUEING, BINDING = "deciding", "queueing", "binding"


class Hook(TimedCall):
    """One hook of one plugin: what it is called, how long it has run in this attempt.

    `unit` is what the breaker was asked about last, `timed` what `used` is the time of.
    """

    __slots__ = ("calls", "limit", "point", "running", "seconds", "strand", "timed", "unit", "used")

    def __init__(self, point: str, strand: str, limit: float, module: str) -> None:
        super().__init__(module)
        self.point = point
        self.strand = strand
        self.limit = limit
        self.running = False
        self.unit: Any = None
        self.timed: Any = None
        self.used = 0.0
        self.calls = 0
        self.seconds = 0.0


class LeftOut(Exception):
    """The plugin is switched off, and its answer is left out."""


class Guard:
    """Guards the hooks of one plugin of one profile."""

    def __init__(
        self,
        plugin: str,
        profile: str,
        terms: GuardSettings,
        module: str,
        clock: Callable[[], float],
        tell: BreakerListener,
        sleep: Callable[[float], Coroutine[Any, Any, None]],
    ) -> None:
        self.plugin = plugin
        self.profile = profile
        self.terms = terms
        self.module = module
        self.breaker = Breaker(terms.failure_threshold, terms.cooldown.seconds)
        self.hooks: dict[str, Hook] = {}
        self.failures: Counter[tuple[str, str]] = Counter()
        self.last_failures: dict[str, str] = {}
        """Extension point -> the last failure."""
        self.left_out = 0
        self.normalizes = False
        self._clock = clock
        self._tell = tell
        self.sleep = sleep
        if terms.deadline > 0:
            WATCHDOG.expect(terms.deadline.seconds)

    @property
    def state(self) -> State:
        return self.breaker.state

    @property
    def trips(self) -> int:
        return self.breaker.trips

    def hook(self, point: str, strand: str = DECIDING) -> Hook:
        """The record of a hook; made on first use."""
        found = self.hooks.get(point)
        if found is None:
            limit = self.terms.deadline.seconds or NEVER
            found = self.hooks[point] = Hook(point, strand, limit, self.module)
        return found

    def admit(self, hook: Hook, unit: Any) -> None:
        """Ask the breaker when a new unit begins; LeftOut or PluginError if it is open."""
        if isinstance(unit, Cycle):
            unit.asking = self.plugin
        if unit is hook.unit and self.breaker.state is State.CLOSED:
            return
        before = self.breaker.state
        if not self.breaker.begin(hook.strand, unit, self._clock()):
            self.left_out += 1
            if self.terms.when_open is WhenOpen.FAIL:
                raise PluginError(self.plugin, hook.point, switched_off_text(self.breaker))
            raise LeftOut
        hook.unit = hook.timed = unit
        hook.used = 0.0
        if before is not State.CLOSED and self.breaker.state is State.CLOSED:
            self._tell(SwitchedOn(self.plugin, self.profile))

    def begin(self, hook: Hook, unit: Any) -> None:
        """A new unit has time of its own, also where a hook is called whatever the breaker says."""
        if isinstance(unit, Cycle):
            unit.asking = self.plugin
        if unit is not hook.timed:
            hook.timed, hook.used = unit, 0.0

    def call(self, hook: Hook, pod: Any, function: Callable[..., Any], *args: Any) -> Any:
        """Call a hook; an exception becomes a PluginError that names a remedy.

        A hook that the plugin itself calls, from the same point, is part of the call under way.
        """
        if hook.running:
            return function(*args)
        main = threading.get_ident() == MAIN_THREAD
        hook.running = True
        if main:
            WATCHDOG.enter(hook, hook.limit - hook.used)
        began = now()
        try:
            answer = function(*args)
            if EMPTY:
                check_empty()
        except Overdue as overdue:
            if overdue.run is not hook:
                raise
            raise self.late(hook, pod, error_place(overdue)) from None
        except SchedulingError:
            raise
        except WrongAnswer as wrong:
            raise self.failed(hook, pod, "answer", str(wrong)) from None
        except MutationError as error:
            raise self.failed(hook, pod, "mutation", error_text(error)) from error
        except ValueError as error:
            if "read-only" not in str(error):
                raise self.failed(hook, pod, "raised", error_text(error)) from error
            detail = f"{error_text(error)}: {MUTATION_REMEDY}"
            raise self.failed(hook, pod, "mutation", detail) from error
        except AttributeError as error:
            if not str(error).startswith("immutable type"):
                raise self.failed(hook, pod, "raised", error_text(error)) from error
            detail = f"{error_text(error)}: {MUTATION_REMEDY}"
            raise self.failed(hook, pod, "mutation", detail) from error
        except Exception as error:
            raise self.failed(hook, pod, "raised", error_text(error)) from error
        except BaseException as error:
            if not is_plugins_own_exit(error):
                raise
            raise self.failed(hook, pod, "raised", exit_text(error)) from error
        finally:
            hook.running = False
            if main:
                WATCHDOG.leave(hook)
            EMPTY.clear()
            took = now() - began
            hook.used += took
            hook.seconds += took
            hook.calls += 1
        if hook.used > hook.limit:
            raise self.late(hook, pod)
        return answer

    def late(self, hook: Hook, pod: Any, place: str = "") -> PluginError:
        """The error of a call that took too long, and was interrupted at that place."""
        vector = " (the vector form sees all nodes at once)" if hook.point in VECTOR_FORMS else ""
        detail = (
            f"took longer than its deadline of {self.terms.deadline}{place}: make it faster"
            f"{vector}, or raise pluginGuard.deadline"
        )
        return self.failed(hook, pod, "deadline", detail)

    def failed(self, hook: Hook, pod: Any, reason: str, detail: str) -> PluginError:
        """Count a failure; the error to raise."""
        self.failures[hook.point, reason] += 1
        self.last_failures[hook.point] = detail
        if self.breaker.fail(hook.strand, self._clock(), f"{hook.point}: {detail}"):
            self._tell(SwitchedOff(self.plugin, self.profile, hook.point, detail, self.terms, pod))
        return PluginError(self.plugin, hook.point, detail)
