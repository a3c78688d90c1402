"""The fence: a replica whose lease has expired sends nothing that only a leader may send.

1. The fence is checked just before bytes are passed to the socket, after every wait: for the rate
   limit, for a connection, for TLS, for a server that said "later".
2. A request under way when the lease ends is torn: its connection is reset, so that bytes which the
   kernel has not sent yet are never sent.

The lease is counted from the moment at which its renewal was requested, by a monotonic clock. So it
ends here before any other replica considers it expired. Bytes that have left this machine by then
cannot be called back.
"""

import sys
import time
from collections.abc import Callable
from typing import Final

from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import Resource

UNFENCED: Final = frozenset(
    {
        ("coordination.k8s.io", "leases"),
        ("", "namespaces"),
        ("events.k8s.io", "events"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)
"""(group, plural) of what any replica may write: Leases and the namespace that one is made in,
events, and questions who may see its port. Only a leader writes anything else."""


def steady_time() -> float:
    """Seconds on a monotonic clock, which on Linux goes on while the machine sleeps."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class LeaseLost(ApiError):
    """This replica does not lead: another one does, or may by now."""


class LeaseFence:
    """Open from a renewal of the lease until its duration has passed; the elector renews it."""

    def __init__(self, seconds: float, now: Callable[[], float] = steady_time) -> None:
        self.leading = False
        self.now = now
        self._seconds = seconds
        self._renewed_at = 0.0
        self._closed: list[Callable[[], None]] = []

    @property
    def seconds_left(self) -> float:
        """How long this replica certainly leads: negative once expired, 0 if it does not lead."""
        return self._renewed_at + self._seconds - self.now() if self.leading else 0.0

    def check(self) -> None:
        """Raise `LeaseLost` unless this replica leads for certain."""
        if not self.leading:
            raise LeaseLost("this replica does not lead")
        if (left := self.seconds_left) <= 0:
            raise LeaseLost(f"the lease ran out {-left:.1f} s ago")

    def renewed(self, at: float) -> None:
        """Open the fence: the lease was renewed by a request made at this time."""
        self.leading, self._renewed_at = True, at

    def close(self) -> None:
        """Close the fence: the lease is lost, or is about to be released."""
        self.leading = False
        for closed in self._closed:
            closed()

    def on_close(self, closed: Callable[[], None]) -> None:
        """Call `closed` whenever `close` is called."""
        self._closed.append(closed)


def is_fenced(resource: Resource, method: str) -> bool:
    """Whether only a leader may make this request."""
    return method != "GET" and (resource.group, resource.plural) not in UNFENCED
