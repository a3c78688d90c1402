"""`moorage run` whose configuration is edited while it runs."""

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.integration.control_plane import ControlPlane, Refused, free_ports
from tests.integration.harness import PATIENCE, _environment, wait_for
from tests.integration.making import OURS, Raw

NAMESPACE = "kube-system"
CONFIG_MAP = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
VERDICTS = ("Configuration reloaded", "Configuration refused", "Configuration unchanged")


def configuration(*plugins: str, **args: Raw) -> Raw:
    """A configuration whose profile runs these plugins, with these arguments."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False, "resourceNamespace": NAMESPACE},
        "clientConnection": {"qps": 10_000, "burst": 10_000},
        "profiles": [
            {
                "schedulerName": OURS,
                "plugins": {"multiPoint": {"enabled": [{"name": name} for name in plugins]}},
                "pluginConfig": [{"name": name, "args": given} for name, given in args.items()],
            }
        ],
    }


def policy(name: str, **spec: Any) -> Raw:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def put(plane: ControlPlane, name: str, **data: str | Raw) -> None:
    """Write a ConfigMap, whether or not it is there."""
    texts = {
        f"{key}.yaml": value if isinstance(value, str) else yaml.safe_dump(value)
        for key, value in data.items()
    }
    body = {"metadata": {"name": name, "namespace": NAMESPACE}, "data": texts}
    try:
        plane.request("PUT", f"{CONFIG_MAP}/{name}", body)
    except Refused as error:
        if error.status != 404:
            raise
        plane.request("POST", CONFIG_MAP, body)


def remove(plane: ControlPlane, *names: str) -> None:
    for name in names:
        with contextlib.suppress(Refused):
            plane.request("DELETE", f"{CONFIG_MAP}/{name}")


class Run:
    """One `moorage run`; its log is JSON, and read line by line."""

    def __init__(self, plane: ControlPlane, folder: Path, *options: str) -> None:
        (self.port,) = free_ports(1)
        self.log = folder / "moorage.log"
        self._read = 0
        self._lines: list[Raw] = []
        command = [sys.executable, "-c", "from moorage.cli.main import main; main()", "run"]
        given = [f"--kubeconfig={plane.kubeconfig}", "--secure-port=0", f"--http-port={self.port}"]
        said = ["--v=4", "--log-format=json", "--reload-interval=0.05"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*command, *given, *said, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
            )

    def lines(self, *messages: str) -> list[Raw]:
        """The lines it has said so far, of these messages."""
        with open(self.log, "rb") as log:
            log.seek(self._read)
            *whole, rest = log.read().split(b"\n")
            self._read = log.tell() - len(rest)
        self._lines += [json.loads(line) for line in whole if line.startswith(b"{")]
        return [line for line in self._lines if line["msg"] in messages]

    def verdict(self, number: int) -> Raw:
        """What became of the configuration that was read as the so-many-th, once it is known."""

        def check() -> Raw | None:
            assert self.process.poll() is None, self.log.read_text()
            found = self.lines(*VERDICTS)
            return found[number] if len(found) > number else None

        return wait_for(check, f"no verdict {number}: {self.log}", 3 * PATIENCE)

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            text: str = answer.read().decode()
            return text

    def metric(self, line: str) -> float:
        """The value of a metric, by its name and labels as they are written."""
        values = [each for each in self.get("/metrics").splitlines() if each.startswith(f"{line} ")]
        return float(values[0].rpartition(" ")[2]) if values else 0.0

    def configz(self) -> Raw:
        found: Raw = json.loads(self.get("/configz"))["moorage"]
        return found


@contextlib.contextmanager
def moorage_run(plane: ControlPlane, folder: Path, *options: str) -> Iterator[Run]:
    """A scheduler, killed at the end unless it has ended."""
    run = Run(plane, folder, *options)
    try:
        wait_for(lambda: run.lines("Serving") or run.process.poll() is not None, f"see {run.log}")
        assert run.process.poll() is None, run.log.read_text()
        yield run
    finally:
        if run.process.poll() is None:
            run.process.kill()
        run.process.wait()


def events(plane: ControlPlane, reason: str) -> list[Raw]:
    """The events of a reason about what a configuration is read from."""
    listed = plane.request("GET", EVENTS)["items"]
    return [event for event in listed if event["reason"] == reason]


def placed(plane: ControlPlane) -> dict[str, str]:
    """Where pods are, by name."""
    listed = plane.request("GET", "/api/v1/pods")["items"]
    found = {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in listed}
    return {name: where for name, where in found.items() if where}
