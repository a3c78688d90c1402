"""Upstream's configurations are read from the module, and run at their smallest."""

import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from bench.perf import cases, module, run
from bench.perf.schedulers import MOORAGE
from tests.integration.control_plane import MISSING, ControlPlaneError, assets

CONFIGURATION = """
- name: Case
  featureGates: {A: true}
  defaultPodTemplatePath: pod.yaml
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - {opcode: createPods, countParam: $groups, countMultiplierParam: $each, collectMetrics: true}
  - {opcode: createAny, templatePath: any.yaml, templateParams: {size: $size|3, each: $each}}
  workloads:
  - name: small
    labels: [short]
    threshold: 5
    featureGates: {B: false}
    params: {nodes: 2, groups: 3, each: 4}
  - name: wrong
    params: {nodes: 2}
"""


def _read(folder: Path) -> list[cases.Workload]:
    (folder / "topic").mkdir()
    (folder / "topic" / "performance-config.yaml").write_text(CONFIGURATION)
    return list(cases.read(folder))


def test_parameters_gates_and_thresholds_are_filled_in(tmp_path: Path) -> None:
    small = _read(tmp_path)[0]

    assert (small.topic, small.key, small.threshold) == ("topic", "Case/small", 5.0)
    assert small.gates == {"A": True, "B": False}
    assert (small.nodes, small.pods) == (2, 12)
    assert small.operations[1]["podTemplatePath"] == "pod.yaml"
    assert small.operations[2]["templateParams"] == {"size": 3, "each": 4}


def test_a_parameter_that_is_missing_is_a_fault_of_that_workload(tmp_path: Path) -> None:
    small, wrong = _read(tmp_path)

    assert small.fault == ""
    assert wrong.fault == "no parameter $groups"


@pytest.mark.kube
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "key", ["SchedulingBasic/5Nodes", "PreemptionBasic/5Nodes", "SchedulingCSIPVs/5Nodes"]
)
def test_moorage_carries_out_upstreams_smallest(key: str) -> None:
    programs = assets()
    if programs is None:
        pytest.skip(MISSING)
    if shutil.which("go") is None:
        pytest.skip("no Go, which knows where the module is")
    (workload,) = (w for w in cases.read(module.scheduler_perf()) if w.key == key)

    outcome = run.run(programs, workload, MOORAGE, timeout=120)

    assert outcome.fault == ""
    assert outcome.figures[-1].throughput.pods >= 5


def test_a_control_plane_that_does_not_start_is_a_fault_of_the_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gate that the release has locked, for example: the other cases go on."""
    small = _read(tmp_path)[0]

    def refused(*_: object) -> NoReturn:
        log = 'Version: v1\nE1118 19:18:45.41 7178 run.go:72] "command failed" err="A is locked"'
        raise ControlPlaneError(f"kube-apiserver does not start:\n{log}")

    monkeypatch.setattr(run, "control_plane", refused)

    outcome = run.run(tmp_path, small, MOORAGE, 1.0)

    said = 'kube-apiserver does not start: "command failed" err="A is locked"'
    assert outcome == ((), said)
