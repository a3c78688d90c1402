"""Documents say what a class of pods asks of placement."""

from typing import Any

import pytest

from moorage.api.cluster_objects import Namespace
from moorage.api.decode import decode_as
from moorage.api.meta import LabelSelector
from moorage.app import built_in_plugins
from moorage.app.config_bundle import add_policies
from moorage.config import scheduling_policy
from moorage.config.field_errors import ConfigError
from moorage.config.loader import load
from moorage.config.resolved_profile import resolve
from moorage.cycle import profile
from moorage.policies.scheduling_policies import MISMATCH, NO_SUCH_POLICY, SchedulingPolicies
from moorage.policies.scheduling_policy_rules import Assignment
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod
from tests.unit.policies.asking import at, refusals, scores, world

GPU = "nvidia.com/gpu"
LABEL = "moorage.io/scheduling-policy"
DOCUMENTS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: scheduling-policies, namespace: kube-system}
data:
  default-policy.yaml: |
    apiVersion: scheduling.k8s.io/v1
    kind: SchedulingPolicy
    metadata: {name: default-policy}
    spec:
      resourceWeights: {cpu: 50, memory: 30, storage: 20}
      nodeAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 80
          preference:
            matchExpressions: [{key: node-type, operator: In, values: [compute-optimized]}]
  gpu-policy.yaml: |
    apiVersion: scheduling.k8s.io/v1
    kind: SchedulingPolicy
    metadata: {name: gpu-policy}
    spec:
      resourceWeights: {nvidia.com/gpu: 80, cpu: 15, memory: 5}
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions:
            - {key: accelerator, operator: In, values: [nvidia-tesla-v100, nvidia-tesla-a100]}
  batch-policy.yaml: |
    apiVersion: scheduling.k8s.io/v1
    kind: SchedulingPolicy
    metadata: {name: batch-policy}
    spec:
      resourceWeights: {cpu: 70, memory: 30}
      priorityClass: batch-workload
      tolerations:
      - {key: spot-instance, operator: Equal, value: "true", effect: NoSchedule}
