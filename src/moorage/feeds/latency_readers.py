"""Reads latencies between zones or nodes from a ConfigMap or a file."""

import datetime
from collections.abc import Iterable, Iterator
from contextlib import aclosing
from statistics import median
from typing import Annotated, Any, Final

import msgspec
import yaml

from moorage.api import mismatch
from moorage.clock import Clock
from moorage.feeds.readings import CONFIG_MAPS, FeedError, Latencies
from moorage.feeds.source_contents import config_map_title, read_config_map, read_text_file
from moorage.policies.telemetry.metric_sources import LatencyConfigMap, LatencyFile
from moorage.watch.api_errors import ApiError
from moorage.watch.api_server import ApiServer

Milliseconds = Annotated[float, msgspec.Meta(ge=0)]


class LatencyDocument(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Latencies that somebody measured or knows."""

    latencies: dict[str, dict[str, Milliseconds]]
    measured_at: datetime.datetime | None = None

    def pairs(self, now: float) -> Iterator[tuple[tuple[str, str], float, float]]:
        """Start and end, milliseconds, and the time of measurement."""
        at = now if self.measured_at is None else self.measured_at.timestamp()
        for start, row in self.latencies.items():
            for end, milliseconds in row.items():
                yield (start, end), milliseconds, at


def parse_latencies(text: str, place: str) -> LatencyDocument:
    """Parse one document, in YAML or JSON."""
    try:
        document = _plain(yaml.safe_load(text))
    except yaml.YAMLError as error:
        said = " ".join(str(error).split())
        raise FeedError(f"{place}: not a table of latencies: {said}") from None
    try:
        return msgspec.convert(document, LatencyDocument)
    except msgspec.ValidationError as error:
        misfit = mismatch.explain_mismatch(str(error), document)
        said = f"{misfit.path}: {misfit.problem}" if misfit.path else misfit.problem
        raise FeedError(f"{place}: not a table of latencies: {said}") from None


def merge_latencies(
    documents: Iterable[LatencyDocument], now: float, believed_seconds: float
) -> Latencies:
    """All documents in one: the median of the values that are still believed."""
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
    """What YAML reads, with times as text and keys as strings."""
    if isinstance(found, dict):
        return {str(key): _plain(value) for key, value in found.items()}
    return found.isoformat() if isinstance(found, datetime.datetime) else found


CONFIG_MAP_MISSING: Final = (
    "there is no such ConfigMap: add the component deploy/components/latencies, whose prober "
    "writes it, or set latencyConfigMap: ''"
)
CONFIG_MAP_FORBIDDEN: Final = "it may not be read: add the component deploy/components/latencies"


class ConfigMapLatencies:
    """Reads every document of one ConfigMap, and watches the ConfigMap."""

    def __init__(self, source: LatencyConfigMap, server: ApiServer, clock: Clock) -> None:
        self._source = source
        self._server = server
        self._clock = clock
        self._version = ""

    async def changed(self) -> bool:
        """Wait until the ConfigMap changes: True; False if the watch ends or cannot start."""
        key = CONFIG_MAPS.key(self._source.namespace, self._source.config_map)
        if not self._version:
            return False
        watching = self._server.watch(CONFIG_MAPS.one(key), resource_version=self._version)
        try:
            async with aclosing(watching) as events:
                async for event in events:
                    if event.type != "BOOKMARK":
                        return True
        except ApiError:
            return False
        return False

    async def read(self) -> Latencies:
        """The latencies that are still believed."""
        source, where = self._source, (self._source.namespace, self._source.config_map)
        found = await read_config_map(
            self._server, *where, missing=CONFIG_MAP_MISSING, forbidden=CONFIG_MAP_FORBIDDEN
        )
        place = config_map_title(*where)
        self._version = str(found["metadata"].get("resourceVersion") or "")
        data = {f"{place}, data[{key}]": text for key, text in (found.get("data") or {}).items()}
        documents = list(_parse_readable(data))
        now = self._clock.now()
        return merge_latencies(documents, now, source.believed_seconds)

    async def close(self) -> None:
        """Nothing is held open."""


class FileLatencies:
    """Reads one file."""

    def __init__(self, source: LatencyFile, clock: Clock) -> None:
        self._source = source
        self._clock = clock

    async def read(self) -> Latencies:
        """The latencies that are still believed."""
        source = self._source
        document = parse_latencies(read_text_file(source.path), source.path)
        return merge_latencies([document], self._clock.now(), source.believed_seconds)

    async def close(self) -> None:
        """Nothing is held open."""


def _parse_readable(data: dict[str, str]) -> Iterator[LatencyDocument]:
    """The readable documents; if none is readable, raises the fault of the first.

    A prober that writes invalid text must not hide what the others have measured.
    """
    faults: list[FeedError] = []
    for place, text in data.items():
        try:
            yield parse_latencies(text, place)
        except FeedError as error:
            faults.append(error)
    if faults and len(faults) == len(data):
        raise faults[0]
