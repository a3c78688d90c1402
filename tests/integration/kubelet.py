"""The replicas of a Deployment as processes of this machine: where there is no container runtime.

What the API server holds decides: the arguments, the ConfigMaps as files where they are mounted,
the token of the ServiceAccount with its rights, the readiness probe. Only the places of folders and
the port differ. A replica whose image nobody pushed does not start, and the rollout fails.
"""

import base64
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.integration.control_plane import LOOPBACK, ControlPlane, Refused, free_ports
from tests.integration.test_serving import get

Raw = dict[str, Any]
LOOK_SECONDS = 0.1
READY_SECONDS = 120.0
OVERDUE = "ProgressDeadlineExceeded"
DEPLOYMENT = "/apis/apps/v1/namespaces/{0}/deployments/{1}"
CORE = "/api/v1/namespaces/{0}"
START = """
import os
import sys
from pathlib import Path
from moorage.kube.in_cluster_config import load_in_cluster_config
load_in_cluster_config.__defaults__ = (os.environ, Path(sys.argv.pop(1)))
from moorage.cli.main import main
main()
"""


class Kubelet:
    """Starts a Deployment's replicas once it is there, and says when they are ready."""

    def __init__(self, plane: ControlPlane, folder: Path, pushed: Path) -> None:
        self._plane = plane
        self._folder = folder
        self._pushed = pushed
        self._ended = threading.Event()
        self.complaint = ""
        self.logs: list[Path] = []

    @contextlib.contextmanager
    def running(self, namespace: str, name: str) -> Iterator[None]:
        """Play the Deployment controller and the kubelet of one Deployment meanwhile."""
        player = threading.Thread(target=self._play, args=(namespace, name), name="kubelet")
        player.start()
        try:
            yield
        finally:
            self._ended.set()
            player.join()

    def _play(self, namespace: str, name: str) -> None:
        with contextlib.ExitStack() as processes:
            path = DEPLOYMENT.format(namespace, name)
            try:
                self._run(path, namespace, processes)
            except Exception as error:
                self.complaint = f"{type(error).__name__}: {error}"
                failed = {"type": "Progressing", "status": "False", "reason": OVERDUE}
                self._tell(path, lambda _: {"conditions": [failed]})
            self._ended.wait()

    def _run(self, path: str, namespace: str, processes: contextlib.ExitStack) -> None:
        while (deployment := self._found(path)) is None:
            if self._ended.wait(LOOK_SECONDS):
                return
        spec = deployment["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        if f"pushed {container['image']}" not in self._pushed.read_text().splitlines():
            raise LookupError(f"ImagePullBackOff: {container['image']}")
        account = self._account(namespace, spec["serviceAccountName"])
        ports = free_ports(deployment["spec"]["replicas"])
        for number, port in enumerate(ports):
            processes.enter_context(self._replica(number, port, spec, account, namespace))
        probe = container["readinessProbe"]["httpGet"]["path"]
        deadline = time.monotonic() + READY_SECONDS
        while not all(get(port, probe).status == 200 for port in ports):
            if self._ended.wait(LOOK_SECONDS):
                return
            if time.monotonic() > deadline:
                raise TimeoutError("".join(log.read_text()[-2000:] for log in self.logs))
        counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        self._tell(path, lambda spec: dict.fromkeys(counts, spec["replicas"]))

    def _found(self, path: str) -> Any:
        try:
            return self._plane.request("GET", path)
        except Refused:
            return None

    def _account(self, namespace: str, name: str) -> Path:
        """What is mounted at /var/run/secrets/kubernetes.io/serviceaccount."""
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        where = f"{CORE.format(namespace)}/serviceaccounts/{name}/token"
        folder = self._folder / "serviceaccount"
        folder.mkdir(parents=True)
        (folder / "token").write_text(self._plane.request("POST", where, review)["status"]["token"])
        (folder / "ca.crt").write_bytes(self._plane.ca_file.read_bytes())
        (folder / "namespace").write_text(namespace)
        return folder

    @contextlib.contextmanager
    def _replica(
        self, number: int, port: int, spec: Raw, account: Path, namespace: str
    ) -> Iterator[None]:
        (container,) = spec["containers"]
        folders = {
            mount["mountPath"]: self._mounted(number, mount["name"], spec, namespace)
            for mount in container["volumeMounts"]
        }
        words = [_here(word, folders) for word in container["args"]]
        log = self._folder / f"replica-{number}.log"
        self.logs.append(log)
        environment = {
            "PATH": os.environ["PATH"],
            "TMPDIR": str(folders["/tmp"]),
            "KUBERNETES_SERVICE_HOST": LOOPBACK,
            "KUBERNETES_SERVICE_PORT": str(self._plane.port),
        }
        with open(log, "wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-c", START, account, *words, f"--secure-port={port}"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd="/",
            )
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)

    def _mounted(self, number: int, name: str, spec: Raw, namespace: str) -> Path:
        folder = self._folder / f"replica-{number}" / name
        folder.mkdir(parents=True)
        (volume,) = (each for each in spec["volumes"] if each["name"] == name)
        if "configMap" in volume:
            where = f"{CORE.format(namespace)}/configmaps/{volume['configMap']['name']}"
            held = self._plane.request("GET", where)
            for file, text in held.get("data", {}).items():
                (folder / file).write_text(text)
            for file, coded in held.get("binaryData", {}).items():
                (folder / file).write_bytes(base64.b64decode(coded))
        elif "emptyDir" not in volume:
            raise LookupError(f"a volume of a kind that is not played: {volume}")
        return folder

    def _tell(self, path: str, status: Callable[[Raw], Raw]) -> None:
        """Write the Deployment's status, for which `kubectl rollout status` waits."""
        while True:
            deployment = self._plane.request("GET", path)
            seen = {"observedGeneration": deployment["metadata"]["generation"]}
            deployment["status"] = {**seen, **status(deployment["spec"])}
            try:
                self._plane.request("PUT", f"{path}/status", deployment)
                return
            except Refused as refused:
                if refused.status != 409:
                    raise
                time.sleep(LOOK_SECONDS)


def _here(word: str, folders: dict[str, Path]) -> str:
    """An argument with the folders in which things are mounted here."""
    flag, equals, value = word.partition("=")
    for mounted, folder in folders.items():
        if value.startswith(f"{mounted}/"):
            return f"{flag}{equals}{folder}{value.removeprefix(mounted)}"
    return word
