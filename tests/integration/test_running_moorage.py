"""A running Moorage is asked over HTTPS: explain, whatif, capacity, its decisions as a stream."""

import contextlib
import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from tests.integration.control_plane import LOOPBACK, ControlPlane
from tests.integration.harness import wait_for
from tests.integration.making import Raw, node, pod
from tests.integration.test_serving import get, placed, serving

pytestmark = pytest.mark.kube


def asked(port: int, token: Path, *words: str) -> Any:
    """The answer to a command, or its complaint."""
    server = ("--server", f"https://{LOOPBACK}:{port}", "--insecure-skip-tls-verify")
    shown = ("--token-file", str(token), "-o", "json")
    result = CliRunner().invoke(main, [words[0], *server, *shown, *words[1:]])
    return json.loads(result.stdout) if result.exit_code == 0 else result.output


@contextlib.contextmanager
def request(port: int, method: str, path: str, token: str, body: Any = None) -> Iterator[Any]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(LOOPBACK, port, timeout=60, context=context)
    with contextlib.closing(connection):
        headers = {"Authorization": f"Bearer {token}"}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        yield connection.getresponse()


def failed(plane: ControlPlane, name: str) -> list[Raw]:
    found = plane.request("GET", "/apis/events.k8s.io/v1/events")["items"]
    mine = (each for each in found if each["regarding"].get("name") == name)
    return [each for each in mine if each["reason"] == "FailedScheduling"]


def test_it_explains_answers_what_ifs_and_streams_what_it_decides(
    plane: ControlPlane, tmp_path: Path
) -> None:
    good, bad = tmp_path / "token", tmp_path / "forged"
    good.write_text(plane.token)
    bad.write_text("forged")
    plane.create(node("n1"), node("n2"), pod("web", cpu="3"), pod("api", cpu="3"))
    flags = ("--enable-explain", "--enable-whatif")
    with serving(tmp_path, plane.kubeconfig, *flags) as (_, port):
        wait_for(lambda: placed(plane) == {"web", "api"}, "not bound")
        path = "/debug/decisions?watch=1&since=1"
        with request(port, "GET", path, plane.token) as stream:
            plane.create(pod("big", cpu="2"))
            streamed: Raw = {}
            while streamed.get("pod") != "default/big":
                streamed = json.loads(stream.readline())
        (event, *_) = wait_for(lambda: failed(plane, "big"), "no event")
        told = asked(port, good, "explain", "big")
        refused = asked(port, bad, "explain", "big")
        absent = asked(port, good, "explain", "nobody")
        drained = asked(port, good, "whatif", "--drain", "n1", "--add-node", "1=n2")
        wrong = asked(port, good, "whatif", "--drain", "n9")
        (shape := tmp_path / "shape.yaml").write_text(json.dumps(pod("shape", cpu="500m")))
        (more,) = asked(port, good, "capacity", "--pod", str(shape))
        with request(port, "POST", "/debug/whatif", plane.token, {"pods": [pod("s")]}) as answer:
            (small,) = json.loads(answer.read())
        page = json.loads(get(port, "/debug/decisions?result=scheduled", plane.token).text)

    assert streamed["result"] == "unschedulable"
    assert event["metadata"]["annotations"]["moorage/attempt"] == streamed["attempt"]
    assert told["message"] == streamed["message"].partition(" preemption: ")[0]
    assert {change["kind"] for change in told["changes"]} >= {"request", "node"}
    assert "401" in refused
    assert "not found" in absent
    (scenario,) = drained
    assert (scenario["before"]["nodes"], scenario["after"]["nodes"]) == (2, 3)
    left = [*scenario["moves"], *scenario["becomes_pending"]]
    assert {each["source"] for each in left} == {"n1"}
    assert "--drain n9: there is no such node" in wrong
    assert small["node"] in ("n1", "n2")
    assert (more["fits"], more["runs_out"]) == (4, {"cpu": 2})
    first, second = page["items"]
    assert first["bound_ms"] >= first["steps"]["Bind"] > 0
    assert {first["node"], *first["runners_up"]} == {first["node"], second["node"]} == {"n1", "n2"}


def test_neither_is_answered_unless_it_is_enabled(plane: ControlPlane, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(plane.token)
    with serving(tmp_path, plane.kubeconfig) as (_, port):
        assert "start it with --enable-explain" in asked(port, token, "explain", "web")
        assert "start it with --enable-whatif" in asked(port, token, "whatif", "--drain", "n1")
