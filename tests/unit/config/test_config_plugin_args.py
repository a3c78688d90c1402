"""The arguments of kube-scheduler's own plugins: defaults and checks, in its words."""

from typing import Any

import pytest

from tests.unit.config.plugin_args_world import NAME_PART, completed, problems, required


def strategy(kind: str, **fields: Any) -> dict[str, Any]:
    return {"scoringStrategy": {"type": kind, **fields}}


def shape(*points: tuple[int, int]) -> list[dict[str, int]]:
    return [{"utilization": utilization, "score": score} for utilization, score in points]


def ratio(*points: tuple[int, int]) -> dict[str, Any]:
    return strategy("RequestedToCapacityRatio", requestedToCapacityRatio={"shape": shape(*points)})


@pytest.mark.parametrize(
    ("plugin", "args", "expected"),
    [
        pytest.param(
            "NodeResourcesFit",
            strategy("MostAllocated"),
            strategy(
                "MostAllocated",
                resources=[{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
            ),
            id="a strategy without resources counts cpu and memory",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy("LeastAllocated", resources=[{"name": "cpu"}, {"name": "x/y", "weight": 0}]),
            strategy(
                "LeastAllocated",
                resources=[{"name": "cpu", "weight": 1}, {"name": "x/y", "weight": 1}],
            ),
            id="a resource without weight weighs 1",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "nvidia.com/gpu"}]},
            {"resources": [{"name": "nvidia.com/gpu", "weight": 1}]},
            id="so does one that is balanced",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": []},
            {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]},
            id="no resources to balance are cpu and memory",
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultingType": ""},
            {"defaultingType": "System"},
            id="an empty defaulting type is System",
        ),
        pytest.param(
            "VolumeBinding",
            {"bindTimeoutSeconds": 0, "shape": []},
            {"bindTimeoutSeconds": 0, "shape": shape((0, 10), (100, 0))},
            id="no waiting is not the default waiting; an empty shape is the default shape",
        ),
        pytest.param(
            "DynamicResources",
            {"filterTimeout": "0s"},
            {"filterTimeout": "0s", "bindingTimeout": "10m0s"},
            id="a filter timeout of zero is none",
        ),
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0},
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 100},
            id="zero percent is zero percent",
        ),
        pytest.param(
            "InterPodAffinity",
            {"hardPodAffinityWeight": None},
            {"hardPodAffinityWeight": 1},
            id="null is the default",
        ),
        pytest.param(
            "InterPodAffinity",
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "InterPodAffinityArgs",
                "hardPodAffinityWeight": 7,
            },
            {"hardPodAffinityWeight": 7},
            id="arguments may say their type",
        ),
        pytest.param(
            "NodeAffinity",
            required({"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
            required({"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
            id="an added affinity stays what it is",
        ),
    ],
)
def test_defaults(plugin: str, args: dict[str, Any], expected: dict[str, Any]) -> None:
    got = completed(plugin, args)

    assert {key: got[key] for key in expected} == expected
    assert "kind" not in got


@pytest.mark.parametrize(
    ("args", "wrong"),
    [
        pytest.param(
            {"scoringStrategy": {}},
            [
                'scoringStrategy.type: Unsupported value: "": supported values: '
                '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
            ],
            id="a strategy that is given has a type",
        ),
        pytest.param(
            strategy("MostAlocated"),
            [
                'scoringStrategy.type: Unsupported value: "MostAlocated": supported values: '
                '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
            ],
            id="one of three types",
        ),
        pytest.param(
            strategy("LeastAllocated", resources=[{"name": "cpu", "weight": 101}]),
            [
                "scoringStrategy.resources[0].weight: Invalid value: 101: "
                "resource weight of cpu not in valid range (0, 100]"
            ],
            id="weights end at 100",
        ),
        pytest.param(
            strategy("LeastAllocated", resources=[{"name": "cpu", "weight": -1}]),
            [
                "scoringStrategy.resources[0].weight: Invalid value: -1: "
                "resource weight of cpu not in valid range (0, 100]"
            ],
            id="weights are positive",
        ),
        pytest.param(
            strategy("RequestedToCapacityRatio"),
            [
                "scoringStrategy.requestedToCapacityRatio: Required value: "
                "must be specified when type is RequestedToCapacityRatio"
            ],
            id="a ratio needs its function",
        ),
        pytest.param(
            {"scoringStrategy": {**ratio((0, 0))["scoringStrategy"], "type": "MostAllocated"}},
            [
                "scoringStrategy.requestedToCapacityRatio: Forbidden: "
                "must be nil when type is not RequestedToCapacityRatio"
            ],
            id="others have none",
        ),
        pytest.param(
            ratio(),
            [
                "scoringStrategy.requestedToCapacityRatio.shape: Required value: "
                "at least one point must be specified"
            ],
            id="a function has a point",
        ),
        pytest.param(
            ratio((0, 0), (50, 5), (50, 6), (20, 7)),
            [
                "scoringStrategy.requestedToCapacityRatio.shape[2].utilization: Invalid value: 50: "
                "values must be sorted in increasing order"
            ],
            id="points ascend; the first that does not is named",
        ),
        pytest.param(
            ratio((-1, 11), (101, -1)),
            [
                "scoringStrategy.requestedToCapacityRatio.shape[0].utilization: Invalid value: -1: "
                "not in valid range [0, 100]",
                "scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: "
                "not in valid range [0, 10]",
                "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 101"
                ": not in valid range [0, 100]",
                "scoringStrategy.requestedToCapacityRatio.shape[1].score: Invalid value: -1: "
                "not in valid range [0, 10]",
            ],
            id="utilization is 0 to 100, a score 0 to 10",
        ),
        pytest.param(ratio((0, 0), (100, 10)), [], id="a function as it should be"),
        pytest.param(
            {"ignoredResources": ["a.com/ok", "-"]},
            [f'ignoredResources[1]: Invalid value: "-": {NAME_PART}'],
            id="ignored resources have valid names",
        ),
        pytest.param(
            {"ignoredResourceGroups": ["a.com/x"]},
            [
                'ignoredResourceGroups[0]: Invalid value: "a.com/x": '
                "resource group name can't contain '/'"
            ],
            id="a group is the part before the slash",
        ),
        pytest.param(
            strategy("LeastAllocated", resources=[{"Name": "cpu"}]),
            ['scoringStrategy.resources[0].Name: unknown field; did you mean "name"?'],
            id="fields are spelled as upstream spells them",
        ),
    ],
)
def test_node_resources_fit(args: dict[str, Any], wrong: list[str]) -> None:
    assert problems("NodeResourcesFit", args) == wrong


@pytest.mark.parametrize(
    ("plugin", "args", "wrong"),
    [
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}, {"name": "cpu"}]},
            [
                "resources[0].weight: Invalid value: 2: must be 1",
                'resources[1].name: Duplicate value: "cpu"',
            ],
            id="balanced resources weigh 1, each once",
        ),
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 101, "minCandidateNodesAbsolute": -1},
            [
                "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
                "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
            ],
            id="candidates are a percentage and a number",
        ),
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            [
                "minCandidateNodesPercentage: Invalid value: 0: "
                "cannot be zero at the same time as minCandidateNodesAbsolute",
                "minCandidateNodesAbsolute: Invalid value: 0: "
                "cannot be zero at the same time as minCandidateNodesPercentage",
            ],
            id="that are not both zero",
        ),
        pytest.param(
            "InterPodAffinity",
            {"hardPodAffinityWeight": 101},
            ["hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"],
            id="the weight of hard affinity ends at 100",
        ),
        pytest.param(
            "VolumeBinding",
            {"bindTimeoutSeconds": -1, "shape": shape((0, 11))},
            [
                "bindTimeoutSeconds: Invalid value: -1: "
                "invalid BindTimeoutSeconds, should not be a negative value",
                "shape[0].score: Invalid value: 11: not in valid range [0, 10]",
            ],
            id="waiting takes time, and a shape has scores",
        ),
        pytest.param(
            "DynamicResources",
            {"filterTimeout": "-1s", "bindingTimeout": "500ms"},
            [
                'filterTimeout: Invalid value: "-1s": must be zero or positive',
                'bindingTimeout: Invalid value: "500ms": must be at least 1 second',
            ],
            id="devices are waited for a second at least",
        ),
        pytest.param(
            "InterPodAffinity",
            {"kind": "NodeAffinityArgs", "apiVersion": "kubescheduler.config.k8s.io/v2"},
            [
                'kind: Invalid value: "NodeAffinityArgs": '
                "args for plugin InterPodAffinity were not of type InterPodAffinityArgs",
                'apiVersion: Unsupported value: "kubescheduler.config.k8s.io/v2": supported '
                'values: "kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v1beta3", '
                '"kubescheduler.config.k8s.io/v1beta2"',
            ],
            id="the type that arguments say is theirs",
        ),
        pytest.param(
            "InterPodAffinity",
            ["hardPodAffinityWeight"],
            ["profiles[0].pluginConfig[0].args: expected a mapping, got a list"],
            id="arguments are a mapping",
        ),
    ],
)
def test_other_plugins(plugin: str, args: Any, wrong: list[str]) -> None:
    assert problems(plugin, args) == wrong
