"""The order in which nodes are tried: zone by zone in turn, as in kube-scheduler."""

from moorage.cache.cache import Cache
from moorage.testing import NodeBuilder, node

REGION = "topology.kubernetes.io/region"


def inhabited(name: str, zone: str, region: str) -> NodeBuilder:
    return node(name).in_zone(zone).labelled(**{REGION: region})


def order(cache: Cache) -> list[str]:
    return [cache.table.node(row).name for row in cache.node_order()]


def test_zones_of_one_name_in_two_regions_are_two() -> None:
    cache = Cache()
    for name, region in (("a", "west"), ("b", "west"), ("c", "east")):
        cache.put_node(inhabited(name, "z", region).build())

    assert order(cache) == ["a", "c", "b"]


def test_a_node_that_moves_to_another_region_is_tried_with_that_region() -> None:
    cache = Cache()
    for name, region in (("a", "west"), ("b", "west"), ("c", "east")):
        cache.put_node(inhabited(name, "z", region).build())

    cache.put_node(inhabited("c", "z", "west").build())

    assert order(cache) == ["a", "b", "c"]
