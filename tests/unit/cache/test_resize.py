"""Pods that are resized where they run."""

import pytest

from moorage.cache.cache import Cache
from moorage.cache.consistency import validate_cache
from moorage.testing import PodBuilder, node, pod


def asked(cache: Cache) -> list[int]:
    table = cache.table
    return [int(table.requested[n, table.row_of["a"]]) for n in range(2)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(pod("web").requesting(cpu="1"), pod("web").requesting(cpu="3"), id="more"),
        pytest.param(pod("web").requesting(cpu="3"), pod("web").requesting(cpu="1"), id="less"),
        pytest.param(
            pod("web").requesting(cpu="1"), pod("web").requesting(memory="1Gi"), id="other"
        ),
    ],
)
def test_what_a_resized_pod_asks_for_is_counted(before: PodBuilder, after: PodBuilder) -> None:
    resized, anew = Cache(), Cache()
    for cache in (resized, anew):
        cache.put_node(node("a").build())

    resized.put_pod(before.on("a").build())
    first = asked(resized)
    resized.put_pod(after.on("a").build())
    anew.put_pod(after.on("a").build())

    assert asked(resized) == asked(anew) != first
    validate_cache(resized)
