"""ProfileCanary documents: what is accepted, and what is refused at which place."""

from typing import Any

import pytest
import yaml

from moorage.app import built_in_plugins
from moorage.config import profile_canary
from moorage.config.field_errors import ConfigError
from moorage.config.loader import load
from moorage.config.profile_canary import ProfileCanary

KNOWN = built_in_plugins.describe_plugins(built_in_plugins.built_in())
CONFIGURATION = load(
    {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "moorage"}, {"schedulerName": "batch"}],
    },
    known=KNOWN,
).configuration


def document(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "moorage/v1",
        "kind": "ProfileCanary",
        "metadata": {"name": "v2"},
        "spec": {"schedulerName": "moorage", "percent": 10, **spec},
    }


def loaded(raw: dict[str, Any]) -> ProfileCanary:
    (found,) = profile_canary.load_canaries(yaml.safe_dump(raw), CONFIGURATION, known=KNOWN).found
    return found


def test_its_profile_is_completed_as_those_of_the_configuration_are() -> None:
    strategy = {"scoringStrategy": {"type": "MostAllocated"}}
    given = {"pluginConfig": [{"name": "NodeResourcesFit", "args": strategy}]}
    found = loaded(document(profile=given)).spec

    assert found.profile.scheduler_name == "moorage"
    assert [ref.name for ref in found.profile.plugins.queue_sort.enabled] == ["PrioritySort"]
    args = {config.name: config.args for config in found.profile.plugin_config}
    assert args["NodeResourcesFit"]["scoringStrategy"]["type"] == "MostAllocated"
    assert (found.hash_by, found.rollback.min_pods) == ("pod", 20)


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"percent": 101}, "spec.percent: Invalid value: 101.0", id="more than all pods"
        ),
        pytest.param(
            {"schedulerName": "gpu"},
            'spec.schedulerName: Unsupported value: "gpu": supported values: "moorage", "batch"',
            id="a profile that is not there",
        ),
        pytest.param({"schedulerName": ""}, "spec.schedulerName: Required value", id="no profile"),
        pytest.param(
            {"profile": {"schedulerName": "batch"}},
            "spec.profile.schedulerName: Forbidden: the profile is that of moorage",
            id="another name for the profile",
        ),
        pytest.param(
            {"profile": {"plugins": {"score": {"enabled": [{"name": "ImageLocalty"}]}}}},
            'plugin "ImageLocalty" is not known',
            id="a plugin that is not known",
        ),
        pytest.param(
            {"profile": {"plugins": {"preEnqueue": {"disabled": [{"name": "*"}]}}}},
            "spec.profile.plugins.preEnqueue: Invalid value: [",
            id="another entrance",
        ),
        pytest.param(
            {"profile": {"surprise": 1}}, "spec.profile.surprise: unknown field", id="a surprise"
        ),
        pytest.param(
            {"rollback": {"maxFailureRate": 20}},
            "spec.rollback.maxFailureRate: Invalid value: 20.0: is a share",
            id="a rate in percent",
        ),
        pytest.param(
            {"rollback": {"minPods": 50, "window": 20}},
            "spec.rollback.window: Invalid value: 20: must be greater than or equal to minPods",
            id="a window that is too small",
        ),
        pytest.param(
            {"rollback": {"maxLatency": "0s"}},
            'spec.rollback.maxLatency: Invalid value: "0s"',
            id="a latency of nothing",
        ),
        pytest.param(
            {"rollback": {"maxUtilizationDecrease": 0.1}},
            'spec.rollback.maxUtilizationDecrease: unknown field; did you mean "maxUtil',
            id="a limit that is spelt otherwise",
        ),
        pytest.param(
            {"rollback": {"maxCostRatio": 0.5}},
            "spec.rollback.maxCostRatio: Invalid value: 0.5: must be 1 or more",
            id="a canary that has to be cheaper",
        ),
        pytest.param(
            {"rollback": {"maxWaitIncrease": "-1s"}},
            'spec.rollback.maxWaitIncrease: Invalid value: "-1s": must be 0 or more',
            id="a wait that has to be shorter",
        ),
        pytest.param(
            {"rollback": {"confidence": 95}},
            "spec.rollback.confidence: Invalid value: 95.0: is a share",
            id="a confidence in percent",
        ),
        pytest.param(
            {"hashBy": "node"},
            'spec.hashBy: Unsupported value: "node": supported values: "owner", "pod"',
            id="an unknown hash",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(spec: dict[str, Any], want: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(document(**spec))

    assert want in str(caught.value)


@pytest.mark.parametrize("name", ["", "stable", "not a name"])
def test_it_needs_a_name_of_its_own(name: str) -> None:
    with pytest.raises(ConfigError, match=r"metadata\.name"):
        loaded({**document(), "metadata": {"name": name}})


def test_a_profile_has_one_canary_at_a_time() -> None:
    one, other = loaded(document()), loaded(document(percent=5))
    (problem,) = profile_canary.check_together([("a.yaml", one), ("b.yaml", other)])

    assert 'b.yaml: v2: spec.schedulerName: Duplicate value: "moorage"' in str(problem)
