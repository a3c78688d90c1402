"""A tenant's nodes are its own, and better tenants have better nodes."""

import numpy as np
import pytest

from moorage.api.cluster_objects import Namespace
from moorage.api.decode import decode_as
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.policies.tenant_isolation import (
    ANOTHER_TENANT,
    HIGHER_TIER,
    SHARED,
    TenantIsolation,
)
from moorage.testing import Cluster, PodBuilder, node, pod
from tests.unit.policies.asking import faults, refusals, scores, world


def of(tenant: str, name: str = "p") -> PodBuilder:
    """A pod of a tenant's namespace."""
    return pod(name, tenant)


def namespace(name: str, **labels: str) -> Namespace:
    return decode_as({"metadata": {"name": name, "labels": labels}}, Namespace)


SPACES = tuple(namespace(name, tenant=name) for name in ("acme", "globex", "hooli"))
NODES = (
    *SPACES,
    node("acme").labelled(tenant="acme"),
    node("gold").labelled({"tenant-tier": "gold"}),
    node("silver").labelled({"tenant-tier": "silver"}),
    node("common"),
)
TIERS = {"acme": "gold", "globex": "silver"}


@pytest.mark.parametrize(
    ("asking", "refused", "scored"),
    [
        pytest.param(
            of("acme"),
            {},
            {"acme": 100, "common": 50, "gold": 75, "silver": 25},
            id="a gold tenant runs anywhere, on its own nodes first, then on those of its tier",
        ),
        pytest.param(
            of("globex"),
            {"acme": ANOTHER_TENANT, "gold": HIGHER_TIER},
            {"acme": 50, "common": 50, "gold": 25, "silver": 75},
            id="a silver tenant is kept off another's nodes and off those of a higher tier",
        ),
        pytest.param(
            of("hooli"),
            {"acme": ANOTHER_TENANT, "gold": HIGHER_TIER, "silver": HIGHER_TIER},
            {"acme": 50, "common": 50, "gold": 25, "silver": 25},
            id="a tenant without a tier has common nodes only",
        ),
        pytest.param(
            pod("p"),
            {"acme": ANOTHER_TENANT, "gold": HIGHER_TIER, "silver": HIGHER_TIER},
            {"acme": 50, "common": 50, "gold": 25, "silver": 25},
            id="and so has a pod that is nobody's",
        ),
    ],
)
def test_tenants_and_tiers(
    asking: PodBuilder, refused: dict[str, str], scored: dict[str, int]
) -> None:
    cluster = world(TenantIsolation(tenant_tiers=TIERS), *NODES)

    assert refusals(cluster, asking) == refused
    assert scores(cluster, asking) == scored


def test_a_pod_is_its_namespaces_tenants_whatever_it_says() -> None:
    labels = {"tenant": "acme", "tenant-tier": "gold"}
    cluster = world(TenantIsolation(), *NODES, namespace("default", **labels))
    assert refusals(cluster, pod("p")) == {}

    foreign = {"acme": ANOTHER_TENANT, "gold": HIGHER_TIER, "silver": HIGHER_TIER}
    assert refusals(cluster, of("hooli")) == foreign
    assert refusals(cluster, of("hooli").labelled(labels)) == foreign
    assert refusals(cluster, pod("p").labelled(tenant="hooli")) == {}


def test_a_pod_cannot_free_a_node_of_its_tenant_for_another() -> None:
    placed = (node("a"), of("acme", "x").labelled(tenant="globex").on("a"), *SPACES)
    cluster = world(TenantIsolation(exclusive=True), *placed)

    assert refusals(cluster, of("globex")) == {"a": SHARED}
    assert refusals(cluster, of("acme")) == {}


def test_tenants_may_share_a_node_unless_told_otherwise() -> None:
    placed = (*SPACES, node("a"), of("acme", "x").on("a"))

    assert refusals(world(TenantIsolation(), *placed), of("globex")) == {}
    assert refusals(world(TenantIsolation(exclusive=True), *placed), of("globex")) == {"a": SHARED}


