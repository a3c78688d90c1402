"""Scheduling policies are found in ConfigMaps, decoded and checked."""

import pytest

from moorage.api.pod import NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.api.taints import Toleration
from moorage.config import scheduling_policy
from moorage.config.field_errors import ConfigError

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: policies
data:
  gpu.yaml: |
    apiVersion: scheduling.k8s.io/v1
    kind: SchedulingPolicy
    metadata:
      name: gpu
    spec:
      resourceWeights:
        nvidia.com/gpu: 80
        cpu: 20
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions:
            - {key: accelerator, operator: In, values: [a100]}
  batch.yaml: |
    apiVersion: scheduling.k8s.io/v1
    kind: SchedulingPolicy
    metadata:
      name: batch
    spec:
      priorityClass: batch-workload
      tolerations:
      - {key: spot, operator: Equal, value: "true", effect: NoSchedule}
"""


def written(spec: str, name: str = "x") -> str:
    head = "apiVersion: scheduling.k8s.io/v1\nkind: SchedulingPolicy\n"
    return f"{head}metadata: {{name: '{name}'}}\nspec: {spec}\n"


def test_policies_of_a_config_map() -> None:
    gpu, batch = scheduling_policy.load_policies(CONFIG_MAP)

    assert (gpu.name, batch.name) == ("gpu", "batch")
    assert gpu.spec.resource_weights == {"nvidia.com/gpu": 80, "cpu": 20}
    accelerator = NodeSelectorRequirement(key="accelerator", operator="In", values=("a100",))
    term = NodeSelectorTerm(match_expressions=(accelerator,))
    assert gpu.spec.node_affinity == NodeAffinity(
        required_during_scheduling_ignored_during_execution=NodeSelector(
            node_selector_terms=(term,)
        )
    )
    assert batch.spec.priority_class == "batch-workload"
    assert batch.spec.tolerations == (
        Toleration(key="spot", operator="Equal", value="true", effect="NoSchedule"),
    )


def test_a_text_without_policies_has_none() -> None:
    assert scheduling_policy.load_policies("kind: Pod") == []


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        pytest.param("{}", [], id="a policy may say nothing"),
        pytest.param(
            "{resourceWeight: {cpu: 1}}",
            ['spec.resourceWeight: unknown field; did you mean "resourceWeights"?'],
            id="unknown fields are refused",
        ),
        pytest.param(
            "{resourceWeights: {cpuu: 70, storage: 10, hugepages-2Mi: 10, nvidia.com/gpu: 10}}",
            [
                'spec.resourceWeights.cpuu: Invalid value: "cpuu": must be cpu, memory, storage, '
                "pods, or an extended resource such as nvidia.com/gpu"
            ],
            id="a resource that no node can offer",
        ),
        pytest.param(
            "{resourceWeights: {cpu: 0, memory: 101, disk: many}}",
            [
                "spec.resourceWeights.disk: expected an integer, got text",
                "spec.resourceWeights.cpu: Invalid value: 0: "
                "resource weight of cpu not in valid range (0, 100]",
                "spec.resourceWeights.memory: Invalid value: 101: "
                "resource weight of memory not in valid range (0, 100]",
            ],
            id="weights are 1 to 100",
        ),
        pytest.param(
            "{tolerations: [{operator: Equal}, {key: a, operator: Exists, value: b}]}",
            [
                'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists '
                'when `key` is empty, which means "match all values and all keys"',
                'spec.tolerations[1].value: Invalid value: "b": '
                "value must be empty when `operator` is 'Exists'",
            ],
            id="tolerations name a key or tolerate all, and existence has no value",
        ),
        pytest.param(
            "{tolerations: [{key: a, operator: Is, effect: Never}]}",
            [
                'spec.tolerations[0].operator: Unsupported value: "Is": supported values: '
                '"Equal", "Exists"',
                'spec.tolerations[0].effect: Unsupported value: "Never": supported values: '
                '"NoSchedule", "PreferNoSchedule", "NoExecute"',
            ],
            id="operators and effects are those of Kubernetes",
        ),
        pytest.param(
            "{tolerations: [{key: a, tolerationSeconds: 5}]}",
            [
                'spec.tolerations[0].effect: Invalid value: "": '
                "effect must be 'NoExecute' when `tolerationSeconds` is set"
            ],
            id="a time is for eviction",
        ),
        pytest.param(
            "{nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
            "[{weight: 1, preference: {matchExpressions: [{key: a, operator: Near}]}}]}}",
            [
                "spec.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference"
                '.matchExpressions[0].operator: Unsupported value: "Near": supported values: '
                '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
            ],
            id="affinity is checked as a profile's is",
        ),
    ],
)
def test_checks(spec: str, problems: list[str]) -> None:
    if not problems:
        assert len(scheduling_policy.load_policies(written(spec))) == 1
        return

    with pytest.raises(ConfigError) as error:
        scheduling_policy.load_policies(written(spec))

    assert [f"{p.place}: {p.message}" for p in error.value.problems] == problems


def test_names_are_there_and_unique() -> None:
    text = "---\n".join([written("{}"), written("{}"), written("{}", name="")])

    with pytest.raises(ConfigError) as error:
        scheduling_policy.load_policies(text, source="p.yaml")

    assert str(error.value).splitlines() == [
        'p.yaml:8: metadata.name: Duplicate value: "x"',
        "p.yaml:13: metadata.name: Required value",
    ]


def test_the_version_is_checked_and_the_place_in_a_config_map_is_named() -> None:
    text = CONFIG_MAP.replace("scheduling.k8s.io/v1", "scheduling.k8s.io/v2", 1)

    with pytest.raises(ConfigError) as error:
        scheduling_policy.load_policies(text, source="cm.yaml")

    assert str(error.value) == (
        "cm.yaml:7: ConfigMap policies data[gpu.yaml]: apiVersion: Unsupported value: "
        '"scheduling.k8s.io/v2": supported values: "scheduling.k8s.io/v1"'
    )
