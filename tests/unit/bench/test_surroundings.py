"""What is beside attempts in a workload has the effect it is named for."""

import pytest

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.app import built_in_plugins
from moorage.app.profile_builder import build_profiles
from moorage.bench import surroundings, throughput, workload_kinds
from moorage.config.loader import default_configuration
from moorage.cycle.profile import Profile
from moorage.framework.queued_pod import State

NODES, PODS = 20, 10


def _profiles() -> dict[str, Profile]:
    known = built_in_plugins.built_in()
    return build_profiles(default_configuration(built_in_plugins.describe_plugins(known)), known)


def _bench(kind: str) -> throughput.Bench:
    bench = throughput.prepare(kind, NODES, PODS, _profiles())
    surroundings.crowd(kind, bench.cache, bench.queue, PODS)
    return bench


def test_twice_as_many_pods_stay_behind_a_gate() -> None:
    bench = _bench("gated")

    states = [queued.state for queued in bench.queue]

    assert states == [State.GATED] * 2 * PODS


def test_a_storm_moves_nobody_who_would_fit_nowhere_all_the_same() -> None:
    bench = _bench("storm")
    version = bench.cache.table.node(0)

    for turn in range(5):
        surroundings.disturb("storm", bench.cache, bench.queue, bench.pods[0], turn)

    assert bench.cache.table.node(0) is not version
    assert {queued.state for queued in bench.queue} == {State.UNSCHEDULABLE}


def test_pods_that_leave_move_nobody_who_keeps_to_others() -> None:
    bench = _bench("leaving")
    pod = bench.pods[0]
    bench.cache.assume(bench.cache.info(pod), "node-0")

    surroundings.disturb("leaving", bench.cache, bench.queue, pod, 1)

    assert bench.cache.pod(pod.uid) is None
    assert [queued.state for queued in bench.queue] == [State.UNSCHEDULABLE] * PODS
    assert len({queued.info.cls for queued in bench.queue}) == PODS


def test_a_pod_of_their_own_that_leaves_is_worth_an_attempt_to_all() -> None:
    bench = _bench("leaving")
    gone = workload_kinds.ordinal_bystander(PODS)
    bench.cache.assume(bench.cache.info(gone), "node-0")

    surroundings.disturb("leaving", bench.cache, bench.queue, gone, 1)

    assert [queued.state for queued in bench.queue] == [State.BACKOFF] * PODS


def test_a_pod_that_is_sought_is_worth_an_attempt_to_the_one_that_seeks_it() -> None:
    bench = _bench("seeking")
    raw = workload_kinds.raw_pod("seeking", 0)
    raw["metadata"]["labels"]["name"] = "sought-3"
    came = decode_as(raw, Pod)
    bench.cache.assume(bench.cache.info(came), "node-0")

    surroundings.disturb("seeking", bench.cache, bench.queue, came, 1)

    woken = [queued.info.uid for queued in bench.queue if queued.state is State.BACKOFF]
    assert woken == ["bystander-3"]
    assert bench.queue.hints_asked["InterPodAffinity", "AssignedPodAdd", "Queue"] == 1


def test_pods_with_volumes_are_placed_by_nodes_that_attach_few() -> None:
    bench = _bench("volumes")
    for pod in bench.pods:
        bench.queue.add(bench.cache.info(pod), 0.0)

    placed = [throughput.decide(bench) for _ in bench.pods]

    assert all(placed)


@pytest.mark.parametrize("kind", ["volumes", "gated", "storm", "leaving", "seeking"])
def test_every_pod_that_arrives_is_scheduled(kind: str) -> None:
    found = throughput.measure_throughput(kind, NODES, PODS, _profiles(), 1)

    assert found.scheduled == PODS
