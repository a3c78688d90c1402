"""How many attempts a run made, and what went wrong in them."""

from collections.abc import Iterable
from typing import Final

from moorage.cycle.profile import Profile
from moorage.kpi.meter import Meter
from moorage.observe.records import Attempt, Result
from moorage.simulate.plugin_failures import quiet_failures

MOST_ERRORS: Final = 20


class AttemptCount:
    """An observer that counts attempts, and keeps the first few errors."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._errors: dict[str, None] = {}

    def count(self) -> None:
        """Count one attempt."""
        self._meter.attempts += 1

    def attempted(self, attempt: Attempt) -> None:
        self._meter.attempts += 1
        if attempt.result is Result.ERROR:
            self.note(attempt.message)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        self.note(str(error))

    def note(self, message: str) -> None:
        """Keep an error message; a repeated one is kept once."""
        if len(self._errors) < MOST_ERRORS:
            self._errors[message] = None

    def told(self, profiles: Iterable[Profile]) -> tuple[str, ...]:
        """The errors of attempts, and the plugin failures that are the error of no attempt."""
        return (*self._errors, *quiet_failures(profiles, self._errors))
