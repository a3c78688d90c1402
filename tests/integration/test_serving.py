"""What a scheduler shows of itself while it works on a real API server, and to whom."""

import asyncio
import contextlib
import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from moorage.observe.catalogue import CATALOGUE
from tests.integration.control_plane import LOOPBACK, ControlPlane, free_ports
from tests.integration.harness import Replica, replica, wait_for
from tests.integration.making import OURS, Raw, node, pod, priority_class
from tests.integration.proxying import TcpProxy
from tests.integration.test_beside_kube_scheduler import THEIRS, events, kube_scheduler, listed

pytestmark = pytest.mark.kube

KEPT = {metric.name for metric in CATALOGUE if metric.stability in ("STABLE", "BETA")}
NOT_ALWAYS = {
    "scheduler_permit_wait_duration_seconds",
    "scheduler_plugin_execution_duration_seconds",
}
"""Told only where a pod waited for permission, or an attempt was among those sampled."""


class Answer(NamedTuple):
    """A status and a text."""

    status: int
    text: str


def get(port: int, path: str, token: str = "") -> Answer:
    """What is answered over HTTPS; nothing, where nobody listens yet."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(LOOPBACK, port, timeout=30, context=context)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with contextlib.closing(connection), contextlib.suppress(OSError):
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return Answer(response.status, response.read().decode())
    return Answer(0, "")


@contextlib.contextmanager
def serving(
    folder: Path, kubeconfig_file: Path, *flags: str, **settings: Any
) -> Iterator[tuple[Replica, int]]:
    """A scheduler that listens, and where."""
    (port,) = free_ports(1)
    listens = (f"--secure-port={port}", f"--bind-address={LOOPBACK}", *flags)
    with replica(folder, "one", kubeconfig_file, *listens, **settings) as one:
        wait_for(lambda: get(port, "/livez").status == 200, f"not alive; see {one.log}")
        yield one, port


def ready(port: int) -> bool:
    return get(port, "/readyz").status == 200


class Family(NamedTuple):
    """A metric, as far as dashboards and alerts depend on it."""

    kind: str
    labels: frozenset[str]
    buckets: tuple[str, ...]


def families(text: str) -> dict[str, Family]:
    """Every metric with samples, by its name."""
    found = {}
    for family in text_string_to_metric_families(text):
        labels = {name for sample in family.samples for name in sample.labels} - {"le"}
        buckets = dict.fromkeys(
            f"{float(sample.labels['le']):.6g}"
            for sample in family.samples
            if "le" in sample.labels
        )
        found[family.name] = Family(family.type, frozenset(labels), tuple(buckets))
    return found


def values(text: str, name: str, label: str) -> set[str]:
    """Which values a label of a metric has."""
    return {
        sample.labels[label]
        for family in text_string_to_metric_families(text)
        if family.name == name
        for sample in family.samples
        if label in sample.labels
    }


def work(plane: ControlPlane, owner: str) -> None:
    """Pods that are bound, make room, fit nowhere and wait at a gate."""
    plane.create(priority_class("high", 1000), node("n1", cpu="4"), node("n2", cpu="1"))
    plane.create(pod("low", scheduler=owner, cpu="3"), pod("any", scheduler=owner))
    wait_for(lambda: placed(plane) == {"low", "any"}, f"{owner} binds nothing")
    plane.create(
        pod("gated", scheduler=owner, schedulingGates=[{"name": "wait"}]),
        pod("huge", scheduler=owner, cpu="64"),
        pod("high", scheduler=owner, cpu="3", priorityClassName="high"),
    )
    wait_for(lambda: "high" in placed(plane), f"{owner} makes no room")
    wait_for(lambda: events(plane, "FailedScheduling"), f"{owner} tells nothing")


def placed(plane: ControlPlane) -> set[str]:
    return {p["metadata"]["name"] for p in listed(plane) if p["spec"].get("nodeName")}


def test_metrics_are_those_of_kube_scheduler(plane: ControlPlane, tmp_path: Path) -> None:
    """Both do the same work; then names, kinds, labels and buckets are compared."""
    with serving(tmp_path, plane.kubeconfig) as (_, port):
        work(plane, OURS)
        ours = get(port, "/metrics", plane.token).text
    plane.clear()
    with kube_scheduler(plane, tmp_path) as port:
        work(plane, THEIRS)
        theirs = get(port, "/metrics", plane.token).text

    kept = {
        line.split()[2].removesuffix("_total")
        for line in theirs.splitlines()
        if line.startswith("# HELP scheduler_") and ("[STABLE]" in line or "[BETA]" in line)
    }
    assert kept <= KEPT
    assert KEPT - kept <= NOT_ALWAYS
    always = KEPT - NOT_ALWAYS
    found, wanted = families(ours), families(theirs)
    assert {name: found.get(name) for name in always} == {name: wanted[name] for name in always}
    for name, label in (
        ("scheduler_pending_pods", "queue"),
        ("scheduler_schedule_attempts", "result"),
        ("scheduler_pod_scheduling_sli_duration_seconds", "attempts"),
    ):
        assert values(ours, name, label) <= values(theirs, name, label), name
    points = "scheduler_framework_extension_point_duration_seconds"
    assert values(ours, points, "status") <= values(theirs, points, "status") | {"Success"}
    mine, its = (values(text, points, "extension_point") for text in (ours, theirs))
    assert its - mine == {"PreEnqueue", "PreBindPreFlight"}
    assert mine <= its


def test_what_is_shown_and_to_whom(plane: ControlPlane, tmp_path: Path) -> None:
    """Health to all; the rest to those of whom the API server says that they may see it."""
    with serving(tmp_path, plane.kubeconfig, podMaxBackoffSeconds=17) as (_, port):
        for path in ("/metrics", "/configz", "/debug/stacks"):
            assert get(port, path, plane.token).status == 200
            assert get(port, path).status == 403
            assert get(port, path, "forged").status == 401
        for path in ("/healthz", "/livez", "/readyz"):
            wait_for(lambda path=path: get(port, path).status == 200, path)  # type: ignore[misc]
        shown = get(port, "/configz", plane.token).text

    assert '"podMaxBackoffSeconds":17' in shown
    assert f'"schedulerName":"{OURS}"' in shown


def test_it_is_not_ready_before_it_has_seen_everything(plane: ControlPlane, tmp_path: Path) -> None:
    """It lives, and waits for an API server that is not there yet."""

    async def main() -> None:
        proxy = TcpProxy(plane)
        (proxy.port,) = free_ports(1)
        with serving(tmp_path, proxy.kubeconfig(tmp_path)) as (one, port):
            before = await asyncio.to_thread(get, port, "/readyz")
            assert before.status == 500
            assert "[-]sched-handler-sync failed" in before.text
            await proxy.open()
            otherwise = f"never ready; see {one.log}"
            await asyncio.to_thread(wait_for, lambda: ready(port), otherwise)
            await proxy.close()

    asyncio.run(main())


def test_the_id_of_an_attempt_ties_its_log_line_to_its_event(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Lines are JSON, one for each decision."""
    plane.create(node("n1"), pod("web"), pod("huge", cpu="64"))
    with serving(tmp_path, plane.kubeconfig, "--log-format=json") as (one, _):
        one.says("Unschedulable")
        wait_for(lambda: events(plane, "FailedScheduling"), f"no event; see {one.log}")
        wait_for(lambda: events(plane, "Scheduled"), f"no event; see {one.log}")
        lines = [json.loads(line) for line in one.said.splitlines()]

    for message, reason in (("Scheduled", "Scheduled"), ("Unschedulable", "FailedScheduling")):
        [line] = [line for line in lines if line["msg"] == message]
        [event] = [event for event in events(plane, reason) if _is_pod(event)]
        assert event["metadata"]["annotations"]["moorage/attempt"] == line["attempt"]


def _is_pod(event: Raw) -> bool:
    return bool(event["regarding"]["kind"] == "Pod")
