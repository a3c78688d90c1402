"""A control plane to test against: etcd and kube-apiserver on loopback, up in seconds.

Every process it starts is ended by `stop`, and dies with this one should `stop` never be called.
"""

import base64
import contextlib
import ctypes
import functools
import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.integration import auditing

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler")
START_SECONDS = 180.0
STOP_SECONDS = 10.0
ANSWER_SECONDS = 120.0
LOOPBACK = "127.0.0.1"
USERS = ("moorage", "kube-scheduler")
"""Who may do everything, as the administrator may, and is told apart in the audit log."""
MISSING = "no etcd, kube-apiserver and kube-scheduler to test against: run `make kube`"
NO_CONTROLLER = ("ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition")
"""Admission that hands on to controllers, which are not here."""
AS_KUBEADM_SETS = ("--watch-progress-notify-interval=5s",)
"""What kubeadm starts etcd with."""
KEPT = ("default", "kube-node-lease", "kube-public", "kube-system")
NAMESPACED = (
    "/api/v1/{}/pods",
    "/api/v1/{}/persistentvolumeclaims",
    "/apis/policy/v1/{}/poddisruptionbudgets",
    "/apis/storage.k8s.io/v1/{}/csistoragecapacities",
    "/apis/resource.k8s.io/v1/{}/resourceclaims",
    "/apis/coordination.k8s.io/v1/{}/leases",
    "/apis/events.k8s.io/v1/{}/events",
)
CLUSTER_WIDE = (
    "/api/v1/nodes",
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/apis/resource.k8s.io/v1/deviceclasses",
)


class ControlPlaneError(Exception):
    """A component did not do what it was asked to; the end of its log says why."""


def assets() -> Path | None:
    """The folder with Kubernetes' programs, or None where one of them, or openssl, is missing."""
    if shutil.which("openssl") is None:
        return None
    given = os.environ.get("KUBEBUILDER_ASSETS")
    for folder in (Path(given) if given else None, ROOT / ".kube-assets" / "bin"):
        if folder is not None and all(os.access(folder / name, os.X_OK) for name in PROGRAMS):
            return folder
    return None


