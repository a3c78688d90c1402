"""When a run is over: nothing is left to do, or attempts go on without any progress."""

from typing import Final

import msgspec

SETTLED_SECONDS: Final = 12.0
"""Longer than the longest back-off: a pod not attempted by then waits for an event."""


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a run goes on while plugins, or pods that displace one another, keep it busy."""

    attempts_in_vain: int = 10
    """Attempts without progress, per pending pod: no pod was bound, and none was a first one."""
    seconds_in_vain: float = 1200.0
    """Virtual seconds without progress, while pods wait on Permit or in PreBind."""
    binding_seconds: float = 60.0
    """With a binding older than this, only `seconds_in_vain` counts, not `attempts_in_vain`."""
    attempts_per_pod: int = 50
    """Attempts per pod, on average, whatever their results."""


DEFAULT_LIMITS: Final = RunLimits()


class RunWatch:
    """Judges a run from time to time: `verdict` says whether to give it up."""

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
        """Why to give up the run; empty if it should go on."""
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
