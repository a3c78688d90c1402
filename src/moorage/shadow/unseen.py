"""Spans of time in which the cluster was not seen; what happened then is counted, never guessed."""

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from moorage.watch.reflector import Reflector

MOST: Final = 1000
"""How many spans are kept; the oldest are added up."""


class Span(msgspec.Struct, frozen=True):
    """From when to when, and why."""

    begin: float
    end: float
    reason: str


class Unseen:
    """Knows whether every resource is being watched, and when one was not."""

    def __init__(self) -> None:
        self.spans: deque[Span] = deque(maxlen=MOST)
        self.seconds = 0.0
        self.pods = 0
        """Bindings that fell into such a span, or whose pod was never seen pending."""
        self._since: float | None = None
        self._reason = ""

    def look(self, reflectors: Iterable[Reflector], now: float) -> bool:
        """Whether the cluster is seen whole now."""
        blind = [each.resource.plural for each in reflectors if each.state != "watching"]
        if blind and self._since is None:
            self._since, self._reason = now, f"not watching {', '.join(blind)}"
        elif not blind and self._since is not None:
            self.add(Span(self._since, now, self._reason))
            self._since = None
        return not blind

    def add(self, span: Span) -> None:
        """Nothing was seen in that time."""
        self.spans.append(span)
        self.seconds += span.end - span.begin

    def close(self, now: float) -> None:
        """The shadow ends."""
        if self._since is not None:
            self.add(Span(self._since, now, self._reason))
            self._since = None
