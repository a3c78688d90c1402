"""Groups that leave as a whole, as a workload: preemption knows who leaves together."""

import random

from moorage.app import built_in_plugins
from moorage.app.profile_builder import build_profiles
from moorage.bench import throughput
from moorage.bench.whole_groups import MEMBERS
from moorage.bench.workload_kinds import DISRUPTION
from moorage.config.loader import default_configuration
from moorage.cycle import attempt
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle

NODES = 2 * MEMBERS


def _profiles() -> dict[str, Profile]:
    known = built_in_plugins.built_in()
    return build_profiles(default_configuration(built_in_plugins.describe_plugins(known)), known)


def test_four_whole_groups_leave_for_the_first_pod() -> None:
    bench = throughput.prepare(DISRUPTION, NODES, 1, _profiles())
    incoming = bench.cache.info(bench.pods[0])
    cycle = Cycle(bench.cache, incoming, random=random.Random(0), shared=bench.profile.shared)

    answer = attempt.run(bench.profile, cycle)

    assert isinstance(answer, Unschedulable)
    assert answer.nominated is not None
    assert len(answer.nominated.victims) == 4 * MEMBERS


def test_every_pod_gets_a_node_of_its_own() -> None:
    measured = throughput.measure_throughput(DISRUPTION, NODES, NODES, _profiles(), 0)

    assert (measured.nodes_used, measured.max_per_node) == (NODES, 1)
