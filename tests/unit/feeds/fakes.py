"""Sources that say what a test wants them to say."""

from typing import Any

from moorage.clock import VirtualClock
from moorage.feeds.feeds import Feeds
from moorage.feeds.readings import FeedError, Reading, Usages
from moorage.policies.telemetry.metric_sources import Source
from moorage.policies.telemetry.node_measurements import Usage
from moorage.testing import Cluster
from moorage.watch.api_resources import Resource

NOW = 1_000_000.0


class FakeServer:
    """An API server that answers GET."""

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        self.asked.append(resource.path(namespace, name))
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"metadata": {}, **self.answer}


class FakeReader:
    """Says one thing after the other, the last for ever; an exception is raised."""

    def __init__(self, *says: Reading | Exception) -> None:
        self.says = list(says)
        self.closed = False

    async def read(self) -> Reading:
        said = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if isinstance(said, Exception):
            raise said
        return said

    async def close(self) -> None:
        self.closed = True


def using(node: str, cores: float, at: float = NOW) -> Usages:
    return Usages({node: Usage(cores * 1000, 0.0, at)})


class Fed:
    """Clusters whose profiles are fed, in virtual time."""

    def __init__(self, *clusters: Cluster, **readers: FakeReader) -> None:
        self.clock = VirtualClock(NOW)
        self.clusters = list(clusters)
        self.readers = readers
        self.arrived = 0
        self.opened: list[Source] = []
        self.feeds = Feeds(
            lambda: [cluster.profile for cluster in self.clusters],
            self._open,
            self.clock,
            self._count,
        )

    def _open(self, source: Source) -> FakeReader:
        self.opened.append(source)
        kind = source.name.partition("/")[0]
        return self.readers.get(kind) or FakeReader(FeedError("nobody measures"))

    def _count(self) -> None:
        self.arrived += 1
