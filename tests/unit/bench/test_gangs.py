"""The workloads of groups: each group finds its victims, or leaves as a whole."""

from moorage.app import built_in_plugins
from moorage.app.profile_builder import build_profiles
from moorage.bench import throughput
from moorage.bench.gangs import MEMBERS, TOGETHER
from moorage.bench.workload_kinds import DISRUPTION, GANG_PREEMPTION, GROUP_SIZE
from moorage.config.loader import default_configuration
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile

GANGS = TOGETHER + 2
NODES = 2 * MEMBERS


def _profiles() -> dict[str, Profile]:
    known = built_in_plugins.built_in()
    return build_profiles(default_configuration(built_in_plugins.describe_plugins(known)), known)


def test_every_gang_gets_nodes_of_its_own() -> None:
    pods = GANGS * GROUP_SIZE

    measured = throughput.measure_throughput(GANG_PREEMPTION, pods, pods, _profiles(), 0)

    assert (measured.gangs, measured.gangs_scheduled) == (GANGS, GANGS)
    assert (measured.nodes_used, measured.max_per_node) == (pods, 1)


def test_four_whole_groups_leave_for_the_first_pod() -> None:
    bench = throughput.prepare(DISRUPTION, NODES, 1, _profiles())
    bench.queue.add(bench.cache.info(bench.pods[0]), 0.0)
    queued = bench.queue.pop(0.0)
    assert queued is not None

    _, answer = bench.scheduler.decide(queued)

    assert isinstance(answer, Unschedulable)
    assert answer.nominated is not None
    assert len(answer.nominated.victims) == 4 * MEMBERS


def test_every_pod_that_evicts_whole_groups_gets_a_node_of_its_own() -> None:
    measured = throughput.measure_throughput(DISRUPTION, NODES, NODES, _profiles(), 0)

    assert (measured.nodes_used, measured.max_per_node) == (NODES, 1)
