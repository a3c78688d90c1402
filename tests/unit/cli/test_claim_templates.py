"""A StatefulSet that mounts its claim template, in every command that reads manifests."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.cli.main import main

CLUSTER = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""
STATEFUL_SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - name: db
        image: db
        resources: {requests: {cpu: "1"}}
        volumeMounts: [{name: MOUNT, mountPath: /var/lib/db}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      storageClassName: fast
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 1Gi}}
"""


def command(folder: Path, name: str, mount: str = "data") -> Result:
    cluster, db = folder / "cluster.yaml", folder / "db.yaml"
    cluster.write_text(CLUSTER)
    db.write_text(STATEFUL_SET.replace("MOUNT", mount))
    more = {"capacity": ["--pod", str(db)], "whatif": ["--scale", "StatefulSet/db=3"]}
    given = [str(cluster), str(db), *more.get(name, ()), "--output", "json"]
    return CliRunner().invoke(main, [name, *given])


def test_simulate_places_its_pods(tmp_path: Path) -> None:
    result = command(tmp_path, "simulate")

    told = json.loads(result.stdout)
    assert [(pod["name"], pod["node"]) for pod in told["pods"]] == [("db-0", "a"), ("db-1", "a")]


def test_capacity_counts_more_of_its_pods(tmp_path: Path) -> None:
    result = command(tmp_path, "capacity")

    assert [(shape["pod"], shape["fits"]) for shape in json.loads(result.stdout)] == [
        ("default/db-0", 2)
    ]


def test_whatif_scales_it(tmp_path: Path) -> None:
    result = command(tmp_path, "whatif")

    (scenario,) = json.loads(result.stdout)
    assert scenario["becomes_placed"] == [{"pod": "default/db-2", "source": "", "target": "a"}]


@pytest.mark.parametrize("name", ["simulate", "capacity", "whatif"])
def test_another_mount_is_refused(tmp_path: Path, name: str) -> None:
    result = command(tmp_path, name, mount="log")

    where = "spec.template.spec.containers[0].volumeMounts[0].name"
    assert (result.exit_code, f'{where}: Not found: "log"' in result.stderr) == (2, True)
