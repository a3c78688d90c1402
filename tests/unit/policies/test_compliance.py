"""Data stays in its region, and on nodes that are secure enough for it."""

import pytest

from moorage.api.cluster_objects import Namespace
from moorage.api.decode import decode_as
from moorage.api.node import REGION_LABEL
from moorage.policies.compliance import OUTSIDE, TOO_INSECURE, UNKNOWN_LEVEL, Compliance
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from tests.unit.policies.asking import refusals, scores, world


def placed(name: str, region: str, level: str = "") -> NodeBuilder:
    labels = {REGION_LABEL: region} | ({"security-level": level} if level else {})
    return node(name).labelled(labels)


def namespace(**labels: str) -> Namespace:
    return decode_as({"metadata": {"name": "default", "labels": labels}}, Namespace)


def asking(region: str = "", level: str = "") -> PodBuilder:
    given = {"data-region": region, "security-level": level}
    return pod("p").labelled({key: value for key, value in given.items() if value})


NODES = (
    placed("cn", "cn-north", "high"),
    placed("eu", "eu-west", "medium"),
    placed("eu-low", "eu-central"),
    node("nowhere"),
)


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(asking(), {}, id="a pod that asks for nothing runs anywhere"),
        pytest.param(
            asking("cn-north"),
            {"eu": OUTSIDE, "eu-low": OUTSIDE, "nowhere": OUTSIDE},
            id="data stays in its region, and no region is not that region",
        ),
        pytest.param(
            asking("europe"),
            {"cn": OUTSIDE, "nowhere": OUTSIDE},
            id="a name may stand for several regions",
        ),
        pytest.param(
            asking(level="medium"),
            {"eu-low": TOO_INSECURE, "nowhere": TOO_INSECURE},
            id="a level or a higher one; a node without any has the lowest",
        ),
        pytest.param(asking(level="low"), {}, id="the lowest level is everywhere"),
        pytest.param(
            asking("europe", "high"),
            {
                "cn": OUTSIDE,
                "eu": TOO_INSECURE,
                "eu-low": TOO_INSECURE,
                "nowhere": f"{OUTSIDE}, {TOO_INSECURE}",
            },
            id="both at once, with both reasons",
        ),
        pytest.param(
            asking(level="cosmic"),
            dict.fromkeys(
                ("cn", "eu", "eu-low", "nowhere"),
                UNKNOWN_LEVEL.format("cosmic", "low, medium, high"),
            ),
            id="a level that nobody knows is met nowhere",
        ),
    ],
)
def test_filter(pod: PodBuilder, want: dict[str, str]) -> None:
    plugin = Compliance(regions={"europe": ("eu-west", "eu-central")})

    assert refusals(world(plugin, *NODES), pod) == want


def test_a_namespace_holds_all_of_its_pods_to_its_labels() -> None:
    labels = {"data-region": "eu-west", "security-level": "medium"}
    cluster = world(Compliance(), *NODES, namespace(**labels))

    assert set(refusals(cluster, pod("p"))) == {"cn", "eu-low", "nowhere"}


def test_a_pod_cannot_ask_for_less_than_its_namespace() -> None:
    labels = {"data-region": "eu-west", "security-level": "high"}
    cluster = world(Compliance(), *NODES, namespace(**labels))

    assert refusals(cluster, asking("cn-north", "low")) == {
        "cn": OUTSIDE,
        "eu": f"{OUTSIDE}, {TOO_INSECURE}",
        "eu-low": f"{OUTSIDE}, {TOO_INSECURE}",
        "nowhere": f"{OUTSIDE}, {TOO_INSECURE}",
    }


def test_secure_nodes_are_left_to_those_who_need_them() -> None:
    cluster = world(Compliance(), *NODES)

    assert scores(cluster, asking()) == {"cn": 0, "eu": 50, "eu-low": 100, "nowhere": 100}
    assert scores(cluster, asking(level="high")) == dict.fromkeys(scores(cluster, asking()), 100)


def test_labels_and_levels_are_arguments() -> None:
    plugin = Compliance(
        data_region_label="example.com/home",
        region_label="site",
        security_label="class",
        node_security_label="cleared-for",
        security_levels=("public", "secret"),
    )
    nodes = (node("a").labelled({"site": "x", "cleared-for": "secret"}), node("b"))
    asks = pod("p").labelled({"example.com/home": "x", "class": "secret"})

    assert refusals(world(plugin, *nodes), asks) == {"b": f"{OUTSIDE}, {TOO_INSECURE}"}


def test_a_level_listed_twice_is_refused() -> None:
    assert Compliance.check({"securityLevels": ["a", "b", "a"]}) == [
        "securityLevels: one is listed twice"
    ]
