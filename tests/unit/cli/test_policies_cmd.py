"""SchedulingPolicies in a ConfigMap: among the manifests of simulate, and alone in config check."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main

POLICIES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: scheduling-policies, namespace: kube-system}
data:
  batch.yaml: |
    apiVersion: scheduling.k8s.io/v1
    kind: SchedulingPolicy
    metadata: {name: batch}
    spec:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: pool, operator: In, values: [batch]}]
"""
CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: roomy}
status: {allocatable: {cpu: "64", memory: 64Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: batch-1, labels: {pool: batch}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: job, labels: {moorage.io/scheduling-policy: batch}}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""
APPLYING = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: SchedulingPolicies}]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("p", POLICIES), ("c", CLUSTER), ("s", APPLYING)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def simulate(folder: Path, *more: str) -> tuple[str, str]:
    files = [str(folder / "c.yaml"), str(folder / "p.yaml")]
    outcome = CliRunner().invoke(main, ["simulate", *files, *more])
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.stdout, outcome.stderr


def test_policies_among_the_manifests_are_applied(folder: Path) -> None:
    told, _ = simulate(folder, "--config", str(folder / "s.yaml"))

    (line,) = (line for line in told.splitlines() if " job " in line)
    assert "batch-1" in line


def test_where_no_profile_applies_them_they_are_named(folder: Path) -> None:
    told, warned = simulate(folder)

    (line,) = (line for line in told.splitlines() if " job " in line)
    assert "roomy" in line
    assert "SchedulingPolicy batch: no profile runs the plugin SchedulingPolicies" in warned


def test_config_check_takes_policies_alone(folder: Path) -> None:
    outcome = CliRunner().invoke(main, ["config", "check", str(folder / "p.yaml")])

    assert outcome.exit_code == 0, outcome.stderr
    assert "kind: SchedulingPolicy" in outcome.stdout
    assert "KubeSchedulerConfiguration" not in outcome.stdout
    assert "the policies are checked by themselves" in outcome.stderr


def test_config_check_refuses_a_policy_that_is_wrong(folder: Path) -> None:
    bad = folder / "bad.yaml"
    bad.write_text(POLICIES.replace("operator: In", "operator: Inn"), encoding="utf-8")

    outcome = CliRunner().invoke(main, ["config", "check", str(bad)])

    assert outcome.exit_code == 2
    assert "operator" in outcome.stderr


EVERYTHING = """\
apiVersion: scheduling.k8s.io/v1
kind: SchedulingPolicy
metadata: {name: batch}
spec:
  resourceWeights: {cpu: 1}
  tolerations: [{key: spot, operator: Exists}]
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: pool, operator: In, values: [batch]}]
"""


@pytest.mark.parametrize(
    ("points", "lacking"),
    [
        (("multiPoint",), {}),
        (("filter", "score"), {"preFilter": "tolerations"}),
        (("score",), {"preFilter": "tolerations", "filter": "required node affinity"}),
        (("preFilter", "filter"), {"score": "weights and preferences"}),
    ],
)
def test_what_has_no_effect_at_the_points_of_a_profile_is_said(
    folder: Path, points: tuple[str, ...], lacking: dict[str, str]
) -> None:
    enabled = "".join(f"{point}: {{enabled: [{{name: SchedulingPolicies}}]}}, " for point in points)
    config = APPLYING.replace("multiPoint: {enabled: [{name: SchedulingPolicies}]}", enabled)
    for name, text in (("s", config), ("p", EVERYTHING)):
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    files = [str(folder / name) for name in ("s.yaml", "p.yaml")]

    checked = CliRunner().invoke(main, ["config", "check", *files])
    _, warned = simulate(folder, "--config", files[0])

    want = [
        f'warning: profile "default-scheduler" does not run SchedulingPolicies at {point}, so '
        f"nothing comes there of the {what} of SchedulingPolicy batch: enable it at multiPoint"
        for point, what in lacking.items()
    ]
    for told in (checked.stderr, warned):
        assert [line for line in told.splitlines() if "nothing comes" in line] == want
