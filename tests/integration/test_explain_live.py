"""`moorage explain` and `capacity` on a cluster of the real kube-scheduler, by reading alone."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.explain import json_patch
from tests.integration import auditing
from tests.integration.control_plane import ControlPlane
from tests.integration.harness import scheduled_condition, wait_for
from tests.integration.making import Raw, node, pod, priority_class
from tests.integration.test_beside_kube_scheduler import THEIRS, kube_scheduler

pytestmark = pytest.mark.kube

READER = "reader"
VERBS = ["get", "list", "watch"]
ZONE = "topology.kubernetes.io/zone"
DEDICATED = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]


EVERYTHING = ({"apiGroups": ["*"], "resources": ["*"], "verbs": VERBS},)


def reader(plane: ControlPlane, folder: Path, rules: Sequence[Raw] = EVERYTHING) -> Path:
    """The kubeconfig of someone who may get, list and watch, and nothing else."""
    role: Raw = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": READER},
        "rules": list(rules),
    }
    subject = {"kind": "User", "name": READER, "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": READER, "apiGroup": "rbac.authorization.k8s.io"}
    binding: Raw = {**role, "kind": "ClusterRoleBinding", "subjects": [subject]}
    del binding["rules"]
    for plural, body in (
        ("clusterroles", role),
        ("clusterrolebindings", {**binding, "roleRef": reference}),
    ):
        plane.request("POST", f"/apis/rbac.authorization.k8s.io/v1/{plural}", body)
    cert, key = plane.client_certificate(READER, "readers")
    file = plane.write_kubeconfig(folder / "reader.yaml", plane.url)
    document = yaml.safe_load(file.read_text())
    user = {"client-certificate": str(cert), "client-key": str(key)}
    document["users"][0]["user"] = user
    file.write_text(yaml.safe_dump(document))
    return file


def pending_pods() -> list[Raw]:
    anti = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
    spread = [
        {
            "topologyKey": ZONE,
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "nodeAffinityPolicy": "Ignore",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
    made = [
        pod("big", scheduler=THEIRS, cpu="8"),
        pod("picky", scheduler=THEIRS, nodeSelector={"disk": "nvme"}),
        pod("alone", scheduler=THEIRS, affinity=anti, nodeSelector={ZONE: "a"}),
        pod(
            "even",
            scheduler=THEIRS,
            labels={"app": "web"},
            topologySpreadConstraints=spread,
            nodeSelector={ZONE: "a"},
        ),
    ]
    return made


def folded(message: str) -> Counter[str]:
    """The reasons of a FailedScheduling message, without what preemption had to say."""
    text = message.partition(" preemption: ")[0].rstrip(".").partition(": ")[2]
    found: Counter[str] = Counter()
    for part in re.split(r", (?=\d+ )", text):
        count, _, reason = part.partition(" ")
        found[reason] += int(count)
    return found


def event_message(plane: ControlPlane, name: str) -> str:
    """The newest FailedScheduling event of kube-scheduler about a pod."""

    def look() -> str | None:
        events = plane.request("GET", "/apis/events.k8s.io/v1/events")["items"]
        notes = [
            each
            for each in events
            if each["regarding"].get("name") == name and each["reason"] == "FailedScheduling"
        ]
        notes.sort(key=lambda each: each["metadata"]["creationTimestamp"])
        return notes[-1]["note"] if notes else None

    return wait_for(look, f"no FailedScheduling event of {name}")


def asked(file: Path, *words: str) -> Any:
    result = CliRunner().invoke(main, [*words, "--kubeconfig", str(file), "-o", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def placed(plane: ControlPlane, name: str) -> Raw | None:
    found: Raw = plane.request("GET", f"/api/v1/namespaces/default/pods/{name}")
    return found if found["spec"].get("nodeName") else None


def test_a_reader_explains_what_kube_scheduler_decided(
    own_plane: ControlPlane, tmp_path: Path
) -> None:
    plane = own_plane
    plane.create(
        node("a1", labels={ZONE: "a"}),
        node("b1", labels={ZONE: "b"}),
        node("db", cpu="16", labels={ZONE: "b"}, taints=DEDICATED),
        priority_class("low", 0),
    )
    file = reader(plane, tmp_path)
    with kube_scheduler(plane, tmp_path):
        web = pod("web", scheduler=THEIRS, labels={"app": "web"}, nodeSelector={ZONE: "a"})
        plane.create(web)
        wait_for(lambda: placed(plane, "web"), "web was not placed")
        waiting = pending_pods()
        plane.create(*waiting)
        said = {
            each["metadata"]["name"]: event_message(plane, each["metadata"]["name"])
            for each in waiting
        }
        since = auditing.position(plane.home)
        told = {name: asked(file, "explain", name) for name in said}
        where = asked(file, "explain", "pod/web", "--context", "test")
        fits = asked(file, "capacity", "--pod", str(_shape(tmp_path)))
        changed = _apply(waiting[0], told["big"])
        plane.create(changed)
        wait_for(lambda: placed(plane, "big-changed"), "the change did not help")
        condition = scheduled_condition(plane.request("GET", "/api/v1/namespaces/default/pods/big"))

    assert where["state"] == "placed"
    assert where["node"] == "a1"
    assert fits[0]["fits"] > 0
    assert condition["reason"] == "Unschedulable"
    for name, message in said.items():
        assert folded(message) == folded(told[name]["message"]), name
        names = {refusal["reason"] for refusal in told[name]["refusals"]}
        assert names == set(folded(message)), name
    verbs = {request.verb for request in auditing.asked(plane.home, READER, since)}
    assert verbs == {"list"}


def _shape(folder: Path) -> Path:
    file = folder / "shape.yaml"
    file.write_text(yaml.safe_dump(pod("shape", scheduler=THEIRS)))
    return file


def _apply(raw: Raw, told: Any) -> Raw:
    """The pod with the first change that is a toleration, under another name."""
    (change,) = [each for each in told["changes"] if each["kind"] == "toleration"]
    live = json.loads(json.dumps(raw))
    live["spec"].setdefault("tolerations", [{"operator": "Exists", "key": "unrelated"}])
    made: Raw = json_patch.apply(live, change["patch"])
    made["metadata"] = {"name": "big-changed", "namespace": "default"}
    return made
