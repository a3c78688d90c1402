"""How many pods of one application may be in one place."""

import pytest

from moorage.policies.app_concentration import TOO_MANY, AppConcentration, ConcentrationLimit
from moorage.testing import PodBuilder, node, pod
from tests.unit.policies.asking import faults, refusals, scores, world

ZONE = "topology.kubernetes.io/zone"
NODES = tuple(node(f"{zone}{i}").in_zone(zone) for zone in "ab" for i in (1, 2))


def app(name: str, on: str = "", value: str = "pay", namespace: str = "default") -> PodBuilder:
    made = pod(name, namespace).labelled({"app-id": value})
    return made.on(on) if on else made


def test_by_default_a_node_takes_one_pod_of_an_application() -> None:
    cluster = world(AppConcentration(), *NODES, app("x", "a1"), app("y", "b1", "other"))

    assert refusals(cluster, app("p")) == {"a1": TOO_MANY.format("kubernetes.io/hostname")}
    assert refusals(cluster, pod("p")) == {}


def test_zones_are_limited_by_number() -> None:
    plugin = AppConcentration(limits=(ConcentrationLimit(topology_key=ZONE, max_pods=2),))
    cluster = world(plugin, *NODES, app("x", "a1"), app("y", "a2"), app("z", "b1"))

    assert set(refusals(cluster, app("p"))) == {"a1", "a2"}


@pytest.mark.parametrize(("share", "want"), [(0.5, {"a1", "a2"}), (0.8, set())])
def test_or_by_share_of_all(share: float, want: set[str]) -> None:
    """Two of three are in zone a; with one more there would be three of four."""
    plugin = AppConcentration(limits=(ConcentrationLimit(topology_key=ZONE, max_share=share),))
    cluster = world(plugin, *NODES, app("x", "a1"), app("y", "a2"), app("z", "b1"))

    assert set(refusals(cluster, app("p"))) == want


def test_a_share_is_exact() -> None:
    """0.58 of 50 pods are 29; the product of floats is a little less."""
    plugin = AppConcentration(limits=(ConcentrationLimit(topology_key=ZONE, max_share=0.58),))
    there = [app(f"x{i}", "a1") for i in range(28)] + [app(f"y{i}", "b1") for i in range(21)]

    assert refusals(world(plugin, *NODES, *there), app("p")) == {}


def test_the_first_pod_goes_anywhere() -> None:
    plugin = AppConcentration(limits=(ConcentrationLimit(topology_key=ZONE, max_share=0.1),))

    assert refusals(world(plugin, *NODES), app("p")) == {}


def test_nodes_outside_of_all_zones_are_not_limited() -> None:
    plugin = AppConcentration(limits=(ConcentrationLimit(topology_key=ZONE, max_pods=1),))

    assert refusals(world(plugin, node("c"), app("x", "c")), app("p")) == {}


def test_fewer_of_them_is_better() -> None:
    cluster = world(AppConcentration(), *NODES, app("x", "a1"), app("y", "a1"), app("z", "b1"))

    assert scores(cluster, app("p")) == {"a1": 33, "a2": 100, "b1": 50, "b2": 100}


def test_applications_of_another_namespace_are_others_unless_told() -> None:
    there = app("x", "a1", namespace="elsewhere")

    assert refusals(world(AppConcentration(), *NODES, there), app("p")) == {}
    wide = AppConcentration(across_namespaces=True)
    assert set(refusals(world(wide, *NODES, there), app("p"))) == {"a1"}


def test_a_limit_needs_a_number() -> None:
    assert faults(AppConcentration, limits=[{"topologyKey": ZONE}]) == [
        "limits[0]: maxPods or maxShare is needed"
    ]
