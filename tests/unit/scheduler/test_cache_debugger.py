"""What the cache holds beside what the API server holds: every kind of difference is told."""

import asyncio
import random

import pytest

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.clock import VirtualClock
from moorage.memory.memory_cluster import MemoryCluster
from moorage.scheduler.cache_debugger import compare
from moorage.testing import NodeBuilder, PodBuilder, node, pod

Built = NodeBuilder | PodBuilder


def differences(believed: list[Built], held: list[Built]) -> list[str]:
    """What is told of a cache that believes one thing while the API server holds another."""
    cluster = MemoryCluster(clock=VirtualClock(1000.0), rng=random.Random(1))
    cache = Cache()
    for made in held:
        kind = "Node" if isinstance(made, NodeBuilder) else "Pod"
        cluster.apply({"apiVersion": "v1", "kind": kind, **made.raw})
    for made in believed:
        if isinstance(made, NodeBuilder):
            cache.put_node(decode_as(made.raw, Node))
        else:
            cache.put_pod(decode_as(made.raw, Pod))
    return asyncio.run(compare(cache, cluster))


A = node("a").offering(cpu="4")


@pytest.mark.parametrize(
    ("believed", "held", "want"),
    [
        pytest.param([A], [A], [], id="nothing is told where they are equal"),
        pytest.param([], [A], ["node a is not in the cache"], id="a node that was not seen"),
        pytest.param([A], [], ["node a is in the cache only"], id="a node that is gone"),
        pytest.param(
            [A],
            [node("a").offering(cpu="8").labelled(pool="x").cordoned()],
            ["node a is otherwise in the cache: labels, unschedulable, allocatable"],
            id="a node that has changed",
        ),
        pytest.param(
            [A],
            [A, pod("web").on("a")],
            ["pod default/web is on node a and not in the cache"],
            id="a pod that was not seen",
        ),
        pytest.param(
            [A, pod("web").on("a")],
            [A],
            ["pod default/web is in the cache only, on node a"],
            id="a pod that is gone",
        ),
    ],
)
def test_differences(believed: list[Built], held: list[Built], want: list[str]) -> None:
    assert differences(believed, held) == want
