"""What runs at each point, in order and with weights, as kube-scheduler's framework decides it."""

import pytest

from moorage.config.loader import load
from moorage.config.plugin_catalogue import PluginCatalogue, PluginInfo
from moorage.config.resolved_profile import expand_multi_point, resolve
from moorage.config.types import PluginRef, Plugins, PluginSet, Profile

KNOWN = {
    name: PluginInfo(name, frozenset(points.split()))
    for name, points in {
        "FS": "filter score",
        "F1": "filter",
        "F2": "filter",
        "S1": "score",
        "Nowhere": "",
    }.items()
}


def refs(text: str) -> tuple[PluginRef, ...]:
    pairs = (word.partition(":") for word in text.split())
    return tuple(PluginRef(name, int(weight or 0)) for name, _, weight in pairs)


@pytest.mark.parametrize(
    ("multi_point", "enabled", "disabled", "at_score"),
    [
        pytest.param("FS S1", "", "", "FS:1 S1:1", id="multiPoint brings those that implement it"),
        pytest.param("F1 Nowhere", "", "", "", id="and not the others"),
        pytest.param("FS:4 S1", "", "", "FS:4 S1:1", id="weights come from multiPoint; 0 means 1"),
        pytest.param("FS S1", "X:2", "", "FS:1 S1:1 X:2", id="what only the point has comes last"),
        pytest.param("FS:4 S1", "S1:7", "", "S1:7 FS:4", id="overrides come first, with weight"),
        pytest.param("FS:4 S1", "FS", "", "FS:1 S1:1", id="an override without weight weighs 1"),
        pytest.param("A FS S1", "S1 X FS", "", "S1:1 FS:1 X:1", id="overrides in their own order"),
        pytest.param("FS S1", "", "FS", "S1:1", id="the point leaves one out"),
        pytest.param("FS S1", "FS:3", "FS", "S1:1 FS:3", id="left out and enabled comes last"),
        pytest.param("FS S1", "X", "*", "X:1", id="a star leaves out all that multiPoint brings"),
        pytest.param("FS:5 S1", "FS", "*", "FS:1", id="the point's weight counts even if it is 0"),
    ],
)
def test_order_and_weights(multi_point: str, enabled: str, disabled: str, at_score: str) -> None:
    plugins = Plugins(
        score=PluginSet(refs(enabled), refs(disabled)), multi_point=PluginSet(refs(multi_point))
    )

    got = expand_multi_point(plugins, PluginCatalogue(KNOWN))["score"]

    assert tuple(PluginRef(name, weight) for name, weight in got) == refs(at_score)


def test_weights_count_only_where_there_are_scores() -> None:
    plugins = Plugins(filter=PluginSet(refs("F1:9")), multi_point=PluginSet(refs("FS:4")))

    assert expand_multi_point(plugins, PluginCatalogue(KNOWN))["filter"] == (("FS", 0), ("F1", 0))


def test_every_point_is_there_even_if_nothing_runs() -> None:
    points = expand_multi_point(Plugins(), PluginCatalogue(None))

    assert set(points.values()) == {()}
    assert {"preEnqueue", "score", "postBind", "podGroupPostFilter"} < points.keys()
    assert "multiPoint" not in points


def test_a_resolved_profile_has_args_of_those_that_take_any() -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "mine",
                "percentageOfNodesToScore": 30,
                "pluginConfig": [
                    {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 5}}
                ],
            }
        ],
    }
    (profile,) = load(document).configuration.profiles

    resolved = resolve(profile)

    assert resolved.scheduler_name == "mine"
    assert resolved.percentage_of_nodes_to_score == 30
    assert resolved.args["InterPodAffinity"] == {
        "hardPodAffinityWeight": 5,
        "ignorePreferredTermsOfExistingPods": False,
    }
    assert "NodeName" not in resolved.args
    assert resolved.plugins[:2] == ("SchedulingGates", "DynamicResources")
    assert len(resolved.plugins) == len(set(resolved.plugins)) == 20


def test_a_profile_loaded_without_knowing_its_plugins_is_resolved_by_knowing_them() -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "FS", "weight": 4}]}}}],
    }
    loaded = load(document)
    (profile,) = loaded.configuration.profiles

    assert "nothing is known of FS" in loaded.warnings[0]
    assert ("FS", 4) not in resolve(profile).points["score"]
    assert resolve(profile, KNOWN).points["score"][-1] == ("FS", 4)


def test_an_empty_profile_resolves_to_nothing() -> None:
    assert resolve(Profile("x")).plugins == ()
