"""What a policy reads of a pod's namespace is read anew when the namespace is labelled anew."""

from typing import Any

import pytest

from moorage.testing import node, pod
from tests.unit.policies import waking

REGION = "topology.kubernetes.io/region"
POLICY = {"metadata": {"name": "anywhere"}, "spec": {"resourceWeights": {"cpu": 1}}}


def labelled(name: str = "default", **labels: str) -> dict[str, Any]:
    named = {key.replace("_", "-"): value for key, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": named}}


def policy_named(name: str) -> dict[str, Any]:
    made = labelled()
    made["metadata"]["labels"] = {"moorage.io/scheduling-policy": name}
    return made


CASES = [
    pytest.param(
        "Compliance", {}, labelled(data_region="eu"), labelled(data_region="us"), id="its region"
    ),
    pytest.param(
        "TenantIsolation", {}, labelled(tenant="globex"), labelled(tenant="acme"), id="its tenant"
    ),
    pytest.param(
        "SchedulingPolicies",
        {"policies": [POLICY]},
        policy_named("nowhere"),
        policy_named("anywhere"),
        id="its policy",
    ),
]


@pytest.mark.parametrize(("plugin", "args", "before", "after"), CASES)
def test_a_pod_that_waits_is_tried_again(
    plugin: str, args: dict[str, Any], before: dict[str, Any], after: dict[str, Any]
) -> None:
    place = node("a").labelled({REGION: "us", "tenant": "acme"})

    found = waking.places("p", plugin, args, [before, place, pod("p")], after)

    assert found == ["", "a"]


def test_pods_of_other_namespaces_are_not() -> None:
    place = node("a").labelled({REGION: "us"})
    world: list[waking.Object] = [labelled(data_region="eu"), place, pod("p")]

    attempts = waking.attempts("Compliance", world, labelled("other", data_region="us"))

    assert attempts == 1