class ControlPlane:
    """One etcd, one kube-apiserver, an administrator's kubeconfig and a plain client."""

    def __init__(
        self,
        programs: Path,
        home: Path,
        *flags: str,
        without: Sequence[str] = NO_CONTROLLER,
        environment: Mapping[str, str] | None = None,
        etcd_flags: Sequence[str] = AS_KUBEADM_SETS,
    ) -> None:
        self.programs = programs
        self.home = home
        self.token = secrets.token_hex(16)
        self.tokens = {user: secrets.token_hex(16) for user in USERS}
        self.kubeconfig = home / "kubeconfig.yaml"
        self.port, self.etcd_port, self._peer_port = free_ports(3)
        self._flags = (*auditing.flags(home), *flags)
        self._etcd_flags = etcd_flags
        self._without = without
        self._environment = {**os.environ, **(environment or {})}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.port}"

    @property
    def pids(self) -> list[int]:
        """The processes that run now."""
        return [process.pid for process in self._running.values()]

    @property
    def ca_file(self) -> Path:
        """The certificate kube-apiserver made for itself."""
        return self.home / "certs" / "apiserver.crt"

    def __enter__(self) -> "ControlPlane":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self._write_files()
        self.start_etcd()
        self.start_api_server()
        self.write_kubeconfig(self.kubeconfig, self.url)

    def stop(self) -> None:
        for name in list(self._running)[::-1]:
            self.end(name)

    def start_etcd(self) -> None:
        client, peer = (f"http://{LOOPBACK}:{port}" for port in (self.etcd_port, self._peer_port))
        self.run(
            "etcd",
            f"--data-dir={self.home / 'etcd'}",
            "--unsafe-no-fsync",
            "--log-level=error",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            *self._etcd_flags,
        )
        self._until("etcd", lambda: self.etcd("maintenance/status", {}) is not None)

    def start_api_server(self) -> None:
        key = self.home / "service-account.key"
        self.run(
            "kube-apiserver",
            f"--etcd-servers=http://{LOOPBACK}:{self.etcd_port}",
            f"--cert-dir={self.home / 'certs'}",
            f"--secure-port={self.port}",
            f"--bind-address={LOOPBACK}",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={self.home / 'tokens.csv'}",
            f"--client-ca-file={self.home / 'client-ca.crt'}",
            "--authorization-mode=RBAC",
            f"--disable-admission-plugins={','.join(self._without)}",
            *self._flags,
        )
        self._until("kube-apiserver", self._ready)

    def run(self, name: str, *args: str) -> subprocess.Popen[bytes]:
        """Start one of Kubernetes' programs; its log is `NAME.log` in `home`."""
        with open(self.home / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                [self.programs / name, *args],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                preexec_fn=functools.partial(die_with_parent, os.getpid()),
            )
        self._running[name] = process
        return process

    def end(self, name: str, sig: signal.Signals = signal.SIGTERM) -> None:
        """End one component; SIGKILL gives it no time to say goodbye."""
        process = self._running.pop(name)
        process.send_signal(sig)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def etcd(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask etcd through its JSON gateway."""
        connection = http.client.HTTPConnection(LOOPBACK, self.etcd_port, timeout=5)
        with contextlib.closing(connection):
            connection.request("POST", f"/v3/{path}", json.dumps(body))
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
        return answer

    def compact(self) -> None:
        """Let etcd forget everything but the present."""
        revision = self.etcd("maintenance/status", {})["header"]["revision"]
        self.etcd("kv/compaction", {"revision": revision, "physical": True})

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """One request as the administrator; anything but success raises."""
        with contextlib.closing(self.connect()) as connection:
            return ask(connection, self.token, method, path, body)

    def create(self, *objects: dict[str, Any]) -> None:
        """Create nodes, pods and the like."""
        with contextlib.closing(self.connect()) as connection:
            for obj in objects:
                ask(connection, self.token, "POST", path_of(obj), obj)

    def clear(self, keep: Container[str] = KEPT) -> None:
        """Delete everything tests create; of namespaces, those not to be kept."""
        with contextlib.closing(self.connect()) as connection:

            def request(method: str, path: str, body: Any = None) -> Any:
                return ask(connection, self.token, method, path, body)

            names = [n["metadata"]["name"] for n in request("GET", "/api/v1/namespaces")["items"]]
            for path in NAMESPACED:
                for name in names:
                    where = path.format(f"namespaces/{name}")
                    request("DELETE", f"{where}?gracePeriodSeconds=0")
            for path in CLUSTER_WIDE:
                request("DELETE", path)
            classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
            for item in request("GET", classes)["items"]:
                if not item["metadata"]["name"].startswith("system-"):
                    request("DELETE", f"{classes}/{item['metadata']['name']}")
            for name in names:
                if name not in keep:
                    self._delete_namespace(request, name)

    def end_deletions(self, pods: Iterable[dict[str, Any]]) -> None:
        """Remove pods that are being deleted, as their kubelets would.

        Even with a grace period of 0 an API server first marks a pod and then removes it; where
        the client dies in between, the second is left to the kubelet.
        """
        for pod in pods:
            meta = pod["metadata"]
            if "deletionTimestamp" in meta:
                where = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
                try:
                    self.request("DELETE", f"{where}?gracePeriodSeconds=0")
                except Refused as refused:
                    if refused.status != 404:
                        raise

    def connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.ca_file))
        return http.client.HTTPSConnection(
            LOOPBACK, self.port, timeout=ANSWER_SECONDS, context=context
        )

    def write_kubeconfig(self, path: Path, url: str, token: str = "") -> Path:
        ca = base64.b64encode(self.ca_file.read_bytes()).decode()
        cluster = {"server": url, "certificate-authority-data": ca}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": token or self.token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        path.write_text(yaml.safe_dump(document))
        return path

    def kubeconfig_of(self, user: str) -> Path:
        """The kubeconfig of one of `USERS`."""
        file = self.home / f"{user}.yaml"
        return self.write_kubeconfig(file, self.url, self.tokens[user])

    def _delete_namespace(self, request: Any, name: str) -> None:
        """Delete a namespace, finalizer and all: no controller is there to do it."""
        where = f"/api/v1/namespaces/{name}"
        request("DELETE", where)
        found = request("GET", where)
        request("PUT", f"{where}/finalize", {**found, "spec": {"finalizers": []}})

    def client_certificate(self, user: str, group: str) -> tuple[Path, Path]:
        """A certificate by which the API server knows a user, and its key."""
        cert, key, ask = (self.home / f"{user}.{kind}" for kind in ("crt", "key", "csr"))
        subject = f"/O={group}/CN={user}"
        _openssl("req", "-newkey", *_CURVE, "-subj", subject, "-keyout", key, "-out", ask)
        ca = self.home / "client-ca"
        signer = ("-CA", f"{ca}.crt", "-CAkey", f"{ca}.key", "-CAcreateserial")
        _openssl("x509", "-req", "-days", "1", *signer, "-in", ask, "-out", cert)
        return cert, key

    def _write_files(self) -> None:
        ca = self.home / "client-ca"
        _openssl("genrsa", "-out", self.home / "service-account.key", "2048")
        _openssl(
            *("req", "-x509", "-days", "1", "-newkey", *_CURVE, "-subj", "/CN=client-ca"),
            *("-keyout", f"{ca}.key", "-out", f"{ca}.crt"),
        )
        known = {"admin": self.token, **self.tokens}
        tokens = [f'{token},{user},{user},"system:masters"' for user, token in known.items()]
        (self.home / "tokens.csv").write_text("\n".join(tokens) + "\n")

    def _ready(self) -> bool:
        self.request("GET", "/readyz")
        self.request("GET", "/api/v1/namespaces/default")
        self.request("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")
        return True

    def _until(self, name: str, check: Any) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException, Refused):
                if check():
                    return
            if self._running[name].poll() is not None or time.monotonic() > deadline:
                raise ControlPlaneError(f"{name} does not start:\n{self._log_of(name)}")
            time.sleep(0.05)

    def _log_of(self, name: str) -> str:
        lines = (self.home / f"{name}.log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-20:])


class Refused(Exception):
    """The API server answered with an error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


PLURALS = {
    "Namespace": "namespaces",
    "Node": "nodes",
    "Pod": "pods",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "StorageClass": "storageclasses",
    "CSIDriver": "csidrivers",
    "CSIStorageCapacity": "csistoragecapacities",
    "PriorityClass": "priorityclasses",
    "ResourceClaim": "resourceclaims",
    "ResourceSlice": "resourceslices",
    "DeviceClass": "deviceclasses",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "PodGroup": "podgroups",
    "CompositePodGroup": "compositepodgroups",
    "ElasticQuota": "elasticquotas",
}


def path_of(obj: dict[str, Any]) -> str:
    """Where objects of this kind, in this namespace, are created."""
    version = obj["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = obj["metadata"].get("namespace")
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{scope}/{PLURALS[obj['kind']]}"


def ask(
    connection: http.client.HTTPConnection, token: str, method: str, path: str, body: Any = None
) -> Any:
    """One request on an open connection; anything but success raises."""
    patch = {"PATCH": "application/merge-patch+json"}
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": patch.get(method, "application/json"),
    }
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, headers)
    response = connection.getresponse()
    raw = response.read()
    if response.status >= 400:
        raise Refused(response.status, raw.decode(errors="replace"))
    kind = response.getheader("Content-Type", "")
    return json.loads(raw) if kind.startswith("application/json") else raw.decode()


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on."""
    with contextlib.ExitStack() as stack:
        return [stack.enter_context(_listener()).getsockname()[1] for _ in range(count)]


@contextlib.contextmanager
def _listener() -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        yield listener


_CURVE = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def die_with_parent(parent: int) -> None:
    """Ask Linux to kill this process when the one that started it is gone."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
