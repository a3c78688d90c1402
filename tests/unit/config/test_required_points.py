"""Disabling what a plugin's Score or Filter needs: left out, or failing as in kube-scheduler."""

from typing import Any

import pytest
import yaml

from moorage.app import built_in_plugins
from moorage.config import yaml_dump
from moorage.config.loader import Loaded, load
from moorage.config.required_points import UnpreparedPlugins
from moorage.explain.evaluator import evaluate
from moorage.simulate import simulation
from moorage.simulate.manifest_files import Manifest

FAIL = "---\napiVersion: moorage/v1\nkind: MoorageConfiguration\nunpreparedPlugins: Fail\n"


def text(point: str, name: str, more: str = "") -> str:
    return f"""\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    {point}:
      disabled:
      - name: {name}
{more}"""


def loaded(given: str) -> Loaded:
    return load(given, known=built_in_plugins.describe_installed(), source="s.yaml")


def at(given: Loaded, point: str) -> set[str]:
    (profile,) = given.configuration.profiles
    return {ref.name for ref in profile.plugins.at(point).enabled}


def objects() -> list[Manifest]:
    nodes: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        }
        for name in ("a", "b")
    ]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {}}
    return [Manifest(raw, "test", number) for number, raw in enumerate([*nodes, pod], start=1)]


def run(given: Loaded) -> tuple[list[str], str]:
    """The errors, and where the pod went."""
    outcome = simulation.simulate(objects(), given.configuration, built_in_plugins.installed())
    (pod,) = simulation.pods_of(outcome)
    return list(outcome.story.errors), pod.spec.node_name


@pytest.mark.parametrize("name", ["InterPodAffinity", "PodTopologySpread", "TaintToleration"])
def test_a_score_without_its_pre_score_is_left_out_with_a_warning(name: str) -> None:
    found = loaded(text("preScore", name))

    assert name not in at(found, "score")
    assert name in at(found, "filter")
    (warning,) = found.warnings
    assert "profiles[0].plugins.score" in warning
    assert f'plugin "{name}" is left out here, since its PreScore is disabled' in warning
    assert "kube-scheduler would fail every pod" in warning
    errors, node = run(found)
    assert errors == []
    assert node


def test_the_switch_keeps_kube_schedulers_behaviour() -> None:
    found = loaded(text("preScore", "InterPodAffinity", FAIL))

    assert "InterPodAffinity" in at(found, "score")
    assert 'plugin "InterPodAffinity" fails every pod' in found.warnings[0]
    errors, node = run(found)
    assert "its PreScore is disabled" in errors[0]
    assert node == ""


def test_an_override_goes_before_the_document() -> None:
    given = text("preScore", "InterPodAffinity")

    known = built_in_plugins.describe_installed()
    found = load(given, known=known, unprepared_plugins=UnpreparedPlugins.FAIL)

    assert "InterPodAffinity" in at(found, "score")


def test_evaluate_answers_as_kube_scheduler_does() -> None:
    case = {
        "id": "x",
        "nodes": [manifest.raw for manifest in objects()[:2]],
        "pod": objects()[2].raw,
        "config": load_raw(text("preScore", "InterPodAffinity")),
    }

    with pytest.raises(Exception, match="its PreScore is disabled"):
        evaluate(case, built_in_plugins.built_in())


def load_raw(given: str) -> dict[str, Any]:
    raw: dict[str, Any] = yaml.safe_load(given)
    return raw


def test_a_filter_without_its_pre_filter_is_never_left_out() -> None:
    """Without it pods would be placed where they cannot run."""
    found = loaded(text("preFilter", "NodeResourcesFit"))

    assert "NodeResourcesFit" in at(found, "filter")
    assert any('"NodeResourcesFit" fails every pod' in warning for warning in found.warnings)
    assert run(found)[1] == ""


def test_volume_bindings_scores_go_with_its_pre_filter() -> None:
    found = loaded(text("preFilter", "VolumeBinding"))

    assert "VolumeBinding" not in at(found, "preScore") | at(found, "score")


def test_what_is_printed_loads_without_a_warning_and_says_the_same() -> None:
    found = loaded(text("preScore", "InterPodAffinity"))

    again = loaded(yaml_dump.dump_all(found))

    assert again.configuration == found.configuration
    assert again.warnings == ()
