"""The log of pods that came and went holds on to few of those that are gone."""

from moorage.cache.cache import Cache
from moorage.testing import node, pod

CHURNED = 40_000
REMEMBERED = 20_000


def test_pods_that_are_gone_are_let_go_of() -> None:
    cache = Cache()
    cache.put_node(node("a").build())
    template = pod("web").on("a").build()
    for _ in range(CHURNED):
        cache.put_pod(template)
        cache.remove_pod(template.uid)

    held = {id(change.pod) for change in cache.table.pod_log.entries}

    assert len(held) < REMEMBERED
