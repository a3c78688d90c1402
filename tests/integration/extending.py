"""kube-scheduler with extenders, and `moorage extender serve`, each in a process of its own."""

import contextlib
import http.client
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.harness import configuration, scheduled_condition, wait_for
from tests.integration.making import Raw

THEIRS = "default-scheduler"


@contextlib.contextmanager
def kube_scheduler(plane: ControlPlane, folder: Path, *extenders: Raw) -> Iterator[None]:
    """The real one, with its default configuration and these extenders."""
    (port,) = free_ports(1)
    file = folder / "kube-scheduler.yaml"
    config = configuration(
        profiles=[{"schedulerName": THEIRS}],
        clientConnection={"kubeconfig": str(plane.kubeconfig), "qps": 10_000, "burst": 10_000},
        extenders=list(extenders),
        podMaxBackoffSeconds=1,
    )
    file.write_text(yaml.safe_dump(config))
    plane.run(
        "kube-scheduler",
        f"--config={file}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--authentication-kubeconfig={plane.kubeconfig}",
        f"--authorization-kubeconfig={plane.kubeconfig}",
    )
    try:
        yield
    finally:
        plane.end("kube-scheduler", signal.SIGKILL)


class Serving:
    """`moorage extender serve` in a process of its own; what it says is in `log`."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.port = 0
        """Any that is free; once it is ready, the one that it says it has."""
        self.certificate: tuple[Path, Path] | None = None
        """What `get` shows of itself, and its key."""
        self.log = folder / "extender.log"
        self._given = [*arguments, "--bind-address=127.0.0.1"]
        self.process = self._start()

    @property
    def arguments(self) -> list[str]:
        return [*self._given, f"--port={self.port}"]

    def _start(self) -> "subprocess.Popen[bytes]":
        with open(self.log, "ab") as log:
            return subprocess.Popen(
                _command(*self.arguments),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
            )

    def again(self) -> None:
        """Start once more, at the same port."""
        self.process = self._start()
        self.until_ready()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stanza(self, **changes: Any) -> Raw:
        """What it says is to be pasted into kube-scheduler's configuration, with changes."""
        said = CliRunner().invoke(main, ["extender", "serve", *self.arguments, "--stanza"])
        assert said.exit_code == 0, said.output
        (found,) = yaml.safe_load(said.stdout)["extenders"]
        return {**found, "httpTimeout": "10s", **changes}

    def until_ready(self) -> None:
        def ready() -> bool:
            said = self.log.read_text()
            assert self.process.poll() is None, said
            if found := re.search(r'"Serving" .*\bport=(\d+)', said):
                self.port = int(found[1])
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self.get("/readyz") == "ok"
            return False

        wait_for(ready, f"not ready: {self.log}", 60)

    def get(self, path: str) -> str:
        made: http.client.HTTPConnection
        if "--http" in self.arguments:
            made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        else:
            context = ssl._create_unverified_context()
            if self.certificate is not None:
                context.load_cert_chain(*self.certificate)
            made = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)
        with contextlib.closing(made) as connection:
            connection.request("GET", path)
            return connection.getresponse().read().decode()


def _command(*arguments: str) -> list[str]:
    program = "from moorage.cli.main import main; main()"
    return [sys.executable, "-c", program, "extender", "serve", *arguments]


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.endswith("_PROXY")}


@contextlib.contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Serving]:
    """An extender that is ready, killed at the end unless it has ended."""
    made = Serving(folder, *arguments)
    try:
        made.until_ready()
        yield made
    finally:
        if made.process.poll() is None:
            made.process.send_signal(signal.SIGCONT)
            made.kill()


def pods(plane: ControlPlane) -> dict[str, Raw]:
    found: list[Raw] = plane.request("GET", "/api/v1/pods")["items"]
    return {each["metadata"]["name"]: each for each in found}


def node_of(plane: ControlPlane, name: str) -> str:
    return str(pods(plane)[name]["spec"].get("nodeName", ""))


def placed(plane: ControlPlane, *names: str, within: float = 60) -> dict[str, str]:
    """Where these pods are, once all of them are somewhere."""

    def check() -> dict[str, str] | None:
        found = pods(plane)
        nodes = {name: found[name]["spec"].get("nodeName", "") for name in names}
        return nodes if all(nodes.values()) else None

    return wait_for(check, f"{names} are not all bound: {_told(plane)}", within)


def condition(
    plane: ControlPlane, name: str, is_it: Callable[[Raw], bool] = bool, within: float = 60
) -> Raw:
    """What a pod's PodScheduled condition says, once it says that."""

    def check() -> Raw | None:
        found = scheduled_condition(pods(plane)[name])
        return found if found.get("message") and is_it(found) else None

    return wait_for(check, f"{name} is not told why it waits: {_told(plane)}", within)


def _told(plane: ControlPlane) -> dict[str, Any]:
    return {name: scheduled_condition(pod).get("message") for name, pod in pods(plane).items()}
