"""When a run is over: nothing is left to do, or what is still done leads nowhere."""

from typing import Final

import msgspec

SETTLED_SECONDS: Final = 12.0
"""Longer than the longest back-off: who has not come back by then waits for an event."""


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a run goes on while plugins, or pods that displace one another, keep it busy."""

    attempts_in_vain: int = 10
    """Attempts per pending pod, on average, in which no pod was bound and none was new."""
    seconds_in_vain: float = 1200.0
    """Virtual seconds in which nobody was bound, while pods wait on Permit or in PreBind."""
    binding_seconds: float = 60.0
    """A binding older than this is waited for, for `seconds_in_vain`, whatever others do."""
    attempts_per_pod: int = 50
    """Attempts per pod, on average, whatever they come to."""


DEFAULT_LIMITS: Final = RunLimits()


class RunWatch:
    """Looks at a run from time to time; `verdict` says why it should not go on, if so."""

    def __init__(self, limits: RunLimits) -> None:
        self._limits = limits
        self._progress = -1
        self._since = (0, 0.0)

    def verdict(
        self,
        *,
        attempts: int,
        progress: int,
        pods: int,
        pending: int,
        now: float,
        binding_for: float,
    ) -> str:
        """Why to give up, or an empty text."""
        limits = self._limits
        if attempts > limits.attempts_per_pod * pods + 1000:
            return f"{attempts} attempts at {pods} pods, and no end: pods displace one another"
        if progress != self._progress:
            self._progress, self._since = progress, (attempts, now)
            return ""
        tried, seconds = attempts - self._since[0], now - self._since[1]
        if seconds > limits.seconds_in_vain:
            return f"nothing was bound for {seconds:g} s, while plugins kept pods waiting"
        patient = binding_for > limits.binding_seconds
        if tried > limits.attempts_in_vain * (pending + 1) and not patient:
            return f"{tried} attempts in a row came to nothing"
        return ""
