"""What a pod is to the business says where it may and should run."""

from typing import Any

import msgspec
import pytest

from moorage.app.built_in_plugins import describe_installed
from moorage.config.field_errors import ConfigError
from moorage.config.loader import load
from moorage.policies.business.business_affinity import (
    CORE_ON_CORE,
    NO_DATABASE_AT_THE_EDGE,
    BusinessAffinityPlugin,
)
from moorage.testing import PodBuilder, node, pod
from tests.unit.policies.asking import refusals, scores, world

NODES = (
    node("core").labelled({"node-level": "core", "zone": "north"}),
    node("plain").labelled(zone="south"),
    node("edge").labelled({"node-level": "core", "zone": "edge"}),
    node("nowhere"),
)
NOT_CORE, AT_THE_EDGE = CORE_ON_CORE["en"], NO_DATABASE_AT_THE_EDGE["en"]


def business(level: str = "", kind: str = "") -> PodBuilder:
    return pod("p").labelled({"business-level": level, "business-type": kind})


@pytest.mark.parametrize(
    ("asking", "want"),
    [
        pytest.param(
            business("core"),
            {"nowhere": NOT_CORE, "plain": NOT_CORE},
            id="core business runs on core nodes only",
        ),
        pytest.param(
            business(kind="database"), {"edge": AT_THE_EDGE}, id="a database is not put at the edge"
        ),
        pytest.param(
            business("core", "database"),
            {"edge": AT_THE_EDGE, "nowhere": NOT_CORE, "plain": NOT_CORE},
            id="a core database obeys both rules",
        ),
        pytest.param(business("batch", "web"), {}, id="other business runs anywhere"),
        pytest.param(pod("p"), {}, id="so does a pod that is no business of anyone"),
    ],
)
def test_filter(asking: PodBuilder, want: dict[str, str]) -> None:
    assert refusals(world(BusinessAffinityPlugin(), *NODES), asking) == want


def test_reasons_can_be_had_in_chinese() -> None:
    cluster = world(BusinessAffinityPlugin(language="zh"), *NODES)

    assert refusals(cluster, business("core"))["plain"] == "核心业务必须部署在核心节点"
    assert refusals(cluster, business(kind="database"))["edge"] == "数据库业务不能部署在边缘节点"


def test_a_preferred_zone_scores_100_and_any_other_20() -> None:
    cluster = world(BusinessAffinityPlugin(), *NODES)

    assert scores(cluster, pod("p").labelled({"preferred-zone": "south"})) == {
        "core": 20,
        "edge": 20,
        "nowhere": 20,
        "plain": 100,
    }


def test_a_pod_that_prefers_no_zone_scores_all_nodes_alike() -> None:
    assert set(scores(world(BusinessAffinityPlugin(), *NODES), pod("p")).values()) == {20}


def test_a_zone_that_no_node_is_in_is_preferred_in_vain() -> None:
    cluster = world(BusinessAffinityPlugin(), *NODES)

    assert set(scores(cluster, pod("p").labelled({"preferred-zone": "west"})).values()) == {20}


def test_labels_and_scores_are_arguments() -> None:
    plugin = BusinessAffinityPlugin(
        preferred_zone_label="near",
        zone_label="topology.kubernetes.io/zone",
        same_zone_score=90,
        other_zone_score=0,
    )
    cluster = world(plugin, node("a").in_zone("z1"), node("b").in_zone("z2"))

    assert scores(cluster, pod("p").labelled(near="z2")) == {"a": 0, "b": 90}


def load_rules(rules: list[dict[str, Any]]) -> BusinessAffinityPlugin:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": "BusinessAffinity"}]}},
                "pluginConfig": [{"name": "BusinessAffinity", "args": {"rules": rules}}],
            }
        ],
    }
    (profile,) = load(document, known=describe_installed()).configuration.profiles
    args = {config.name: config.args for config in profile.plugin_config}["BusinessAffinityPlugin"]
    return msgspec.convert(args, BusinessAffinityPlugin)


def test_rules_replace_the_default_ones() -> None:
    plugin = load_rules(
        [
            {
                "pods": {"matchLabels": {"team": "payments"}},
                "nodes": [{"key": "pci", "operator": "Exists"}],
                "reason": "node(s) were not certified",
            },
            {
                "pods": {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
                "nodes": [{"key": "generation", "operator": "Gt", "values": ["3"]}],
            },
        ]
    )
    nodes = (
        node("certified").labelled(pci="yes", generation="4"),
        node("new").labelled(generation="5"),
        node("old").labelled(pci="yes", generation="3"),
    )
    cluster = world(plugin, *nodes)

    assert refusals(cluster, business("core")) == {}
    assert refusals(cluster, pod("p").labelled(team="payments")) == {
        "new": "node(s) were not certified",
        "old": "node(s) broke the business rule for pods with team",
    }


def test_a_rule_that_makes_no_sense_is_refused_with_its_place() -> None:
    rule = {"pods": {}, "nodes": [{"key": "pci", "operator": "In", "values": []}]}

    with pytest.raises(ConfigError, match=r"pluginConfig\[0\]\.args\.rules\[0\]: .*can't be empty"):
        load_rules([rule])
