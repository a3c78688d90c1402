"""NodeDeclaredFeatures: a pod goes where what it needs is declared."""

import pytest

from moorage.framework.events import Hint
from moorage.framework.verdicts import SKIP
from moorage.plugins.node_declared_features import (
    BIND_MOUNT_OPTIONS,
    HOST_NETWORK_USERS,
    REGISTERED,
    RESTART_ALL,
    UNSATISFIED,
    NodeDeclaredFeatures,
    after_node_change,
    after_pod_update,
    declared_features,
    required_features,
)
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod

PLAIN = pod("web")
MAPPED = pod("web").with_spec(hostNetwork=True, hostUsers=False)


def declaring(name: str, *features: str) -> NodeBuilder:
    raw = node(name).raw
    raw["status"]["declaredFeatures"] = list(features)
    return NodeBuilder(raw)


RESTARTING = {"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}
MOUNTING = {"name": "c", "volumeMounts": [{"name": "v", "bindMountOptions": ["noexec"]}]}


@pytest.mark.parametrize(
    ("wanted", "want"),
    [
        pytest.param(PLAIN, set(), id="nothing special"),
        pytest.param(MAPPED, {HOST_NETWORK_USERS}, id="users mapped on the host network"),
        pytest.param(pod("web").with_spec(hostNetwork=True), set(), id="the host network alone"),
        pytest.param(pod("web").with_spec(hostUsers=False), set(), id="mapped users alone"),
        pytest.param(
            pod("web").with_spec(containers=[RESTARTING]), {RESTART_ALL}, id="a rule to restart all"
        ),
        pytest.param(
            pod("web").with_spec(initContainers=[RESTARTING]),
            {RESTART_ALL},
            id="such a rule of an init container",
        ),
        pytest.param(
            pod("web").with_spec(
                containers=[{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]
            ),
            set(),
            id="a rule to restart one",
        ),
        pytest.param(
            pod("web").with_spec(containers=[MOUNTING]), {BIND_MOUNT_OPTIONS}, id="mount options"
        ),
    ],
)
def test_what_a_pod_needs(wanted: PodBuilder, want: set[str]) -> None:
    assert required_features(wanted.build()) == want


def test_a_pod_that_needs_no_feature_is_not_looked_at() -> None:
    cycle = Cluster(node("n")).cycle(PLAIN)

    assert NodeDeclaredFeatures().pre_filter(cycle, cycle.pod) is SKIP


def test_users_mapped_on_the_host_network_need_a_node_that_can() -> None:
    nodes = (declaring("can", HOST_NETWORK_USERS), declaring("other", REGISTERED[0]), node("old"))
    cluster = Cluster(*nodes, plugins=[NodeDeclaredFeatures()], alone=True)

    assert cluster.place(MAPPED) == "can"


def test_where_no_node_can_the_pod_is_refused() -> None:
    cluster = Cluster(node("old"), plugins=[NodeDeclaredFeatures()], alone=True)

    assert cluster.why_not(MAPPED) == f"0/1 nodes are available: 1 {UNSATISFIED}."


def test_a_node_that_declares_the_feature_later_is_seen() -> None:
    cluster = Cluster(node("n"), plugins=[NodeDeclaredFeatures()], alone=True)
    assert cluster.place(MAPPED) is None

    cluster.add(declaring("n", HOST_NETWORK_USERS))

    assert cluster.place(MAPPED) == "n"


@pytest.mark.parametrize(
    ("names", "want"),
    [
        pytest.param((), set(), id="nothing declared"),
        pytest.param(REGISTERED, set(REGISTERED), id="everything declared"),
        pytest.param(
            ("Abacus", HOST_NETWORK_USERS, "Zither"), {HOST_NETWORK_USERS}, id="unknown names"
        ),
        pytest.param(
            (HOST_NETWORK_USERS, REGISTERED[0]), {HOST_NETWORK_USERS}, id="a name out of order"
        ),
    ],
)
def test_declared(names: tuple[str, ...], want: set[str]) -> None:
    assert declared_features(names) == want


def test_the_registered_features_are_sorted() -> None:
    assert list(REGISTERED) == sorted(REGISTERED)


def test_hints() -> None:
    old, new = node("n").build(), declaring("n", HOST_NETWORK_USERS).build()
    plain, mapped = PLAIN.build(), MAPPED.build()

    assert after_node_change(mapped, None, old) is Hint.QUEUE
    assert after_node_change(mapped, old, new) is Hint.QUEUE
    assert after_node_change(mapped, old, old) is Hint.SKIP
    assert after_pod_update(mapped, mapped, plain) is Hint.QUEUE
    assert after_pod_update(mapped, mapped, mapped) is Hint.SKIP
