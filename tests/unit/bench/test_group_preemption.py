"""The workload of gangs that preempt: every gang finds its victims, and takes their place."""

from moorage.app import built_in_plugins
from moorage.app.profile_builder import build_profiles
from moorage.bench import throughput
from moorage.bench.group_preemption import TOGETHER
from moorage.bench.workload_kinds import GANG_PREEMPTION, GROUP_SIZE
from moorage.config.loader import default_configuration

GANGS = TOGETHER + 2


def test_every_gang_gets_nodes_of_its_own() -> None:
    known = built_in_plugins.built_in()
    plugins = built_in_plugins.describe_plugins(known)
    profiles = build_profiles(default_configuration(plugins), known)
    pods = GANGS * GROUP_SIZE

    measured = throughput.measure_throughput(GANG_PREEMPTION, pods, pods, profiles, 0)

    assert (measured.gangs, measured.gangs_scheduled) == (GANGS, GANGS)
    assert (measured.nodes_used, measured.max_per_node) == (pods, 1)
