"""Measurements on a real API server: an aggregated metrics API, Prometheus, probers."""

import asyncio
import contextlib
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import pytest

from moorage.policies.telemetry.metric_sources import CPU_QUERY
from moorage.serve.secure_serving import Certificates, ServerTls
from tests.extending import POLL_SECONDS
from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.harness import replica, wait_for
from tests.integration.making import OURS, Raw, node, pod

pytestmark = pytest.mark.kube

GROUP = "/apis/metrics.k8s.io/v1beta1"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LOW = {"multiPoint": {"enabled": [{"name": "LowCpuScheduler", "weight": 100}]}}


class Answers:
    """An HTTP server whose answers a test may change."""

    def __init__(self, answer: Callable[[str, str], Any], tls: ssl.SSLContext | None) -> None:
        class Handler(BaseHTTPRequestHandler):
            def respond(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                found = answer(self.path.partition("?")[0], self.rfile.read(length).decode())
                body = json.dumps(found).encode()
                self.send_response(200 if found is not None else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = respond

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_SECONDS,), daemon=True
        )

    def __enter__(self) -> "Answers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def profile(**args: Any) -> dict[str, Any]:
    made: Raw = {"schedulerName": OURS, "plugins": LOW}
    made["pluginConfig"] = [{"name": "LowCpuScheduler", "args": args}]
    return {"profiles": [made]}


def placed(plane: ControlPlane, name: str) -> str:
    found = plane.request("GET", f"/api/v1/namespaces/default/pods/{name}")
    return str(found["spec"].get("nodeName", ""))


class MetricsServer:
    """Serves metrics.k8s.io as an aggregated API server does."""

    def __init__(self) -> None:
        self.cores: dict[str, str] = {}

    def answer(self, path: str, _: str) -> Any:
        if path == f"{GROUP}/nodes":
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            items = [
                {"metadata": {"name": name}, "timestamp": now, "usage": {"cpu": cpu, "memory": "1"}}
                for name, cpu in self.cores.items()
            ]
            return {"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1"} | {
                "items": items
            }
        if path == GROUP:
            nodes = {"name": "nodes", "kind": "NodeMetrics", "namespaced": False, "verbs": ["list"]}
            return {"kind": "APIResourceList", "groupVersion": "metrics.k8s.io/v1beta1"} | {
                "resources": [nodes]
            }
        return None


@contextlib.contextmanager
def aggregated(plane: ControlPlane, port: int) -> Iterator[None]:
    """Let the API server pass requests for metrics.k8s.io on to a port of this machine."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "metrics"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    api = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "metrics", "port": port},
        },
    }
    plane.request("POST", "/api/v1/namespaces/default/services", service)
    plane.request("POST", SERVICES, api)
    try:
        yield
    finally:
        plane.request("DELETE", f"{SERVICES}/v1beta1.metrics.k8s.io")
        plane.request("DELETE", "/api/v1/namespaces/default/services/metrics")


def test_usage_comes_through_the_aggregated_metrics_api(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Nodes that use too much are refused, and taken again when they use less."""
    metrics = MetricsServer()
    metrics.cores = {"n1": "3900m", "n2": "3900m"}
    tls = ServerTls(Certificates("", "", str(tmp_path)), "localhost").context
    plane.create(node("n1"), node("n2"))
    settings = profile(metricProvider={"interval": "500ms"})
    with Answers(metrics.answer, tls) as server, aggregated(plane, server.port):
        wait_for(lambda: _is_served(plane), "metrics.k8s.io is not served")
        with replica(tmp_path, "one", plane.kubeconfig, **settings) as one:
            one.says("feed read")
            plane.create(pod("waits"))
            one.says("2 cpu usage too high")
            assert placed(plane, "waits") == ""
            metrics.cores = {"n1": "3900m", "n2": "100m"}

            wait_for(lambda: placed(plane, "waits"), f"not bound; see {one.log}")
            assert placed(plane, "waits") == "n2"


def _is_served(plane: ControlPlane) -> bool:
    found = plane.request("GET", f"{SERVICES}/v1beta1.metrics.k8s.io")
    conditions = found.get("status", {}).get("conditions", [])
    return any(c["type"] == "Available" and c["status"] == "True" for c in conditions)


