"""Latencies as they are written in files and ConfigMaps, and read again.

    measuredAt: 2026-01-01T12:00:00Z      # left out by those who write such a table by hand
    latencies:
      zone-a: {zone-b: 2.1, zone-c: 8.0}

A ConfigMap may hold several documents, one for each prober: of several values for one pair, the
median counts of those that are believed. What has no time is true whenever it is read.
"""

import datetime
from collections.abc import Iterable, Iterator
from statistics import median
from typing import Annotated, Any

import msgspec
import yaml

from moorage.feeds.readings import FeedError, Latencies

Milliseconds = Annotated[float, msgspec.Meta(ge=0)]


class Document(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What somebody measured, or knows."""

    latencies: dict[str, dict[str, Milliseconds]]
    measured_at: datetime.datetime | None = None

    def pairs(self, now: float) -> Iterator[tuple[tuple[str, str], float, float]]:
        """From where to where, how long, and when it was measured."""
        at = now if self.measured_at is None else self.measured_at.timestamp()
        for start, row in self.latencies.items():
            for end, milliseconds in row.items():
                yield (start, end), milliseconds, at


def parse(text: str, place: str) -> Document:
    """One document, in YAML or JSON."""
    try:
        return msgspec.convert(_plain(yaml.safe_load(text)), Document)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        said = " ".join(str(error).split())
        raise FeedError(f"{place}: not a table of latencies: {said}") from None


def merge(documents: Iterable[Document], now: float, believed_seconds: float) -> Latencies:
    """All documents as one: the median of what is believed."""
    known: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for document in documents:
        for pair, milliseconds, at in document.pairs(now):
            if now - at <= believed_seconds:
                known.setdefault(pair, []).append((milliseconds, at))
    return Latencies(
        {
            pair: (median(ms for ms, _ in found), max(at for _, at in found))
            for pair, found in known.items()
        }
    )


def _plain(found: Any) -> Any:
    """What YAML reads, with its times as texts and its keys as strings."""
    if isinstance(found, dict):
        return {str(key): _plain(value) for key, value in found.items()}
    return found.isoformat() if isinstance(found, datetime.datetime) else found