"""
POLICIES = tuple(scheduling_policy.load_policies(DOCUMENTS))
PLUGIN = SchedulingPolicies(policies=POLICIES)


def named(name: str) -> PodBuilder:
    return pod("p").labelled({LABEL: name})


def batch(name: str = "p") -> PodBuilder:
    return pod(name).with_spec(priorityClassName="batch-workload")


def namespace(name: str, **labels: str) -> Namespace:
    return decode_as({"metadata": {"name": name, "labels": labels}}, Namespace)


def chosen(plugin: SchedulingPolicies, asking: PodBuilder, *objects: Namespace) -> str | None:
    cluster = world(plugin, node("a"), *objects)
    return plugin.name(at(cluster, asking, 0.0))


TEAM = Assignment(policy="gpu-policy", pod_selector=LabelSelector(match_labels={"app": "train"}))
SPACE = Assignment(policy="gpu-policy", namespaces=("default",))
CLASS = Assignment(policy="gpu-policy", priority_classes=("batch-workload", "urgent"))
BOTH = Assignment(policy="gpu-policy", namespaces=("default",), priority_classes=("urgent",))


@pytest.mark.parametrize(
    ("assignments", "asking", "want"),
    [
        pytest.param((), pod("p"), "default-policy", id="a pod of no special kind: the default"),
        pytest.param((), batch(), "batch-policy", id="the policy of the pod's priority class"),
        pytest.param((CLASS,), batch(), "gpu-policy", id="rather: an assignment by priority class"),
        pytest.param((SPACE,), batch(), "gpu-policy", id="rather: one by namespace"),
        pytest.param(
            (SPACE,),
            pod("p").labelled(app="train"),
            "gpu-policy",
            id="an assignment by namespace holds for all pods there",
        ),
        pytest.param(
            (TEAM,),
            batch().labelled(app="train"),
            "gpu-policy",
            id="rather: one by the pod's labels",
        ),
        pytest.param(
            (TEAM,),
            named("batch-policy").labelled(app="train"),
            "batch-policy",
            id="before all: the pod's own label",
        ),
        pytest.param((BOTH,), pod("p"), "default-policy", id="all that is stated must hold"),
        pytest.param(
            (BOTH,),
            pod("p").with_spec(priorityClassName="urgent"),
            "gpu-policy",
            id="and counts when it does",
        ),
        pytest.param(
            (Assignment(policy="batch-policy", namespaces=("default",)), SPACE),
            pod("p"),
            "batch-policy",
            id="of two alike, the one listed first",
        ),
    ],
)
def test_which_policy_is_a_pods(
    assignments: tuple[Assignment, ...], asking: PodBuilder, want: str
) -> None:
    assert chosen(SchedulingPolicies(policies=POLICIES, assignments=assignments), asking) == want


def test_a_namespace_names_the_policy_of_its_pods() -> None:
    labelled = namespace("default", **{LABEL: "gpu-policy"})

    assert chosen(PLUGIN, batch(), labelled) == "gpu-policy"
    assert chosen(PLUGIN, named("default-policy"), labelled) == "default-policy"
    team = Assignment(policy="batch-policy", pod_selector=LabelSelector(match_labels={"a": "b"}))
    plugin = SchedulingPolicies(policies=POLICIES, assignments=(team,))
    assert chosen(plugin, pod("p").labelled(a="b"), labelled) == "batch-policy"


def test_without_a_default_policy_a_pod_has_none() -> None:
    plugin = SchedulingPolicies(policies=POLICIES, default_policy="other")
    cluster = world(plugin, node("a"))

    assert chosen(plugin, pod("p")) is None
    assert refusals(cluster, pod("p")) == {}
    assert scores(cluster, pod("p")) == {"a": 0}


def test_required_affinity_refuses_nodes() -> None:
    nodes = (node("a100").labelled(accelerator="nvidia-tesla-a100"), node("plain"))
    cluster = world(PLUGIN, *nodes)

    assert refusals(cluster, named("gpu-policy")) == {"plain": MISMATCH}
    assert refusals(cluster, pod("p")) == {}


def test_resources_score_by_what_is_left_of_them_and_their_weight() -> None:
    """Half of `busy`'s cpu is used, which weighs 70, and none of its memory, which weighs 30."""
    resident = pod("x").requesting(cpu="2", memory="0").on("busy")
    cluster = world(PLUGIN, node("free"), node("busy"), resident)

    asks = batch().requesting(cpu="400m", memory="1638Mi")

    assert scores(cluster, asks) == {"busy": 55, "free": 90}


def test_an_extended_resource_counts_for_pods_that_ask_for_it() -> None:
    resident = pod("x").requesting({GPU: "4"}, cpu="0", memory="0").on("used")
    nodes = (node("used").offering({GPU: "8"}), node("free").offering({GPU: "8"}), node("none"))
    cluster = world(PLUGIN, *nodes, resident)

    gpu = named("gpu-policy").requesting({GPU: "2"}, cpu="0", memory="0")

    assert scores(cluster, gpu) == {"free": 80, "none": 100, "used": 40}
    assert scores(cluster, named("gpu-policy").requesting(cpu="4", memory="0")) == {
        "free": 25,
        "none": 25,
        "used": 25,
    }


def test_preferred_affinity_is_the_other_half_of_the_score() -> None:
    nodes = (node("fast").labelled({"node-type": "compute-optimized"}), node("plain"))
    cluster = world(PLUGIN, *nodes)

    asks = pod("p").requesting(cpu="4", memory="16Gi")

    assert scores(cluster, asks) == {"fast": 60, "plain": 10}


def spot(name: str) -> NodeBuilder:
    return node(name).tainted("spot-instance", "true")


def test_tolerations_are_added_to_the_pods_of_a_policy() -> None:
    cluster = Cluster(spot("a"), plugins=[PLUGIN])

    assert cluster.place(batch("one")) == "a"
    assert "untolerated taint" in cluster.why_not(pod("other"))