def test_without_anybody_who_measures_pods_are_placed_all_the_same(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plane.create(node("n1", cpu="8"), node("n2", cpu="2"), pod("p", cpu="1"))
    with replica(tmp_path, "one", plane.kubeconfig, **profile()) as one:
        wait_for(lambda: placed(plane, "p"), f"not bound; see {one.log}")
        one.says("metrics.k8s.io is not served")

    assert placed(plane, "p") in {"n1", "n2"}


def test_usage_comes_from_prometheus_and_its_age_is_a_metric(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Nodes are known by their addresses; a Prometheus that is gone stops nobody."""
    cores = {"10.0.0.1:9100": "3.9", "10.0.0.2:9100": "0.1"}

    def answer(path: str, body: str) -> Any:
        asked = parse_qs(body)["query"][0]
        values = cores if asked == CPU_QUERY else {}
        result = [
            {"metric": {"instance": name}, "value": [time.time(), value]}
            for name, value in values.items()
        ]
        return {"status": "success", "data": {"resultType": "vector", "result": result}}

    plane.create(addressed("n1", "10.0.0.1"), addressed("n2", "10.0.0.2"))
    (port,) = free_ports(1)
    with Answers(answer, None) as prometheus:
        address = f"http://127.0.0.1:{prometheus.port}"
        provider = {"type": "Prometheus", "address": address, "interval": "300ms"}
        settings = profile(metricProvider=provider)
        flag = f"--http-port={port}"
        with replica(tmp_path, "one", plane.kubeconfig, flag, **settings) as one:
            one.says("feed read")
            plane.create(*(pod(f"p{i}") for i in range(5)))
            wait_for(lambda: all(placed(plane, f"p{i}") for i in range(5)), f"see {one.log}")
            assert {placed(plane, f"p{i}") for i in range(5)} == {"n2"}
            prometheus.__exit__()
            one.says("feed not read")
            plane.create(pod("later"))
            wait_for(lambda: placed(plane, "later"), f"not bound; see {one.log}")
            name = f'moorage_feed_age_seconds{{feed="usage/{address}"}}'
            assert name in asyncio.run(scraped(port))


def addressed(name: str, address: str) -> Raw:
    made = node(name)
    made["status"]["addresses"] = [{"type": "InternalIP", "address": address}]
    return made


async def scraped(port: int) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics") as response,
    ):
        return await response.text()


def test_latencies_that_probers_measure_are_obeyed(plane: ControlPlane, tmp_path: Path) -> None:
    """Two probers write what they measure; a pod goes where its database is near."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        for name in ("a1", "b1"):
            made = addressed(name, "127.0.0.1")
            made["metadata"]["labels"]["topology.kubernetes.io/zone"] = name[0]
            plane.create(made)
        plane.request("POST", CONFIG_MAPS, {"metadata": {"name": "latencies"}})
        for name in ("a1", "b1"):
            done = probe(plane, name, f"--port={port}")
            assert done.returncode == 0, done.stderr
    written = plane.request("GET", f"{CONFIG_MAPS}/latencies")["data"]
    assert written.keys() == {"a1", "b1"}
    assert 0 < json.loads(written["a1"])["latencies"]["a"]["b"] < 1000
    far = {"latencies": {"a": {"b": 500.0}, "b": {"a": 500.0}}}
    plane.request("PATCH", f"{CONFIG_MAPS}/latencies", {"data": {"a1": None, "b1": None}})
    plane.request("PATCH", f"{CONFIG_MAPS}/latencies", {"data": {"table": json.dumps(far)}})
    plugins = {"multiPoint": {"enabled": [{"name": "NetworkLatencyPlugin", "weight": 10}]}}
    args = {"latencyConfigMap": "default/latencies"}
    settings: Raw = {"schedulerName": OURS, "plugins": plugins}
    settings["pluginConfig"] = [{"name": "NetworkLatencyPlugin", "args": args}]
    database = pod("db", labels={"app": "db"}, nodeSelector={"kubernetes.io/hostname": "b1"})
    talks = pod("web", nodeSelector={"kubernetes.io/hostname": "a1"})
    talks["metadata"]["annotations"] = {"moorage.io/talks-to": "app=db"}
    with replica(tmp_path, "one", plane.kubeconfig, profiles=[settings]) as one:
        one.says("feed read")
        plane.create(database)
        wait_for(lambda: placed(plane, "db"), f"not bound; see {one.log}")
        plane.create(talks)
        one.says("more than 10 ms away")
        near = json.dumps({"latencies": {"a": {"b": 1.0}, "b": {"a": 1.0}}})
        plane.request("PATCH", f"{CONFIG_MAPS}/latencies", {"data": {"table": near}})

        wait_for(lambda: placed(plane, "web"), f"not bound; see {one.log}")
    plane.request("DELETE", f"{CONFIG_MAPS}/latencies")


def probe(plane: ControlPlane, name: str, *more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from moorage.cli.main import main; main()", "probe"]
    options = [f"--node={name}", "--config-map=default/latencies", "--once", *more]
    given = [*command, *options, f"--kubeconfig={plane.kubeconfig}"]
    return subprocess.run(given, capture_output=True, text=True, check=False, timeout=60)
