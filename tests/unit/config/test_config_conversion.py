"""Older versions and misplaced settings are brought to v1, and every change is said."""

from typing import Any

import pytest

from moorage.config.field_errors import ConfigError
from moorage.config.loader import Loaded, load
from moorage.config.resolved_profile import resolve
from moorage.config.types import Extender

V1BETA3 = "kubescheduler.config.k8s.io/v1beta3"
DEPRECATED = f"apiVersion: {V1BETA3} is deprecated and converted to v1"


def loaded(profile: dict[str, Any], version: str = V1BETA3) -> Loaded:
    head = {"apiVersion": version, "kind": "KubeSchedulerConfiguration"}
    return load({**head, "profiles": [profile]})


def enabled(point: str, *refs: dict[str, Any]) -> dict[str, Any]:
    return {"plugins": {point: {"enabled": list(refs)}}}


@pytest.mark.parametrize(
    ("version", "warnings"),
    [
        pytest.param("kubescheduler.config.k8s.io/v1", [], id="v1 is the version"),
        pytest.param(V1BETA3, [DEPRECATED], id="v1beta3 is converted"),
        pytest.param(
            "kubescheduler.config.k8s.io/v1beta2",
            [
                "apiVersion: kubescheduler.config.k8s.io/v1beta2 is deprecated and converted to "
                "v1; default weights are those of v1 (TaintToleration 3, NodeAffinity 2, "
                "InterPodAffinity 2; v1beta2 had 1)"
            ],
            id="v1beta2 had other weights",
        ),
    ],
)
def test_versions(version: str, warnings: list[str]) -> None:
    got = loaded({}, version)

    assert list(got.warnings) == warnings
    assert got.configuration == loaded({}, "kubescheduler.config.k8s.io/v1").configuration


@pytest.mark.parametrize("version", ["kubescheduler.config.k8s.io/v1beta1", "v1", ""])
def test_other_versions_are_refused_with_those_that_are_not(version: str) -> None:
    with pytest.raises(ConfigError) as error:
        loaded({}, version)

    assert str(error.value) == (
        f'apiVersion: Unsupported value: "{version}": supported values: '
        '"kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v1beta3", '
        '"kubescheduler.config.k8s.io/v1beta2"'
    )


@pytest.mark.parametrize("name", ["EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"])
def test_volume_limits_of_one_driver_become_those_of_all(name: str) -> None:
    got = loaded(
        {"plugins": {"filter": {"enabled": [{"name": name}], "disabled": [{"name": "*"}]}}}
    )

    (profile,) = got.configuration.profiles
    assert resolve(profile).points["filter"] == (("NodeVolumeLimits", 0),)
    assert got.warnings[1] == (
        f'profiles[0].plugins.filter.enabled[0]: plugin "{name}" no longer exists, '
        "NodeVolumeLimits takes its place: NodeVolumeLimits counts the volumes of every driver"
    )


def test_what_takes_their_place_does_so_once() -> None:
    names = ["EBSLimits", "NodeName", "NodeVolumeLimits", "GCEPDLimits"]
    refs = [{"name": name} for name in names]

    got = loaded({"plugins": {"filter": {"enabled": refs, "disabled": [{"name": "*"}]}}})

    (profile,) = got.configuration.profiles
    assert resolve(profile).points["filter"] == (("NodeName", 0), ("NodeVolumeLimits", 0))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("NodeLabel", "use NodeAffinity's addedAffinity"),
        ("NodePreferAvoidPods", "taint the nodes with effect PreferNoSchedule"),
        ("SelectorSpread", "PodTopologySpread spreads by default"),
        ("ServiceAffinity", "use inter-pod affinity"),
    ],
)
def test_plugins_that_nothing_replaces_are_left_out(name: str, advice: str) -> None:
    given = enabled("score", {"name": name, "weight": 9})
    given["pluginConfig"] = [{"name": name, "args": {"presentLabels": ["x"]}}]

    got = loaded(given)

    gone = f'plugin "{name}" no longer exists, it is left out: {advice}'
    assert list(got.warnings) == [
        DEPRECATED,
        f"profiles[0].plugins.score.enabled[0]: {gone}",
        f"profiles[0].pluginConfig[0]: {gone}",
    ]
    assert got.configuration == loaded({}).configuration


def test_disabling_what_no_longer_exists_does_nothing() -> None:
    got = loaded({"plugins": {"filter": {"disabled": [{"name": "EBSLimits"}]}}})

    assert got.warnings[1:] == (
        'profiles[0].plugins.filter.disabled[0]: plugin "EBSLimits" no longer exists',
    )
    assert got.configuration == loaded({}).configuration


