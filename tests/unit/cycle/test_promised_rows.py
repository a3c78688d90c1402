"""Nodes promised to other pods: many at once are judged as a trial of each would."""

import random

import pytest

from moorage import Cycle, Filter, Node, Pod, Rejection, unschedulable
from moorage.cycle import filtering, promised_rows
from moorage.testing import Cluster, PodBuilder, node, pod

NODES = 12


class NoCrowds(Filter, frozen=True):
    """Reads the pods of a node, so that it has to be asked in a trial."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        many = len(cycle.pods_on(node.name)) > 3
        return unschedulable("node(s) were crowded") if many else None


def _cluster(seed: int, *plugins: Filter, ports: bool = False) -> Cluster:
    rng = random.Random(seed)
    cluster = Cluster(plugins=plugins, seed=seed)
    for number in range(NODES):
        made = node(f"n{number}").offering(cpu=str(rng.randint(1, 4)), pods=str(rng.randint(1, 4)))
        cluster.add((made.cordoned() if rng.random() < 0.2 else made).build())
    for number in range(2 * NODES):
        info = cluster.cache.info(_pod(f"p{number}", rng, ports))
        where = f"n{rng.randrange(NODES)}"
        if rng.random() < 0.5:
            cluster.cache.assume(info, where)
        if rng.random() < 0.7:
            cluster.cache.nominations.put(info, rng.choice([where, f"n{rng.randrange(NODES)}"]))
    return cluster


def _pod(name: str, rng: random.Random, ports: bool = False) -> Pod:
    asked = {"cpu": f"{rng.choice([100, 500, 900])}m"}
    made = pod(name).requesting(**asked).prioritised(rng.choice([0, 5, 9]))
    if ports:
        made = made.listening(rng.choice([80, 81]), ip=rng.choice(["", "10.0.0.1", "10.0.0.2"]))
    return made.build()


@pytest.mark.parametrize("ports", [False, True], ids=["without ports", "with host ports"])
@pytest.mark.parametrize("plugins", [(), (NoCrowds(),)], ids=["sums only", "a rule to be tried"])
@pytest.mark.parametrize("seed", range(25))
def test_many_promised_rows_at_once_are_judged_as_a_trial_of_each(
    seed: int, plugins: tuple[Filter, ...], ports: bool
) -> None:
    cluster = _cluster(seed, *plugins, ports=ports)
    incoming = cluster.cache.info(_pod("incoming", random.Random(seed), ports))
    cycle = Cycle(cluster.cache, incoming, shared=cluster.profile.shared)

    found = filtering.run(cluster.profile, cycle)
    diagnosis = filtering.diagnose(cluster.profile, cycle, found)

    for row in range(cluster.cache.table.rows):
        want = filtering.refusal_with_nominated_pods(cycle, found.active, row)
        assert found.feasible[row] == (want is None)
        assert diagnosis.rejection(row) == want


def test_a_row_that_sums_refuse_costs_no_trial_of_the_rules_that_need_one() -> None:
    cluster = Cluster(node("a").offering(cpu="2"), plugins=[NoCrowds()])
    promised = pod("promised").requesting(cpu="2").prioritised(5).build()
    cluster.cache.nominations.put(cluster.cache.info(promised), "a")

    def trials(incoming: PodBuilder) -> int:
        """How often the table changes while the pod is filtered."""
        cycle = Cycle(cluster.cache, cluster.cache.info(incoming.build()))
        before = cluster.cache.table.pod_log.version
        filtering.run(cluster.profile, cycle)
        return cluster.cache.table.pod_log.version - before

    assert trials(pod("small")) > 0
    assert trials(pod("large").requesting(cpu="1")) == 0


@pytest.mark.parametrize("ports", [False, True], ids=["without ports", "with host ports"])
def test_no_promised_row_costs_a_trial(ports: bool) -> None:
    cluster = _cluster(1, ports=ports)
    incoming = cluster.cache.info(_pod("incoming", random.Random(1), ports))
    cycle = Cycle(cluster.cache, incoming, shared=cluster.profile.shared)
    before = cluster.cache.table.pod_log.version

    found = filtering.run(cluster.profile, cycle)
    filtering.diagnose(cluster.profile, cycle, found)

    assert promised_rows.promised(cycle) is not None
    assert cluster.cache.table.pod_log.version == before


def test_what_was_promised_is_counted_anew_when_pods_are_nominated_or_placed() -> None:
    cluster = Cluster(node("a"))
    cache = cluster.cache
    other = cache.info(pod("other").requesting(cpu="1").prioritised(5).build())
    cycle = Cycle(cache, cache.info(pod("web").build()))

    assert promised_rows.promised(cycle) is None
    cache.nominations.put(other, "a")
    promised = promised_rows.promised(cycle)
    assert promised is not None
    assert promised_rows.promised(cycle) is promised
    assert (promised.pods[0], promised.requested[0, 0]) == (1, 1000)
    cache.assume(other, "a")
    assert promised_rows.promised(cycle) is None
