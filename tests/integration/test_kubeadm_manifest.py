"""kube-scheduler's static pod, as kubeadm writes it, with our image."""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.harness import wait_for
from tests.integration.making import node, pod
from tests.integration.test_serving import get

pytestmark = pytest.mark.kube

MANIFEST = Path(__file__).parent / "manifests" / "kube-scheduler.yaml"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
BOUND = "/api/v1/namespaces/default/pods/web"


def command(kubeconfig: Path) -> list[str]:
    """The container's command where its file is mounted, as our image starts it."""
    [container] = yaml.safe_load(MANIFEST.read_text())["spec"]["containers"]
    assert container["command"][0] == "kube-scheduler"
    flags = [
        flag.replace("/etc/kubernetes/scheduler.conf", str(kubeconfig))
        for flag in container["command"][1:]
    ]
    start = [sys.executable, "-c", "from moorage.cli.main import main; main()", "run"]
    return [*start, *flags]


@contextlib.contextmanager
def started(log: Path, kubeconfig: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    with open(log, "wb") as out:
        process = subprocess.Popen([*command(kubeconfig), *flags], stdout=out, stderr=out)
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
    """kube-scheduler --scheduler-name=lowcpu-scheduler --config=your-config.yaml, and the rest."""
    config = tmp_path / "your-config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- schedulerName: lowcpu-scheduler\n"
    )
    flags = (
        f"--config={config}",
        "--scheduler-name=lowcpu-scheduler",
        "--secure-port=0",
        "--port=0",
        "--leader-elect=true",
        "--leader-elect-lease-duration=15s",
        "--leader-elect-renew-deadline=10s",
        "--leader-elect-retry-period=2s",
        "--kube-api-qps=100",
        "--kube-api-burst=100",
        "--percentage-of-nodes-to-score=50",
        "--v=2",
        "--logtostderr=true",
    )
    log = tmp_path / "log"
    plane.create(node("n1"), pod("web", scheduler="lowcpu-scheduler"))
    with started(log, plane.kubeconfig, *flags):
        wait_for(
            lambda: plane.request("GET", BOUND)["spec"].get("nodeName"), f"not bound: see {log}"
        )
    said = log.read_text()
    assert "--kube-api-qps is ignored, because a configuration is given" in said


def _seconds_to_bind(plane: ControlPlane, prefix: str, count: int) -> float:
    began = time.monotonic()
    plane.create(
        *(pod(f"{prefix}-{n}", cpu="1m", scheduler="default-scheduler") for n in range(count))
    )

    def bound() -> bool:
        listed = plane.request("GET", "/api/v1/namespaces/default/pods")["items"]
        ours = [each for each in listed if each["metadata"]["name"].startswith(prefix)]
        return len(ours) == count and all(each["spec"].get("nodeName") for each in ours)

    wait_for(bound, f"{prefix}: not all bound")
    return time.monotonic() - began


def test_made_up_tokens_do_not_slow_down_scheduling(plane: ControlPlane, tmp_path: Path) -> None:
    """Thirty of them a second, at kube-scheduler's default pace of 50 requests a second."""
    (port,) = free_ports(1)
    log = tmp_path / "log"
    plane.create(*(node(f"n{number}", cpu="64", pods=1000) for number in range(40)))
    with started(log, plane.kubeconfig, f"--secure-port={port}"):
        wait_for(lambda: get(port, "/readyz").status == 200, f"not ready: see {log}")
        _seconds_to_bind(plane, "warm", 20)
        time.sleep(2)
        calm = _seconds_to_bind(plane, "calm", 150)
        flood = subprocess.Popen(
            [sys.executable, "-c", FLOOD, str(port)], stdout=subprocess.PIPE, text=True
        )
        try:
            time.sleep(2)
            flooded = _seconds_to_bind(plane, "flooded", 150)
        finally:
            flood.terminate()
            said, _ = flood.communicate()
        scraped = get(port, "/metrics", plane.token).status
    assert int(said.split()[-1]) > 50, "the flood did not get through to the server"
    assert flooded < calm * 1.5 + 1.0, f"{calm:.1f} s became {flooded:.1f} s"
    assert scraped in (200, 429)


FLOOD = """
import http.client, signal, ssl, sys, time
context = ssl._create_unverified_context()
count = 0
def end(*_):
    print(count, flush=True)
    raise SystemExit
signal.signal(signal.SIGTERM, end)
while True:
    began = time.monotonic()
    c = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), context=context, timeout=10)
    c.request("GET", "/metrics", headers={"Authorization": f"Bearer made-up-{count}"})
    c.getresponse().read()
    c.close()
    count += 1
    time.sleep(max(0, 1 / 30 - (time.monotonic() - began)))
"""
