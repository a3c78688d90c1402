"""Limits how many TokenReviews and SubjectAccessReviews callers may cause.

All callers who were let in within the last hour share one budget, which nobody else can spend. All
other callers share a second budget, of which each address has a part. So a flood of made-up tokens
delays neither scheduling nor callers who are allowed.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

REMEMBERED_SECONDS: Final = 3600.0
REMEMBERED: Final = 256
ADDRESSES: Final = 1024


class Rate(msgspec.Struct, frozen=True):
    """A token bucket: `burst` at once, and `per_second` after that."""

    per_second: float
    burst: int


ACQUAINTANCES: Final = Rate(20.0, 40)
STRANGERS: Final = Rate(10.0, 20)
EACH_ADDRESS: Final = Rate(2.0, 8)


class Allowance:
    """A token bucket that refuses instead of waiting."""

    def __init__(self, rate: Rate, now: float) -> None:
        self._rate = rate
        self._left = float(rate.burst)
        self._filled = now

    def take(self, now: float) -> bool:
        """Whether one more is allowed; if so, it is counted."""
        gained = (now - self._filled) * self._rate.per_second
        self._left = min(float(self._rate.burst), self._left + gained)
        self._filled = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class ReviewBudget:
    """Decides whether a review may be asked for a caller; `refused` counts refusals."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.refused = 0
        self._now = now
        self._known: OrderedDict[str, float] = OrderedDict()
        self._acquaintances = Allowance(ACQUAINTANCES, now())
        self._strangers = Allowance(STRANGERS, now())
        self._addresses: OrderedDict[str, Allowance] = OrderedDict()

    def welcome(self, caller: str) -> None:
        """A caller was let in."""
        self._known[caller] = self._now() + REMEMBERED_SECONDS
        self._known.move_to_end(caller)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def allows(self, caller: str, address: str) -> bool:
        """Whether the API server may be asked about a caller."""
        now = self._now()
        if self._known.get(caller, 0.0) > now:
            allowed = self._acquaintances.take(now)
        else:
            allowed = self._of(address, now).take(now) and self._strangers.take(now)
        self.refused += not allowed
        return allowed

    def _of(self, address: str, now: float) -> Allowance:
        found = self._addresses.get(address)
        if found is None:
            found = self._addresses[address] = Allowance(EACH_ADDRESS, now)
            if len(self._addresses) > ADDRESSES:
                self._addresses.popitem(last=False)
        self._addresses.move_to_end(address)
        return found
