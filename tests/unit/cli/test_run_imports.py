"""What `moorage run` has imported when it binds its first pod: every module costs time by then."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from moorage.testing import node, pod
from tests.extending import POLL_SECONDS

FORBIDDEN = (
    "aiohttp",
    "cel_expr_python",
    "email",
    "importlib.metadata",
    "jinja2",
    "moorage.bench",
    "moorage.dashboard",
    "moorage.devices.cel.program",
    "moorage.explain",
    "moorage.extender.http_sender",
    "moorage.memory",
    "moorage.recording",
    "moorage.scaffold",
    "moorage.serve.http_server",
    "moorage.shadow",
    "moorage.simulate",
    "moorage.testing",
    "numpy.random",
    "opentelemetry",
    "prometheus_client",
    "rich",
    "yarl",
)
"""Imported by the function that builds the feature, or by the command, that needs it."""
MOST_MODULES = 830 if sys.version_info < (3, 12) else 840  # Python imports more of its own
RUN = """
import os, sys
from moorage.kube.kube_api_server import KubeApiServer

async def bind(self, namespace, name, uid, node, annotations):
    print(*sys.modules, flush=True)
    os._exit(0)

KubeApiServer.bind = bind
from moorage.cli.main import main
main()
"""


class ApiServer(BaseHTTPRequestHandler):
    """Lists one node and one pod, and nothing of anything else; watches end at once."""

    protocol_version = "HTTP/1.1"
    objects: ClassVar[dict[str, dict[str, Any]]] = {
        "/api/v1/nodes": node("n1").raw,
        "/api/v1/pods": pod("web").raw,
    }

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        found = [self.objects[path]] if path in self.objects else []
        listed = json.dumps({"metadata": {"resourceVersion": "7"}, "items": found})
        body = b"" if "watch=1" in query else listed.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def server() -> Iterator[str]:
    serving = ThreadingHTTPServer(("127.0.0.1", 0), ApiServer)
    serving.daemon_threads = True
    threading.Thread(target=serving.serve_forever, args=(POLL_SECONDS,), daemon=True).start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()


@pytest.fixture
def imported(server: str, tmp_path: Path) -> list[str]:
    """The modules there were when the pod was bound."""
    config, access = tmp_path / "config.yaml", tmp_path / "kubeconfig.yaml"
    access.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "contexts": [{"name": "c", "context": {"cluster": "c"}}],
                "current-context": "c",
            }
        )
    )
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaderElect: false}\n"
    )
    command = ["run", f"--config={config}", f"--kubeconfig={access}", "--http-port=0"]
    told = subprocess.run(
        [sys.executable, "-c", RUN, *command, "--secure-port=0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return told.stdout.split() or pytest.fail(told.stderr[-2000:])


def test_what_is_imported_before_the_first_binding(imported: list[str]) -> None:
    assert [name for name in imported if name.startswith(FORBIDDEN)] == []
    assert len(imported) <= MOST_MODULES


def test_numpy_starts_no_threads() -> None:
    code = "import moorage.cli.main, numpy, os; print(len(os.listdir('/proc/self/task')))"

    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "1"
