"""What is counted without placing anything is what placing one pod after the other comes to."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.explain import capacity as module
from moorage.explain.capacity import capacity
from moorage.explain.world import World
from moorage.testing import Cluster, node, pod

sizes = st.integers(1, 5)


def world_of(cluster: Cluster) -> World:
    return World(cluster.cache, {"default-scheduler": cluster.profile})


@given(
    offered=st.lists(st.tuples(sizes, sizes, sizes, st.booleans()), min_size=1, max_size=4),
    asked=st.tuples(sizes, sizes),
    port=st.booleans(),
)
def test_counting_is_placing(offered: Any, asked: Any, port: bool) -> None:
    cluster = Cluster(
        *(
            node(f"n{i}").offering(cpu=str(c), memory=f"{m}Gi", pods=str(p)).labelled(ok=str(ok))
            for i, (c, m, p, ok) in enumerate(offered)
        )
    )
    shape = pod("p").requesting(cpu=f"{asked[0]}00m", memory=f"{asked[1]}00Mi").selecting(ok="True")
    raw = (shape.listening(80) if port else shape).raw
    world = world_of(cluster)
    counted = capacity(world, raw)
    with cluster.cache.trial():
        placed = module._placed(world, decode_as(raw, Pod), 1000)
        message = module._message(world, decode_as(raw, Pod))

    assert counted.fits == int(placed.sum())
    assert counted.message == message
    assert not list(cluster.cache.pods()), "the trial left pods behind"


def test_pods_that_shun_each_other_are_placed_one_by_one() -> None:
    cluster = Cluster(*(node(f"n{i}").in_zone(f"z{i % 2}") for i in range(4)))
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    raw = pod("p").requesting(cpu="1").labelled(a="b").with_spec(affinity=anti).raw
    told = capacity(world_of(cluster), raw)

    assert told.fits == 4
    assert told.by_zone == {"z0": 2, "z1": 2}
    assert "anti-affinity" in told.message
