"""A running Moorage is asked over HTTPS: explanations, its decisions as a stream."""

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

API = "rbac.authorization.k8s.io/v1"
RBAC = f"/apis/{API}"


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


def test_it_explains_and_streams_what_it_decides(plane: ControlPlane, tmp_path: Path) -> None:
    good, bad = tmp_path / "token", tmp_path / "forged"
    good.write_text(plane.token)
    bad.write_text("forged")
    plane.create(node("n1"), node("n2"), pod("web", cpu="3"), pod("api", cpu="3"))
    with serving(tmp_path, plane.kubeconfig, "--enable-explain") as (_, port):
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
        with request(port, "POST", "/debug/explain", plane.token, {"pods": [pod("s")]}) as answer:
            (small,) = json.loads(answer.read())
        page = json.loads(get(port, "/debug/decisions?result=scheduled", plane.token).text)

    assert streamed["result"] == "unschedulable"
    assert event["metadata"]["annotations"]["moorage/attempt"] == streamed["attempt"]
    assert told["message"] == streamed["message"].partition(" preemption: ")[0]
    assert {change["kind"] for change in told["changes"]} >= {"request", "node"}
    assert "401" in refused
    assert "not found" in absent
    assert small["node"] in ("n1", "n2")
    first, second = page["items"]
    assert first["bound_ms"] >= first["steps"]["Bind"] > 0
    assert {first["node"], *first["runners_up"]} == {first["node"], second["node"]} == {"n1", "n2"}


def test_nothing_is_explained_unless_it_is_enabled(plane: ControlPlane, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(plane.token)
    with serving(tmp_path, plane.kubeconfig) as (_, port):
        assert "start it with --enable-explain" in asked(port, token, "explain", "web")


ASK = {"nonResourceURLs": ["/debug/explain"], "verbs": ["post"]}
GET_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
LIST_NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
LIST_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


@contextlib.contextmanager
def granted(plane: ControlPlane, rules: list[Raw], namespace: str = "") -> Iterator[None]:
    """Rights of the service account `asker`, in one namespace or in the cluster."""
    place = f"{RBAC}/namespaces/{namespace}/" if namespace else f"{RBAC}/cluster"
    kind = "Role" if namespace else "ClusterRole"
    role = {"metadata": {"name": "asker"}, "rules": rules}
    roles, bindings = ("roles", "rolebindings")
    plane.request("POST", f"{place}{roles}", {"apiVersion": API, "kind": kind, **role})
    subject = {"kind": "ServiceAccount", "name": "asker", "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "asker"}
    binding = {"metadata": {"name": "asker"}, "subjects": [subject], "roleRef": reference}
    plane.request(
        "POST", f"{place}{bindings}", {"apiVersion": API, "kind": f"{kind}Binding", **binding}
    )
    try:
        yield
    finally:
        for plural in (roles, bindings):
            plane.request("DELETE", f"{place}{plural}/asker")


def asker(plane: ControlPlane) -> str:
    """The token of an account without rights."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "asker"}}
    plane.request("POST", accounts, account)
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token: str = plane.request("POST", f"{accounts}/asker/token", wanted)["status"]["token"]
    return token


def posted(port: int, token: str, body: Raw) -> tuple[int, str]:
    with request(port, "POST", "/debug/explain", token, body) as answer:
        return answer.status, answer.read().decode()


def test_nobody_is_answered_with_what_he_may_not_read_himself(
    plane: ControlPlane, tmp_path: Path
) -> None:
    for name in ("secret", "team"):
        plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    victim, big = pod("victim", cpu="3"), pod("big", cpu="3")
    victim["metadata"]["namespace"], big["metadata"]["namespace"] = "secret", "team"
    plane.create(node("n1"), victim)
    token = asker(plane)
    about = {"pod": "team/big"}
    crlf = {
        "pod": "team/x HTTP/1.1\r\nHost: a\r\n\r\n"
        "DELETE /api/v1/namespaces/secret/pods/victim?gracePeriodSeconds=0"
    }
    ttl = "--authorization-webhook-cache-{}-ttl=100ms"
    flags = ("--enable-explain", ttl.format("authorized"), ttl.format("unauthorized"))
    with serving(tmp_path, plane.kubeconfig, *flags) as (_, port):
        wait_for(lambda: "victim" in placed(plane), "not bound")
        plane.create(big)
        wait_for(lambda: failed(plane, "big"), "no event")
        stranger = posted(port, token, about)
        with granted(plane, [ASK]):
            no_pods = wait_for(lambda: _not(403, "cannot post", posted(port, token, about)), "403")
            hostile = posted(port, token, crlf)
            with granted(plane, [GET_PODS], "team"):
                no_nodes = wait_for(lambda: _not(403, "get pods", posted(port, token, about)), "")
        with granted(plane, [ASK, GET_PODS, LIST_NODES]):
            told = wait_for(lambda: _not(403, "", posted(port, token, about)), "not explained")
        with granted(plane, [ASK, GET_PODS, LIST_NODES, LIST_PODS]):
            more = wait_for(lambda: _all(posted(port, token, about)), "less")

    assert (stranger[0], hostile[0]) == (403, 400)
    assert 'cannot get pods in the namespace "team"' in no_pods[1]
    assert "cannot list nodes at the cluster scope" in no_nodes[1]
    assert told[0] == more[0] == 200
    assert json.loads(told[1])["message"] == json.loads(more[1])["message"]
    assert "victim" not in told[1]
    assert plane.request("GET", "/api/v1/namespaces/secret/pods/victim")["spec"]["nodeName"] == "n1"


def _all(answer: tuple[int, str]) -> tuple[int, str] | None:
    """The answer, once it names the pods of others."""
    return answer if "victim" in answer[1] else None


def _not(status: int, words: str, answer: tuple[int, str]) -> tuple[int, str] | None:
    """The answer, once it is another one: verdicts are kept, and reviews have a budget."""
    return None if answer[0] == 429 or (answer[0] == status and words in answer[1]) else answer
