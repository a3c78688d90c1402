"""`moorage capacity`: every shape of a file is counted, and nothing is dropped without a word."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.cli.main import main
from tests.unit.cli.command import CLUSTER


def pod(name: str, cpu: str) -> str:
    requests = f"resources: {{requests: {{cpu: '{cpu}'}}}}"
    return f"""---
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec: {{containers: [{{name: c, image: i, {requests}}}]}}
"""


def workload(kind: str, name: str, cpu: str, replicas: int = 2) -> str:
    template = pod(name, cpu).partition("spec: ")[2]
    return f"""---
apiVersion: apps/v1
kind: {kind}
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template: {{metadata: {{labels: {{app: {name}}}}}, spec: {template.strip()}}}
"""


def capacity(folder: Path, shapes: str, *more: str) -> Result:
    (folder / "cluster.yaml").write_text(CLUSTER)
    (folder / "shapes.yaml").write_text(shapes)
    given = [str(folder / "cluster.yaml"), "--pod", str(folder / "shapes.yaml"), *more]
    return CliRunner().invoke(main, ["capacity", *given])


@pytest.mark.parametrize(
    ("shapes", "counted"),
    [
        pytest.param(pod("web", "1"), [("web", 3)], id="a pod"),
        pytest.param(
            pod("web", "1500m") + pod("big", "100") + workload("Deployment", "dep", "500m"),
            [("web", 2), ("big", 0), ("dep", 6)],
            id="pods and a Deployment, in the order of the file",
        ),
        pytest.param(
            workload("StatefulSet", "zoo", "3") + workload("ReplicaSet", "ant", "1"),
            [("zoo", 1), ("ant", 3)],
            id="workloads before others that sort first",
        ),
    ],
)
def test_every_shape_of_a_file_is_a_row(
    tmp_path: Path, shapes: str, counted: list[tuple[str, int]]
) -> None:
    data = json.loads(capacity(tmp_path, shapes, "-o", "json").stdout)
    table = capacity(tmp_path, shapes).stdout.splitlines()
    rows = [line.split() for line in table if line.startswith("default/")][: len(counted)]

    assert [(_short(each["pod"]), each["fits"]) for each in data] == counted
    assert [(_short(shape), int(fits)) for shape, fits, *_ in rows] == counted


def _short(shape: str) -> str:
    """The name of a pod without what its workload adds."""
    return shape.removeprefix("default/").split("-")[0]


def test_a_workload_that_makes_no_pod_is_named(tmp_path: Path) -> None:
    told = capacity(tmp_path, pod("web", "1") + workload("Deployment", "none", "1", replicas=0))

    assert told.exit_code == 0, told.output
    assert "shapes.yaml, document 2: Deployment none makes no pod" in told.stderr


def test_pods_of_a_dump_are_one_shape_with_their_owner(tmp_path: Path) -> None:
    owner = "{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u, controller: true}"
    owned = pod("rs-1", "1").replace("{name: rs-1", f"{{name: rs-1, ownerReferences: [{owner}]")
    shapes = pod("web", "1") + owned + owned.replace("rs-1", "rs-2") + pod("last", "1")

    data = json.loads(capacity(tmp_path, shapes, "-o", "json").stdout)

    assert [each["pod"] for each in data] == ["default/web", "default/rs-1", "default/last"]


def test_a_pod_that_runs_is_counted_beside_itself(tmp_path: Path) -> None:
    """What `kubectl get pod -o yaml` prints: the pod has a node, and others may take more of it."""
    runs = pod("job", "1").replace("name: job}", "name: job, uid: u}")
    runs = runs.replace("spec: {", "spec: {nodeName: a, ")
    second = CLUSTER.partition("---")[0].replace("name: a", "name: b")
    (tmp_path / "more.yaml").write_text(runs + "---\n" + second)

    result = capacity(tmp_path, runs, str(tmp_path / "more.yaml"), "-o", "json")

    (found,) = json.loads(result.stdout)
    assert (found["fits"], found["nodes"]) == (6, 2)
