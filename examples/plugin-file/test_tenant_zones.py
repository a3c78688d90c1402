"""The rule of TenantZones; the engine that runs it is the real one."""

from tenant_zones import OUTSIDE, TenantZones

from moorage.testing import Cluster, node, pod

RULE = TenantZones(zones=frozenset({"east", "west"}), home="west")


def test_pods_go_home() -> None:
    cluster = Cluster(
        node("a").in_zone("east"),
        node("b").in_zone("west"),
        node("c").in_zone("north"),
        plugins=[RULE],
    )

    assert cluster.place(pod("web").requesting(cpu="500m")) == "b"
    assert cluster.scores(pod("web"), "TenantZones") == {"a": 0, "b": 100}


def test_pods_stay_in_the_zones_that_are_paid_for() -> None:
    far_away = Cluster(node("c").in_zone("north"), plugins=[RULE])

    assert far_away.why_not(pod("web")).startswith(f"0/1 nodes are available: 1 {OUTSIDE}.")
