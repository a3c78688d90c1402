"""Latencies from a ConfigMap or a file."""

from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Final

from moorage.clock import Clock
from moorage.feeds import latency_documents
from moorage.feeds.latency_documents import Document
from moorage.feeds.readings import FeedError, Latencies
from moorage.policies.sources import LatencyConfigMap, LatencyFile
from moorage.watch.errors import ApiError, Forbidden, NotFound
from moorage.watch.resources import RESOURCES
from moorage.watch.surface import ApiServer

CONFIG_MAPS: Final = RESOURCES["configmaps"]
MISSING: Final = (
    "there is no such ConfigMap: add the component deploy/components/latencies, whose prober "
    "writes it, or set latencyConfigMap: ''"
)
NOT_ALLOWED: Final = "it may not be read: add the component deploy/components/latencies"


class ConfigMapLatencies:
    """Reads every document of one ConfigMap, and watches it."""

    def __init__(self, source: LatencyConfigMap, server: ApiServer, clock: Clock) -> None:
        self._source = source
        self._server = server
        self._clock = clock
        self._version = ""

    async def changed(self) -> bool:
        """Return True when the ConfigMap is another than was read; False where the watch ends."""
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
        """What is believed of all that was measured."""
        source = self._source
        place = f"ConfigMap {source.namespace}/{source.config_map}"
        try:
            found = await self._server.get(CONFIG_MAPS, source.namespace, source.config_map)
        except NotFound:
            raise FeedError(f"{place}: {MISSING}") from None
        except Forbidden as error:
            raise FeedError(f"{place}: {NOT_ALLOWED} ({error})") from None
        except ApiError as error:
            raise FeedError(f"{place}: {error}") from None
        self._version = str(found["metadata"].get("resourceVersion") or "")
        data = {f"{place}, data[{key}]": text for key, text in (found.get("data") or {}).items()}
        documents = list(_readable(data))
        now = self._clock.now()
        return latency_documents.merge(documents, now, source.believed_seconds)

    async def close(self) -> None:
        """Nothing is held open."""


class FileLatencies:
    """Reads one file."""

    def __init__(self, source: LatencyFile, clock: Clock) -> None:
        self._source = source
        self._clock = clock

    async def read(self) -> Latencies:
        """What is believed of all that was measured."""
        source = self._source
        document = latency_documents.parse(_text(source.path), source.path)
        return latency_documents.merge([document], self._clock.now(), source.believed_seconds)

    async def close(self) -> None:
        """Nothing is held open."""


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FeedError(f"{path}: {error.strerror}") from None


def _readable(data: dict[str, str]) -> Iterator[Document]:
    """The documents that can be read; where none can, what is wrong with the first.

    A prober that writes nonsense must not hide what the others have measured.
    """
    faults: list[FeedError] = []
    for place, text in data.items():
        try:
            yield latency_documents.parse(text, place)
        except FeedError as error:
            faults.append(error)
    if faults and len(faults) == len(data):
        raise faults[0]
