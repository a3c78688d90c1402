"""Who must leave for a gang: the shortest front of the line, and nobody is moved in vain."""

import pytest

from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.gang.victim_search import Unit, search
from moorage.testing import node, pod

PODS = 100


class Moved(Cache):
    """Counts who is displaced."""

    count = 0

    def displace(self, pod: PodInfo) -> None:
        self.count += 1
        super().displace(pod)


class Settled:
    """A plan with which nobody may come back."""

    def still_fits(self, row: int) -> bool:
        return False


def _cache() -> tuple[Moved, list[Unit]]:
    cache = Moved()
    cache.put_node(node("a").offering(cpu="200", pods="200").build())
    for number in range(PODS):
        cache.put_pod(pod(f"p{number}").requesting(cpu="1").on("a").build())
    return cache, [Unit((info,)) for _, info in list(cache.pods())]


@pytest.mark.parametrize("needed", [1, 2, 3, 7, 31, 64, 99, 100])
@pytest.mark.parametrize("at_least", [0, 1])
def test_the_shortest_front_of_the_line_that_is_enough_leaves(needed: int, at_least: int) -> None:
    cache, units = _cache()
    before = cache.count

    found = search(
        cache,
        units,
        at_least,
        lambda: Settled() if int(cache.table.pod_count[0]) <= PODS - needed else None,
    )

    assert found is not None
    assert found[0].pods == [unit.pods[0].pod for unit in reversed(units[:needed])]
    assert int(cache.table.pod_count[0]) == PODS
    assert cache.count - before <= 10 * needed + 10


def test_where_all_are_not_enough_nobody_leaves() -> None:
    cache, units = _cache()

    assert search(cache, units, 1, lambda: None) is None
    assert int(cache.table.pod_count[0]) == PODS
