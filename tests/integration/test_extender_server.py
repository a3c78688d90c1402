"""A stock kube-scheduler asks Moorage's plugins, and the pods it binds obey them."""

import signal
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml

from moorage.policies.telemetry.metric_sources import CPU_QUERY
from tests.integration.control_plane import ControlPlane
from tests.integration.extending import (
    THEIRS,
    Serving,
    condition,
    kube_scheduler,
    node_of,
    placed,
    pods,
    serving,
)
from tests.integration.harness import configuration, wait_for
from tests.integration.making import Raw, node, pod
from tests.integration.test_measurements import Answers, addressed, profile

pytestmark = [pytest.mark.kube, pytest.mark.timeout(240)]

RULES = '''
from moorage import Cycle, Filter, Node, Pod, Rejection, Score, unresolvable, unschedulable


class Contracts(Filter, Score, frozen=True):
    """Pods of a customer run where its contract allows, best in its home zone."""

    label: str = "example.com/customer"
    crowd: int = 0

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        customer = pod.labels.get(self.label)
        if customer and customer not in node.labels.get(self.label, "").split("-"):
            return unresolvable(f"node(s) were not in the contract of {customer}")
        if self.crowd and len(cycle.pods_on(node.name)) >= self.crowd:
            return unschedulable("node(s) were crowded")
        return None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 100 if node.zone == pod.labels.get("example.com/home") else 0
'''


def ours(name: str, customer: str = "", home: str = "", **more: Any) -> Raw:
    labels = {"example.com/customer": customer, "example.com/home": home}
    given = {key: value for key, value in labels.items() if value}
    return pod(name, scheduler=THEIRS, labels=given, **more)


def machine(name: str, customers: str = "", zone: str = "", **more: Any) -> Raw:
    labels = {"example.com/customer": customers, "topology.kubernetes.io/zone": zone}
    return node(name, labels={key: value for key, value in labels.items() if value}, **more)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "contracts.py"
    file.write_text(RULES)
    return file


@pytest.mark.parametrize(
    "way",
    [
        pytest.param("follows", id="over HTTPS, by the names of nodes"),
        pytest.param("told", id="over HTTP, with whole nodes, and no cluster to follow"),
    ],
)
def test_pods_that_kube_scheduler_binds_obey_a_python_plugin(
    plane: ControlPlane, tmp_path: Path, rules: Path, way: str
) -> None:
    plane.create(
        machine("a1", "acme", "north"),
        machine("a2", "acme-bolt", "south"),
        machine("b1", "bolt", "north"),
        machine("n1"),
    )
    own = [f"--kubeconfig={plane.kubeconfig}"] if way == "follows" else ["--http"]
    with serving(tmp_path, f"--plugin={rules}", *own) as extender:
        stanza = extender.stanza(ignorable=False, weight=50)
        assert stanza["nodeCacheCapable"] is (way == "follows")
        assert stanza.get("enableHTTPS", False) is (way == "follows")
        with kube_scheduler(plane, tmp_path, stanza):
            plane.create(*(ours(f"acme{i}", "acme", "south") for i in range(5)))
            plane.create(*(ours(f"bolt{i}", "bolt", "north") for i in range(5)))
            plane.create(ours("nobody", "cord"), ours("any"))
            names = [f"{name}{i}" for name in ("acme", "bolt") for i in range(5)]
            found = placed(plane, *names, "any")
            told = condition(plane, "nobody")
        metrics = extender.get("/metrics")

    assert {found[f"acme{i}"] for i in range(5)} == {"a2"}, "the best of those allowed"
    assert {found[f"bolt{i}"] for i in range(5)} == {"b1"}
    assert told["reason"] == "Unschedulable"
    assert "4 node(s) were not in the contract of cord" in told["message"]
    assert 'moorage_extender_requests_total{result="success",verb="filter"}' in metrics
    assert 'verb="prioritize"' in metrics


def test_a_plugin_sees_the_pods_that_are_on_a_node(
    plane: ControlPlane, tmp_path: Path, rules: Path
) -> None:
    """The cluster is followed: a rule about the pods of a node holds."""
    plane.create(*(machine(f"n{i}") for i in range(3)))
    config = configuration(
        profiles=[
            {
                "schedulerName": "extender",
                "plugins": {"multiPoint": {"enabled": [{"name": "Contracts"}]}},
                "pluginConfig": [{"name": "Contracts", "args": {"crowd": 2}}],
            }
        ]
    )
    file = tmp_path / "extender.yaml"
    file.write_text(yaml.safe_dump(config))
    follow = (f"--config={file}", f"--plugin={rules}", f"--kubeconfig={plane.kubeconfig}")
    with (
        serving(tmp_path, *follow) as extender,
        kube_scheduler(plane, tmp_path, extender.stanza(ignorable=False)),
    ):
        for i in range(6):
            plane.create(ours(f"p{i}"))
            placed(plane, f"p{i}")
        plane.create(ours("late"))
        told = condition(plane, "late")

    nodes = [each["spec"].get("nodeName") for each in pods(plane).values()]
    assert sorted(nodes.count(f"n{i}") for i in range(3)) == [2, 2, 2]
    assert "3 node(s) were crowded" in told["message"]


