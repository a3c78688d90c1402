"""A configuration written for scheduler-plugins' Coscheduling works as it is."""

from moorage.testing import node
from tests.unit.gang.gang_world import GangWorld, group, members

ENABLED = {
    "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
    "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
}


def test_it_is_gang_scheduling_under_another_name() -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        group("small", 2),
        group("large", 3),
        *members("small", 2),
        *members("large", 3),
        enabled=ENABLED,
        args={"Coscheduling": {"permitWaitingTimeSeconds": 10, "podGroupBackoffSeconds": 5}},
    )

    world.run()

    assert set(world.bound()) == {"small-0", "small-1"}
    assert "GangScheduling" not in world.profile.plugins