@pytest.mark.parametrize(
    ("name", "config", "strategy"),
    [
        pytest.param(
            "NodeResourcesMostAllocated",
            {"resources": [{"name": "cpu", "weight": 3}]},
            {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]},
            id="packing, with resources",
        ),
        pytest.param(
            "NodeResourcesMostAllocated",
            None,
            {
                "type": "MostAllocated",
                "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
            },
            id="packing, without",
        ),
        pytest.param(
            "RequestedToCapacityRatio",
            {
                "shape": [{"utilization": 0, "score": 10}],
                "resources": [{"name": "memory", "weight": 2}],
            },
            {
                "type": "RequestedToCapacityRatio",
                "resources": [{"name": "memory", "weight": 2}],
                "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 10}]},
            },
            id="a function",
        ),
        pytest.param(
            "NodeResourcesLeastAllocated",
            {"resources": [{"name": "cpu", "weight": 5}]},
            {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 5}]},
            id="spreading",
        ),
    ],
)
def test_scorers_of_old_become_a_scoring_strategy(
    name: str, config: dict[str, Any] | None, strategy: dict[str, Any]
) -> None:
    given = enabled("score", {"name": name, "weight": 5})
    given["pluginConfig"] = [{"name": name, "args": config}] if config else []

    (profile,) = loaded(given).configuration.profiles

    resolved = resolve(profile)
    assert resolved.args["NodeResourcesFit"]["scoringStrategy"] == strategy
    assert resolved.points["score"][0] == ("NodeResourcesFit", 5)


def test_a_strategy_that_is_given_takes_precedence_over_a_scorer_of_old() -> None:
    given = enabled("score", {"name": "NodeResourcesMostAllocated"})
    args = {"scoringStrategy": {"type": "LeastAllocated"}, "ignoredResources": ["a.com/x"]}
    given["pluginConfig"] = [{"name": "NodeResourcesFit", "args": args}]

    (profile,) = loaded(given).configuration.profiles

    fit = resolve(profile).args["NodeResourcesFit"]
    assert fit["scoringStrategy"]["type"] == "LeastAllocated"
    assert fit["ignoredResources"] == ["a.com/x"]


def test_problems_with_a_scorers_arguments_are_placed_where_they_were_written() -> None:
    given = enabled("score", {"name": "NodeResourcesMostAllocated"})
    resources = [{"name": "cpu", "weight": 101}]
    given["pluginConfig"] = [
        {"name": "NodeResourcesFit", "args": {}},
        {"name": "NodeResourcesMostAllocated", "args": {"resources": resources}},
    ]

    with pytest.raises(ConfigError) as error:
        loaded(given)

    assert str(error.value) == (
        "profiles[0].pluginConfig[1].args.resources[0].weight: Invalid value: 101: "
        "resource weight of cpu not in valid range (0, 100]"
    )


def test_in_v1_removed_plugins_are_refused_as_upstream_refuses_them() -> None:
    with pytest.raises(ConfigError) as error:
        loaded(enabled("filter", {"name": "EBSLimits"}), version="kubescheduler.config.k8s.io/v1")

    assert str(error.value) == (
        'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in '
        'version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1"): '
        "NodeVolumeLimits counts the volumes of every driver"
    )


@pytest.mark.parametrize("version", [V1BETA3, "kubescheduler.config.k8s.io/v1"])
def test_addresses_are_no_longer_part_of_the_configuration(version: str) -> None:
    head = {"apiVersion": version, "kind": "KubeSchedulerConfiguration"}
    got = load({**head, "healthzBindAddress": "0.0.0.0:10251", "metricsBindAddress": ""})

    assert list(got.warnings)[:2] == [
        f"{name}: ignored: the command line says where health and metrics are served"
        for name in ("healthzBindAddress", "metricsBindAddress")
    ]


def test_extenders_inside_profiles_are_moved_to_the_top() -> None:
    a, b, c = ({"urlPrefix": f"http://{name}", "filterVerb": "f"} for name in "abc")
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [a],
        "profiles": [
            {"schedulerName": "x", "extenders": [b]},
            {"schedulerName": "y", "extenders": [c, b]},
        ],
    }

    got = load(document)

    assert [e.url_prefix for e in got.configuration.extenders] == [
        "http://a",
        "http://b",
        "http://c",
    ]
    assert got.warnings == (
        "profiles[0].extenders: moved to the top: all profiles share the extenders",
        "profiles[1].extenders: moved to the top: all profiles share the extenders",
    )
    assert document["profiles"][0]["extenders"] == [b], "the document itself is left alone"  # type: ignore[index]


def test_problems_with_a_moved_extender_are_placed_where_it_was_written() -> None:
    with pytest.raises(ConfigError) as error:
        loaded({"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p", "wieght": 1}]})

    assert [problem.place for problem in error.value.problems] == [
        "profiles[0].extenders[0].wieght",
        "profiles[0].extenders[0].weight",
    ]


def test_extenders_of_a_profile_that_are_no_list_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"profiles\[0\]\.extenders: unknown field"):
        loaded({"extenders": {"urlPrefix": "http://x"}})


def test_resources_that_an_extender_asks_to_ignore_are_ignored() -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [
            {
                "urlPrefix": "http://x",
                "filterVerb": "f",
                "managedResources": [
                    {"name": "a.com/x", "ignoredByScheduler": True},
                    {"name": "a.com/y"},
                ],
            }
        ],
        "profiles": [
            {
                "pluginConfig": [
                    {"name": "NodeResourcesFit", "args": {"ignoredResources": ["b.com/z"]}}
                ]
            }
        ],
    }

    configuration = load(document).configuration

    fit = resolve(configuration.profiles[0]).args["NodeResourcesFit"]
    assert fit["ignoredResources"] == ["a.com/x"], "an extender takes precedence, as upstream"
    assert isinstance(configuration.extenders[0], Extender)
