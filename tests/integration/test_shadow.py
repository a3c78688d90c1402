"""`moorage shadow` beside the real kube-scheduler, with the rights of a reader."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration import auditing
from tests.integration.control_plane import ControlPlane
from tests.integration.harness import wait_for
from tests.integration.making import Raw, node, pod, priority_class
from tests.integration.storage import NO_PROVISIONER, claim, mounting, storage_class, volume
from tests.integration.test_beside_kube_scheduler import THEIRS, kube_scheduler
from tests.integration.test_explain_live import READER, ZONE, reader

pytestmark = pytest.mark.kube

PODS = int(os.environ.get("SHADOW_PODS", "100"))
"""How many pods are looked at; 2,000 for the figure in docs/shadow.md."""
ROOT = Path(__file__).resolve().parents[2]
WRITES = ("create", "update", "patch", "delete", "deletecollection")
WRITTEN = (("pods", ""), ("pods", "binding"), ("pods", "status"), ("events", ""), ("nodes", ""))
LATE = "would-place"
"""That a pod waits is heard a moment after it was decided; by then there may be room."""
NODES = 25
"""Fewer than 100: of more kube-scheduler would look at a part only."""
ROUND = 200
"""How many pods come before all of them go."""
HOST = "kubernetes.io/hostname"


def configuration(path: Path) -> Path:
    """kube-scheduler's default, for pods of the scheduler that runs here."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": THEIRS}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


@contextmanager
def shadow(folder: Path, kubeconfig: Path, *flags: str) -> Iterator["subprocess.Popen[bytes]"]:
    config = configuration(folder / "kube-default.yaml")
    command = [sys.executable, "-m", "moorage", "shadow", "--kubeconfig", str(kubeconfig)]
    with open(folder / "shadow.json", "wb") as out, open(folder / "shadow.log", "wb") as log:
        running = subprocess.Popen(
            [*command, "--config", str(config), "-o", "json", *flags], stdout=out, stderr=log
        )
    try:
        yield running
    finally:
        if running.poll() is None:
            running.kill()
        running.wait()


def begun(folder: Path, home: Path) -> None:
    """Wait until the shadow watches everything."""

    def watches() -> bool:
        found = {each.resource for each in auditing.asked(home, READER) if each.verb == "watch"}
        return {"pods", "nodes", "persistentvolumeclaims", "poddisruptionbudgets"} <= found

    wait_for(watches, (folder / "shadow.log").read_text())
    time.sleep(2)


def mixed_pods(count: int) -> list[Raw]:
    """Plain, spread, affine, anti-affine and large pods; some push others off their nodes."""
    rng = random.Random(5)
    made = []
    for number in range(count):
        app = f"app-{number % 7}"
        cpu = rng.choice(("100m", "250m", "500m", "900m"))
        spec = rng.choice((plain, plain, spread, apart, together))(app)
        if number % 20 == 19:
            spec = {**spec, "volumes": mounting(f"data-{number}")}
        if number % 25 == 24:
            cpu, spec = "3500m", {"priorityClassName": "high"}
        labels = {"app": app}
        made.append(pod(f"p{number}", scheduler=THEIRS, cpu=cpu, labels=labels, **spec))
    return made


def bound_volumes(count: int) -> list[Raw]:
    """A volume in one zone, with its claim, for every twentieth pod."""
    made = []
    for number in range(19, count, 20):
        found = volume(f"v{number}", "here", "abc"[number % 3])
        wanted = claim(f"data-{number}", "here")
        found["spec"]["claimRef"] = {"namespace": "default", "name": f"data-{number}"}
        wanted["spec"]["volumeName"] = f"v{number}"
        wanted["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        made += [found, wanted]
    return made


def plain(app: str) -> Raw:
    return {"priorityClassName": "low"}


def spread(app: str) -> Raw:
    constraint = {
        "maxSkew": 2,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"priorityClassName": "low", "topologySpreadConstraints": [constraint]}


def apart(app: str) -> Raw:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    preferred = [{"weight": 50, "podAffinityTerm": term}]
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return {"priorityClassName": "low", "affinity": affinity}


def together(app: str) -> Raw:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}}
    preferred = [{"weight": 50, "podAffinityTerm": term}]
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return {"priorityClassName": "low", "affinity": affinity}


def found(folder: Path) -> Any:
    return json.loads((folder / "shadow.json").read_text())


def test_a_shadow_of_kubes_configuration_agrees_with_kube_scheduler(
    own_plane: ControlPlane, tmp_path: Path
) -> None:
    plane = own_plane
    made = mixed_pods(PODS)
    plane.create(
        priority_class("low", 0),
        priority_class("high", 1000),
        storage_class("here", NO_PROVISIONER),
        *bound_volumes(PODS),
        *(node(f"n{number}", labels={ZONE: "abc"[number % 3]}) for number in range(NODES)),
    )
    file = reader(plane, tmp_path, shipped_rules())
    with kube_scheduler(plane, tmp_path), shadow(tmp_path, file) as running:
        begun(tmp_path, plane.home)
        for first in range(0, PODS, ROUND):
            for each in made[first : first + ROUND]:
                plane.create(each)
            _wait_until_quiet(plane)
            plane.request("DELETE", "/api/v1/namespaces/default/pods")
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0, (tmp_path / "shadow.log").read_text()
    findings = found(tmp_path)
    (tally,) = findings["one_step"]
    assert tally["placed"] >= PODS * 0.8
    disagreements = [each for each in tally["disagreements"] if each["agreement"] != LATE]
    assert disagreements == [], json.dumps(disagreements, indent=1)
    assert tally["counts"].keys() <= {"same", "tied", "both-pending", "preempts", LATE}
    assert findings["unseen"]["pods"] == 0
    asked = list(auditing.asked(plane.home, READER))
    assert {each.verb for each in asked} == {"list", "watch"}
    assert [each for each in asked if each.status == auditing.FORBIDDEN] == []
    written = [(verb, *what) for verb in WRITES for what in WRITTEN]
    assert [each for each in written if _may(plane, *each)] == []


def shipped_rules() -> list[Raw]:
    """What the role of deploy/overlays/shadow allows."""
    file = ROOT / "deploy" / "overlays" / "shadow" / "rights.yaml"
    (role,) = (
        each for each in yaml.safe_load_all(file.read_text()) if each["kind"] == "ClusterRole"
    )
    return list(role["rules"])


def _may(plane: ControlPlane, verb: str, resource: str, subresource: str) -> bool:
    attributes = {"verb": verb, "resource": resource, "subresource": subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": READER, "resourceAttributes": {**attributes, "namespace": "default"}},
    }
    answer = plane.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def _wait_until_quiet(plane: ControlPlane) -> None:
    """Return when nothing has changed for three seconds."""
    last, since = "", time.monotonic()

    def quiet() -> bool:
        nonlocal last, since
        version = str(sorted(_places(plane).items()))
        if version != last:
            last, since = version, time.monotonic()
        return time.monotonic() - since > 3

    wait_for(quiet, "pods are still being placed", 300)


def _places(plane: ControlPlane) -> dict[str, str]:
    pods = plane.request("GET", "/api/v1/pods")["items"]
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in pods}