def test_candidates_for_preemption_obey_it_too(
    plane: ControlPlane, tmp_path: Path, rules: Path
) -> None:
    """kube-scheduler would evict the least important pod; the contract says it is of no use."""
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in (("low", 1), ("middle", 10), ("high", 100))
    ]
    plane.create(*classes, machine("a1", "acme", cpu="2"), machine("b1", "bolt", cpu="2"))
    plane.create(
        pod("on-a", scheduler="x", cpu="2", nodeName="a1", priorityClassName="middle"),
        pod("on-b", scheduler="x", cpu="2", nodeName="b1", priorityClassName="low"),
    )
    follow = (f"--plugin={rules}", f"--kubeconfig={plane.kubeconfig}")
    with (
        serving(tmp_path, *follow) as extender,
        kube_scheduler(plane, tmp_path, extender.stanza(ignorable=False)),
    ):
        plane.create(ours("urgent", "acme", cpu="2", priorityClassName="high"))
        found = placed(plane, "urgent")

    assert found["urgent"] == "a1"
    assert set(pods(plane)) == {"urgent", "on-b"}


def test_policies_that_measure_are_fed(plane: ControlPlane, tmp_path: Path) -> None:
    """The node that is busy by Prometheus' account is refused, though nothing runs there."""
    cores = {"10.0.0.1:9100": "3.9", "10.0.0.2:9100": "0.1"}

    def answer(path: str, body: str) -> Any:
        values = cores if parse_qs(body)["query"][0] == CPU_QUERY else {}
        result = [
            {"metric": {"instance": name}, "value": [time.time(), value]}
            for name, value in values.items()
        ]
        return {"status": "success", "data": {"resultType": "vector", "result": result}}

    plane.create(addressed("busy", "10.0.0.1"), addressed("idle", "10.0.0.2"))
    with Answers(answer, None) as prometheus:
        address = f"http://127.0.0.1:{prometheus.port}"
        provider = {"type": "Prometheus", "address": address, "interval": "300ms"}
        file = tmp_path / "extender.yaml"
        file.write_text(yaml.safe_dump(configuration(**profile(metricProvider=provider))))
        follow = (f"--config={file}", f"--kubeconfig={plane.kubeconfig}")
        with serving(tmp_path, *follow) as extender:
            wait_for(lambda: "moorage_feed_reads_total{" in extender.get("/metrics"), "not fed")
            with kube_scheduler(plane, tmp_path, extender.stanza(ignorable=False)):
                plane.create(*(ours(f"p{i}") for i in range(4)))
                found = placed(plane, *(f"p{i}" for i in range(4)))

    assert set(found.values()) == {"idle"}


def test_the_extender_binds(plane: ControlPlane, tmp_path: Path, rules: Path) -> None:
    plane.create(machine("a1", "acme"), machine("b1", "bolt"))
    """Only whoever shows a certificate of the authority has a pod bound."""
    follow = (f"--plugin={rules}", f"--kubeconfig={plane.kubeconfig}", "--serve-bind")
    cert, key = plane.client_certificate("scheduler", "schedulers")
    with serving(tmp_path, *follow, f"--client-ca-file={plane.home / 'client-ca.crt'}") as extender:
        extender.certificate = cert, key
        shown = {"insecure": True, "certFile": str(cert), "keyFile": str(key)}
        stanza = extender.stanza(ignorable=False, tlsConfig=shown)
        assert stanza["bindVerb"] == "bind"
        with kube_scheduler(plane, tmp_path, stanza):
            plane.create(*(ours(f"p{i}", "acme") for i in range(3)))
            found = placed(plane, "p0", "p1", "p2")
        metrics = extender.get("/metrics")

    assert set(found.values()) == {"a1"}
    assert 'moorage_extender_requests_total{result="success",verb="bind"} 3.0' in metrics


def break_it(extender: Serving, how: str) -> None:
    if how == "killed":
        extender.kill()
    else:
        extender.process.send_signal(signal.SIGSTOP)


def mend(extender: Serving, how: str) -> None:
    if how == "killed":
        extender.again()
    else:
        extender.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("how", ["killed", "slow"])
def test_kube_scheduler_waits_for_an_extender_that_counts_and_goes_on_without_one_that_does_not(
    plane: ControlPlane, tmp_path: Path, rules: Path, how: str
) -> None:
    """Not ignorable: pods wait, and are placed by the rule once it is back. Ignorable: they are
    placed at once, without the rule."""
    plane.create(machine("b1", "bolt"), machine("b2", "bolt"))
    with serving(tmp_path, f"--plugin={rules}", "--http") as extender:
        with kube_scheduler(plane, tmp_path, extender.stanza(ignorable=False, httpTimeout="500ms")):
            plane.create(ours("before", "bolt"))
            placed(plane, "before")
            break_it(extender, how)
            plane.create(ours("waits", "bolt"))
            told = condition(plane, "waits")
            assert told["reason"] == "SchedulerError"
            assert "/filter" in told["message"]
            assert node_of(plane, "waits") == ""
            mend(extender, how)
            placed(plane, "waits")
        break_it(extender, how)
        with kube_scheduler(plane, tmp_path, extender.stanza(ignorable=True, httpTimeout="500ms")):
            plane.create(ours("against", "cord"))
            placed(plane, "against")
