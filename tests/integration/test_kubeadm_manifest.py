"""kube-scheduler's static pod, as kubeadm writes it, with our image."""

import contextlib
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.harness import wait_for
from tests.integration.making import node, pod
from tests.integration.test_serving import get
from tests.unit.config.test_seeds_yaml import block_with

pytestmark = pytest.mark.kube

MANIFEST = Path(__file__).parent / "manifests" / "kube-scheduler.yaml"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
BOUND = "/api/v1/namespaces/default/pods/web"
MAINFRAME = "/api/v1/namespaces/default/pods/mainframe"


START = (sys.executable, "-c", "from moorage.cli.main import main; main()", "run")


def command(kubeconfig: Path) -> list[str]:
    """The container's command where its file is mounted, as our image starts it."""
    [container] = yaml.safe_load(MANIFEST.read_text())["spec"]["containers"]
    assert container["command"][0] == "kube-scheduler"
    flags = [
        flag.replace("/etc/kubernetes/scheduler.conf", str(kubeconfig))
        for flag in container["command"][1:]
    ]
    return flags


def started(
    log: Path, kubeconfig: Path, *flags: str
) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    return process(log, *command(kubeconfig), *flags)


@contextlib.contextmanager
def process(log: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    with open(log, "wb") as out:
        process = subprocess.Popen([*START, *flags], stdout=out, stderr=out)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_it_schedules_by_kube_schedulers_name_and_lease(
    plane: ControlPlane, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    log = tmp_path / "log"
    web = pod("web", scheduler="default-scheduler")
    plane.create(node("n1"), web)
    with started(log, plane.kubeconfig, f"--secure-port={port}") as process:
        found: Any = wait_for(
            lambda: plane.request("GET", BOUND)["spec"].get("nodeName"), f"not bound: see {log}"
        )
        wait_for(lambda: get(port, "/readyz").status == 200, f"not ready: see {log}")
        holder = plane.request("GET", LEASE)["spec"]["holderIdentity"]

        assert found == "n1"
        assert get(port, "/livez").text == "ok"
        assert holder in log.read_text()
        assert get(port, "/metrics").status == 403
        metrics = get(port, "/metrics", plane.token)
        assert metrics.status == 200
        assert 'rest_client_requests_total{code="201"' in metrics.text
        assert 'rest_client_requests_total{code="200"' in metrics.text
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert "Traceback" not in log.read_text()


def test_the_seeds_command_line_works(plane: ControlPlane, tmp_path: Path) -> None:
    """kube-scheduler --scheduler-name=lowcpu-scheduler --config=your-config.yaml."""
    config = tmp_path / "your-config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- schedulerName: lowcpu-scheduler\n"
    )
    flags = (
        f"--config={config}",
        "--scheduler-name=lowcpu-scheduler",
        "--secure-port=0",
    )
    log = tmp_path / "log"
    plane.create(node("n1"), pod("web", scheduler="lowcpu-scheduler"))
    with started(log, plane.kubeconfig, *flags):
        wait_for(
            lambda: plane.request("GET", BOUND)["spec"].get("nodeName"), f"not bound: see {log}"
        )
    assert "--scheduler-name is ignored, because a configuration is given" in log.read_text()


def test_the_seeds_pod_runs_word_for_word(plane: ControlPlane, tmp_path: Path) -> None:
    """Its command and its ConfigMap: only paths and the port are of this machine."""
    the_pod, config_map = yaml.safe_load_all(block_with("- --authentication-kubeconfig").text)
    certificate, key = plane.client_certificate("kube-scheduler", "system:masters")
    config = tmp_path / "scheduler-config.yaml"
    config.write_text(config_map["data"]["scheduler-config.yaml"], encoding="utf-8")
    (port,) = free_ports(1)
    here = {
        "/etc/kubernetes/scheduler-config.yaml": str(config),
        "/etc/kubernetes/scheduler.conf": str(plane.kubeconfig),
        "/etc/kubernetes/pki/kube-scheduler.crt": str(certificate),
        "/etc/kubernetes/pki/kube-scheduler.key": str(key),
        "10259": str(port),
    }
    (container,) = the_pod["spec"]["containers"]
    words = [
        f"{name}={here.get(value, value)}" if value else name
        for name, _, value in (word.partition("=") for word in container["command"])
    ]
    arch = "kubernetes.io/arch"
    plane.create(
        node("n1", labels={arch: "amd64"}),
        node("n2", labels={arch: "s390x"}),
        pod("web", scheduler="default-scheduler"),
        pod("mainframe", scheduler="default-scheduler", nodeSelector={arch: "s390x"}),
    )
    log = tmp_path / "log"
    with process(log, *words[1:]):
        wait_for(lambda: get(port, "/readyz").status == 200, f"not ready: see {log}")
        metrics = get(port, "/metrics", plane.token)
        found = wait_for(
            lambda: plane.request("GET", BOUND)["spec"].get("nodeName"), f"not bound: see {log}"
        )
        (why,) = wait_for(
            lambda: plane.request("GET", MAINFRAME)["status"].get("conditions"), "not refused"
        )
        holder = plane.request("GET", LEASE)["spec"]["holderIdentity"]

    said = log.read_text()
    assert found == "n1"
    assert "node(s) didn't match scheduler-enforced node affinity" in why["message"]
    assert holder in said
    assert "scheduler_schedule_attempts_total" in metrics.text
    for flag in ("--kube-api-qps", "--kube-api-burst", "--percentage-of-nodes-to-score"):
        assert f"{flag} is ignored, because a configuration is given" in said
    assert "Traceback" not in said


def test_made_up_tokens_do_not_slow_down_scheduling(plane: ControlPlane, tmp_path: Path) -> None:
    """Few are worth a review, and a review is no request of the scheduler's own client, whose pace
    is limited."""
    (port,) = free_ports(1)
    log = tmp_path / "log"
    with started(log, plane.kubeconfig, f"--secure-port={port}"):
        wait_for(lambda: get(port, "/readyz").status == 200, f"not ready: see {log}")
        before = _created_by_the_scheduler(port, plane.token)
        answers = Counter(get(port, "/metrics", f"made-up-{n}").status for n in range(200))
        sent = _created_by_the_scheduler(port, plane.token) - before
        plane.create(node("n1"), pod("web", scheduler="default-scheduler"))
        wait_for(lambda: plane.request("GET", BOUND)["spec"].get("nodeName"), "not bound")

    reviewed, turned_away = answers[401], answers[429]
    assert reviewed + turned_away == 200
    assert turned_away > reviewed > 0
    assert sent < reviewed


def _created_by_the_scheduler(port: int, token: str) -> float:
    """How many objects its client has sent to the API server, as reviews and events are."""
    return sum(
        sample.value
        for family in text_string_to_metric_families(get(port, "/metrics", token).text)
        for sample in family.samples
        if sample.name == "rest_client_rate_limiter_duration_seconds_count"
        and sample.labels["verb"] == "POST"
    )