def test_with_exclusive_nodes_no_two_tenants_meet() -> None:
    cluster = world(
        TenantIsolation(exclusive=True),
        *SPACES,
        node("a"),
        node("b"),
        node("c"),
        node("empty"),
        of("acme", "x").on("a"),
        of("acme", "y").on("b"),
        of("globex", "z").on("b"),
        pod("nobodys").on("c"),
    )

    assert refusals(cluster, of("acme")) == {"b": SHARED}
    assert refusals(cluster, of("globex")) == {"a": SHARED, "b": SHARED}
    assert refusals(cluster, pod("p")) == {}


def test_a_tenant_comes_back_to_the_node_it_has_for_itself() -> None:
    tenants = (of("acme", "x").on("a"), of("globex", "y").on("b"))
    placed = (*SPACES, node("a"), node("b"), node("c"), *tenants)

    exclusive = world(TenantIsolation(exclusive=True), *placed)
    assert scores(exclusive, of("acme")) == {"a": 60, "b": 50, "c": 50}
    assert set(scores(world(TenantIsolation(), *placed), of("acme")).values()) == {50}


def test_a_node_that_a_tenant_has_left_is_free_again() -> None:
    cluster = world(TenantIsolation(exclusive=True), *SPACES, node("a"), of("acme", "x").on("a"))
    assert refusals(cluster, of("globex")) == {"a": SHARED}

    cluster.cache.remove_pod("acme/x")

    assert refusals(cluster, of("globex")) == {}
    cluster.add(of("globex", "y").on("a"))
    assert refusals(cluster, of("acme")) == {"a": SHARED}


def test_a_pod_of_another_tenant_can_be_preempted_for_room() -> None:
    """The rule looks at the table as a trial has it."""
    plugin = TenantIsolation(exclusive=True)
    cluster = world(plugin, *SPACES, node("a"), of("acme", "x").on("a"))
    cycle = cluster.cycle(of("globex"))
    victim = cluster.cache.pod("acme/x")
    assert victim is not None

    with cycle.trial():
        cycle.displace(0, victim)
        assert _codes(plugin, cycle) == [0]
    assert _codes(plugin, cycle) != [0]


def _codes(plugin: TenantIsolation, cycle: Cycle) -> list[int]:
    out = np.zeros(1, dtype=np.int32)
    plugin.filter_all(cycle, cycle.pod, Nodes.all(cycle.table), out)
    return [int(code) for code in out]


def test_a_namespace_that_changes_hands_takes_its_pods_along() -> None:
    cluster = world(
        TenantIsolation(exclusive=True),
        *SPACES,
        node("a"),
        namespace("default", tenant="acme"),
        pod("x").on("a"),
    )
    assert refusals(cluster, of("globex")) == {"a": SHARED}

    cluster.add(namespace("default", tenant="globex"))

    assert refusals(cluster, of("globex")) == {}


def test_many_tenants_end_up_on_nodes_of_their_own() -> None:
    nodes = [node(f"n{i}") for i in range(3)]
    cluster = Cluster(*SPACES, *nodes, plugins=[TenantIsolation(exclusive=True)])

    placed: dict[str, set[str | None]] = {}
    for i in range(12):
        tenant = ("acme", "globex", "hooli")[i % 3]
        asks = of(tenant, f"p{i}").requesting(cpu="100m")
        placed.setdefault(tenant, set()).add(cluster.place(asks))

    assert sorted(len(where) for where in placed.values()) == [1, 1, 1]
    assert set.union(*placed.values()) == {"n0", "n1", "n2"}


def test_a_tier_that_is_not_in_the_order_is_refused() -> None:
    assert faults(TenantIsolation, tenantTiers={"acme": "gold"}) == []
    assert faults(TenantIsolation, tenantTiers={"acme": "golden"}) == [
        'tenantTiers.acme: Unsupported value: "golden": supported values: "gold", "silver", '
        '"bronze"'
    ]
    assert faults(TenantIsolation, tierOrder=["a", "b", "a"]) == ["tierOrder: one is listed twice"]
