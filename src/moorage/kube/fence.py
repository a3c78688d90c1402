"""The fence: a replica whose lease has run out sends nothing that only a leader may send.

1. It is looked at in the moment before bytes are handed to the socket, after every wait: for a
   token of the rate limit, for a connection, for TLS, for a server that said "later".
2. A request under way when the lease ends is torn: its connection is reset, so that what the kernel
   has not sent yet is never sent.

The lease is counted from when its renewal was asked for, by a clock that nobody sets, so that it
ends here before any other replica takes it for expired. What has left this machine by then is on
its way; nobody can call it back.
"""

import sys
import time
from collections.abc import Callable
from typing import Final

from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import RESOURCES, Resource

FENCED: Final = frozenset(
    RESOURCES[plural] for plural in ("pods", "persistentvolumes", "persistentvolumeclaims")
)
"""What decisions are written to. Leases, events, statuses of groups may come from any replica."""


def steady_time() -> float:
    """Seconds on a clock that nobody sets and that goes on while the machine sleeps."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class LeaseLost(ApiError):
    """Another replica leads, or may lead by now."""


class LeaseFence:
    """Open from a renewal of the lease until its duration has passed; the elector moves it."""

    def __init__(self, seconds: float, now: Callable[[], float] = steady_time) -> None:
        self.leading = False
        self.now = now
        self._seconds = seconds
        self._renewed_at = 0.0
        self._closed: list[Callable[[], None]] = []

    @property
    def seconds_left(self) -> float:
        """How long we lead for certain; negative: for how long no more. 0 where we do not."""
        return self._renewed_at + self._seconds - self.now() if self.leading else 0.0

    def check(self) -> None:
        """Raise `LeaseLost` unless this replica leads for certain."""
        if not self.leading:
            raise LeaseLost("this replica does not lead")
        if (left := self.seconds_left) <= 0:
            raise LeaseLost(f"the lease ran out {-left:.1f} s ago")

    def renewed(self, at: float) -> None:
        """The lease is ours from a request on that was made then."""
        self.leading, self._renewed_at = True, at

    def close(self) -> None:
        """The lease is lost, or is about to be released."""
        self.leading = False
        for closed in self._closed:
            closed()

    def on_close(self, closed: Callable[[], None]) -> None:
        """Have this called when the fence is closed before its time."""
        self._closed.append(closed)


def is_fenced(resource: Resource, method: str) -> bool:
    """Whether only a leader may make this request."""
    return method != "GET" and resource in FENCED
