"""`moorage explain`: the answer first, and changes that anyone can apply."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from moorage.cli.main import main
from moorage.explain import json_patch

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: small}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: large}
spec: {taints: [{key: dedicated, value: db, effect: NoSchedule}]}
status: {allocatable: {cpu: "16", memory: 64Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}
"""
NAMED_SMALL = "{name: small, labels: {kubernetes.io/hostname: small}}"
WAITING = """
apiVersion: v1
kind: Pod
metadata: {name: waiting, namespace: team}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "8"}}}]}
"""


def asked(tmp_path: Path, *arguments: str) -> Result:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "waiting.yaml").write_text(WAITING)
    return CliRunner().invoke(main, ["explain", str(tmp_path), *arguments])


def test_a_pending_pod_is_told_what_would_help(tmp_path: Path) -> None:
    result = asked(tmp_path, "team/waiting")

    assert result.exit_code == 0, result.output
    assert "Pod team/waiting is pending" in result.output
    assert "tolerate the taint dedicated=db:NoSchedule" in result.output
    assert "It asks 8 of cpu" in result.output


def test_a_placed_pod_is_told_why(tmp_path: Path) -> None:
    result = asked(tmp_path, "web")

    assert "Pod default/web is on small" in result.output
    assert "decided by TaintToleration" in result.output


BESIDE_THE_DATABASE = """
apiVersion: v1
kind: Pod
metadata: {name: db, labels: {app: db}}
spec: {nodeName: small, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Node
metadata: {name: taken, labels: {kubernetes.io/hostname: taken}}
status: {allocatable: {cpu: "64", memory: 256Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: empty, labels: {kubernetes.io/hostname: empty}}
status: {allocatable: {cpu: "64", memory: 256Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: other-db, labels: {app: db}}
spec: {nodeName: taken, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: other-shop, labels: {app: shop}}
spec: {nodeName: taken, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: shop, labels: {app: shop}}
spec:
  affinity:
    podAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          {labelSelector: {matchLabels: {app: db}}, topologyKey: kubernetes.io/hostname}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {labelSelector: {matchLabels: {app: shop}}, topologyKey: kubernetes.io/hostname}
  containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]
"""


def test_a_plugin_that_decided_by_filter_and_by_score_is_named_once(tmp_path: Path) -> None:
    labelled = CLUSTER.replace("{name: small}", NAMED_SMALL)
    (tmp_path / "all.yaml").write_text(f"{labelled}---{BESIDE_THE_DATABASE}")

    result = CliRunner().invoke(main, ["explain", str(tmp_path), "--pod", "shop", "-o", "json"])

    told = json.loads(result.output)
    assert told["node"] == "small"
    assert told["decided_by"] == ["InterPodAffinity"]


def test_a_change_applied_to_the_manifest_places_the_pod(tmp_path: Path) -> None:
    told = json.loads(asked(tmp_path, "--pod", "team/waiting", "-o", "json").output)
    (change,) = [change for change in told["changes"] if change["kind"] == "toleration"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "waiting", "namespace": "team"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "8"}}}],
            "tolerations": [],
        },
    }
    patched = json_patch.apply(pod, change["patch"])
    (tmp_path / "waiting.yaml").unlink()
    (tmp_path / "patched.json").write_text(json.dumps(patched))
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    again = CliRunner().invoke(main, ["explain", str(tmp_path), "team/waiting", "-o", "json"])

    assert json.loads(again.output)["node"] == change["node"] == "large"


def test_the_keys_of_the_json_stay_put(tmp_path: Path) -> None:
    told = json.loads(asked(tmp_path, "--pod", "team/waiting", "-o", "json").output)

    assert {"pod", "state", "node", "runner_up", "scores", "decided_by"} <= told.keys()
    assert {"refusals", "message", "changes"} <= told.keys()
    assert told["refusals"][0].keys() == {"reason", "plugin", "nodes"}
    assert {"kind", "summary", "patch", "node", "cost", "minimal"} <= told["changes"][0].keys()


def test_a_pod_that_is_not_there_is_told_of_others(tmp_path: Path) -> None:
    result = asked(tmp_path, "team/waitin")

    assert result.exit_code == 2
    assert "no pod team/waitin in what was read; there is team/waiting" in result.output
