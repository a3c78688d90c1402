"""Spans of time in which the cluster was not watched; they are counted, never guessed about."""

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from moorage.watch.reflector import Reflector

MOST: Final = 1000
"""How many spans are kept; older ones remain only in the sum of `seconds`."""


class Span(msgspec.Struct, frozen=True):
    """The begin and end of a span, and its reason."""

    begin: float
    end: float
    reason: str


class Unseen:
    """Keeps the spans in which not every resource was watched."""

    def __init__(self) -> None:
        self.spans: deque[Span] = deque(maxlen=MOST)
        self.seconds = 0.0
        self.pods = 0
        """The number of bindings in such a span, or of pods that were never seen pending."""
        self._since: float | None = None
        self._reason = ""

    def look(self, reflectors: Iterable[Reflector], now: float) -> bool:
        """Whether every resource is watched now; begins or ends a span accordingly."""
        blind = [each.resource.plural for each in reflectors if each.state != "watching"]
        if blind and self._since is None:
            self._since, self._reason = now, f"not watching {', '.join(blind)}"
        elif not blind and self._since is not None:
            self.add(Span(self._since, now, self._reason))
            self._since = None
        return not blind

    def add(self, span: Span) -> None:
        """Add a span."""
        self.spans.append(span)
        self.seconds += span.end - span.begin

    def close(self, now: float) -> None:
        """End an open span, because the shadow ends."""
        if self._since is not None:
            self.add(Span(self._since, now, self._reason))
            self._since = None