def test_the_pod_itself_is_left_as_it_is() -> None:
    cluster = Cluster(spot("a"), plugins=[PLUGIN])
    asks = batch().tolerating("other", "x")
    cycle = cluster.cycle(asks)

    PLUGIN.pre_filter(cycle, cycle.pod)
    PLUGIN.pre_filter(cycle, cycle.pod)

    assert [each.key for each in cycle.pod.spec.tolerations] == ["other", "spot-instance"]
    assert [each.key for each in asks.build().spec.tolerations] == ["other"]


def test_a_pod_that_names_a_policy_that_does_not_exist_is_refused() -> None:
    message = NO_SUCH_POLICY.format("gpu-polcy")
    cluster = world(PLUGIN, node("a"), node("b"))

    assert refusals(cluster, named("gpu-polcy")) == {"a": message, "b": message}
    assert message in Cluster(node("a"), plugins=[PLUGIN]).why_not(named("gpu-polcy"))


def configuration(args: dict[str, Any]) -> dict[str, Any]:
    enabled = {"multiPoint": {"enabled": [{"name": "SchedulingPolicies"}]}}
    given = [{"name": "SchedulingPolicies", "args": args}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": enabled, "pluginConfig": given}],
    }


def test_policies_are_adopted_by_profiles_that_run_the_plugin() -> None:
    own = {"metadata": {"name": "default-policy"}, "spec": {"resourceWeights": {"cpu": 1}}}
    loaded = load(
        configuration({"policies": [own]}), known=built_in_plugins.describe_installed()
    ).configuration

    (adopted,) = add_policies(loaded, POLICIES).profiles

    built = profile.build(resolve(adopted), built_in_plugins.installed())
    plugin = built.plugins["SchedulingPolicies"]
    assert isinstance(plugin, SchedulingPolicies)
    assert list(plugin.rules) == ["default-policy", "gpu-policy", "batch-policy"]
    assert plugin.rules["default-policy"].weights == (("cpu", 1),)
    assert plugin.rules["batch-policy"].tolerations == POLICIES[2].spec.tolerations


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        pytest.param(
            {"policies": [{"metadata": {"name": "a"}, "spec": {"resourceWeights": {"cpu": 101}}}]},
            "args.policies[0].spec.resourceWeights.cpu: ",
            id="a weight out of range",
        ),
        pytest.param(
            {"policies": [{"metadata": {"name": "a"}}, {"metadata": {"name": "a"}}]},
            'args.policies[1].metadata.name: Duplicate value: "a"',
            id="a name given twice",
        ),
        pytest.param(
            {"policies": [{"spec": {}}]},
            "args.policies[0].metadata.name: Required value",
            id="no name at all",
        ),
        pytest.param(
            {"assignments": [{"policy": "b", "namespaces": ["x"]}]},
            'args.assignments[0].policy: there is no policy "b"',
            id="an assignment of what is not there",
        ),
        pytest.param(
            {"policies": [{"metadata": {"name": "a"}}], "assignments": [{"policy": "a"}]},
            "args.assignments[0]: give a podSelector, namespaces or priorityClasses",
            id="an assignment to nobody",
        ),
        pytest.param(
            {
                "policies": [{"metadata": {"name": "a"}}],
                "assignments": [
                    {
                        "policy": "a",
                        "podSelector": {"matchExpressions": [{"key": "x", "operator": "Near"}]},
                    }
                ],
            },
            'args.assignments[0].podSelector: "Near" is not a valid label selector operator',
            id="a selector that makes no sense",
        ),
        pytest.param(
            {"policies": [{"metadata": {"name": "a"}, "spec": {"resourceWeight": {}}}]},
            'args.policies[0].spec.resourceWeight: unknown field; did you mean "resourceWeights"?',
            id="a field that is not known",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(args: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(configuration(args), known=built_in_plugins.describe_installed())

    assert f"profiles[0].pluginConfig[0].{problem}" in str(refused.value)
