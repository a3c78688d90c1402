import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from moorage.clock import VirtualClock
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw

AddPod = Callable[..., Raw]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(start=1_700_000_000.0)


@pytest.fixture
def cluster(clock: VirtualClock) -> Iterator[MemoryCluster]:
    made = MemoryCluster(clock=clock, rng=random.Random(1))
    yield made
    made.validate()


@pytest.fixture
def add_pod(cluster: MemoryCluster) -> AddPod:
    """Create a pod with one container and the given fields of its spec; answer it as stored."""

    def add(name: str = "web", metadata: Raw | None = None, **spec: Any) -> Raw:
        fields = {"containers": [{"name": "c", "image": "i"}], **spec}
        pod = cluster.add(PODS, {"metadata": {"name": name, **(metadata or {})}, "spec": fields})
        return cluster.read(PODS, pod.namespace, pod.name)

    return add
