"""kube-scheduler or Moorage in a process of its own, told apart by name only.

A third one decides nothing (`bind_only`), and shows how much an API server bears.
"""

import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from bench.perf import bind_only
from bench.perf.attempts import Histogram, scrape
from tests.integration.control_plane import ControlPlane, die_with_parent, free_ports

KUBE: Final = "kube-scheduler"
MOORAGE: Final = "moorage"
SCHEDULERS: Final = (KUBE, MOORAGE)
BIND_ONLY: Final = "bind-only"
TICKS: Final = os.sysconf("SC_CLK_TCK")
START_SECONDS: Final = 60.0
CODE: Final = "from moorage.cli.main import main; main()"
PROFILED: Final = """
import cProfile, time
profile = cProfile.Profile(time.thread_time)
try:
    profile.run({!r})
finally:
    profile.dump_stats({!r})
"""


def cpu_seconds(*pids: int) -> float:
    """What these processes have used so far, by Linux's account."""
    stats = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids)
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / TICKS


class SchedulerProcess:
    """A scheduler that runs until `stop`."""

    def __init__(
        self,
        name: str,
        plane: ControlPlane,
        given: Path | None,
        gates: Mapping[str, bool],
        profile: str = "",
    ) -> None:
        self._decides = name != BIND_ONLY
        self._token = plane.token
        (self._port,) = free_ports(1)
        self._profile = profile if name == MOORAGE else ""
        self.log = plane.home / f"{name}.log"
        config = _configuration(plane, name, given)
        command = self._command(name, plane, config, gates)
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=functools.partial(die_with_parent, os.getpid()),
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def _command(
        self, name: str, plane: ControlPlane, config: Path, gates: Mapping[str, bool]
    ) -> list[str]:
        serving = [
            f"--config={config}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--authentication-kubeconfig={plane.kubeconfig}",
            f"--authorization-kubeconfig={plane.kubeconfig}",
        ]
        if name == BIND_ONLY:
            module = ["-m", bind_only.__name__]
            return [sys.executable, *module, f"--kubeconfig={plane.kubeconfig}"]
        if name == KUBE:
            return [str(plane.programs / KUBE), *serving, *gate_flags(gates)]
        code = PROFILED.format(CODE, self._profile) if self._profile else CODE
        return [sys.executable, "-c", code, "run", *serving, *gate_flags(gates)]

    def wait_until_serving(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.attempts()
                return
            except OSError as error:
                if not self.is_running or time.monotonic() > deadline:
                    raise RuntimeError(f"it does not start ({error}); see {self.log}") from None
                time.sleep(0.1)

    def attempts(self) -> Histogram:
        """How long its attempts have taken so far; raises OSError where it does not serve yet."""
        if self._decides:
            return scrape(self._port, self._token)
        if bind_only.READY not in self.log.read_text():
            raise OSError("it has said nothing")
        return Histogram({})

    def peak_mb(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM if self._profile else signal.SIGKILL)
        self._process.wait()


def gate_flags(gates: Mapping[str, bool]) -> list[str]:
    """The flag that sets feature gates, where any are to be set."""
    settings = ",".join(f"{gate}={str(on).lower()}" for gate, on in gates.items())
    return [f"--feature-gates={settings}"] if settings else []


def _configuration(plane: ControlPlane, name: str, given: Path | None) -> Path:
    """The case's own configuration or the default one, with nobody to share the work with."""
    document: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    if given is not None:
        document = yaml.safe_load(given.read_text())
    document["leaderElection"] = {"leaderElect": False}
    connection = {"kubeconfig": str(plane.kubeconfig), "qps": 5000, "burst": 5000}
    document["clientConnection"] = connection
    file = plane.home / f"{name}-config.yaml"
    file.write_text(yaml.safe_dump(document))
    return file
