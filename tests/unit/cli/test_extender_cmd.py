"""`moorage extender`, and `moorage simulate` with extenders, as a user types them."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from moorage.cli.main import main
from tests.extending import extender, only, scores

RULES = """
from moorage import Cycle, Filter, Node, Pod, Rejection, Score, unschedulable

class Quiet(Filter, frozen=True):
    label: str = "loud"

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return unschedulable("too loud") if self.label in node.labels else None

class Large(Score, frozen=True):
    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 100
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.py"
    file.write_text(RULES)
    return file


def moorage(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def configured(tmp_path: Path, **settings: Any) -> Path:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **settings,
    }
    file = tmp_path / "scheduler.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


def enabling(*names: str, name: str = "default-scheduler") -> dict[str, Any]:
    enabled = [{"name": each} for each in names]
    return {"schedulerName": name, "plugins": {"multiPoint": {"enabled": enabled}}}


def stanza(*arguments: str | Path) -> dict[str, Any]:
    said = moorage("extender", "serve", "--stanza", *arguments)
    assert said.exit_code == 0, said.output
    (found,) = yaml.safe_load(said.stdout)["extenders"]
    return dict(found)


def test_the_stanza_asks_what_plugins_can_answer(rules: Path) -> None:
    assert stanza("--plugin", rules, "--url", "https://moorage.example:8888/") == {
        "urlPrefix": "https://moorage.example:8888",
        "filterVerb": "filter",
        "preemptVerb": "preempt",
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "nodeCacheCapable": False,
        "enableHTTPS": True,
        "ignorable": True,
        "httpTimeout": "1s",
    }


def test_only_verbs_that_mean_something_are_there(tmp_path: Path, rules: Path) -> None:
    config = configured(tmp_path, profiles=[enabling("Large")])

    found = stanza("--config", config, "--plugin", rules, "--http", "--bind-address", "127.0.0.1")

    assert found["urlPrefix"] == "http://127.0.0.1:8888"
    assert found["prioritizeVerb"] == "prioritize"
    assert not {"filterVerb", "preemptVerb", "enableHTTPS"} & set(found)


def test_kube_schedulers_own_plugins_answer_when_they_are_named(tmp_path: Path) -> None:
    config = configured(tmp_path)

    found = stanza("--config", config, "--run", "NodeResourcesFit")

    assert found["filterVerb"] == "filter"


def test_a_cluster_that_is_followed_is_asked_about_by_name(rules: Path) -> None:
    found = stanza("--plugin", rules, "--kubeconfig", "anywhere", "--serve-bind")

    assert found["nodeCacheCapable"] is True
    assert found["bindVerb"] == "bind"


def test_the_stanza_is_a_configuration_that_moorage_takes(tmp_path: Path, rules: Path) -> None:
    config = configured(tmp_path, extenders=[stanza("--plugin", rules)])

    assert moorage("config", "check", config).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param((), "has nothing to say", id="without a plugin of its own"),
        pytest.param(("--profile", "x"), "--profile x: no such profile", id="another profile"),
        pytest.param(
            ("--run", "Quiet"), "--run Quiet: the profile does not enable it", id="another plugin"
        ),
        pytest.param(
            ("--plugin", "RULES", "--serve-bind", "--client-ca-file", "ca.crt"),
            "--serve-bind: there is no API server to bind at",
            id="nowhere to bind",
        ),
        pytest.param(
            ("--plugin", "RULES", "--serve-bind", "--bind-address", "127.0.0.1"),
            "--serve-bind: whoever can connect could bind any pod to any node: give --client-ca",
            id="anybody binds",
        ),
        pytest.param(
            ("--plugin", "RULES", "--serve-bind", "--anonymous"),
            "--serve-bind: whoever can connect could bind any pod to any node: give --client-ca",
            id="anybody binds, and is meant to",
        ),
        pytest.param(
            ("--plugin", "RULES"),
            "--bind-address 0.0.0.0: whoever can connect would be told the names of nodes",
            id="anybody asks",
        ),
        pytest.param(
            ("--plugin", "RULES", "--http", "--bind-address", ""),
            "--bind-address every address: whoever can connect would be told",
            id="anybody asks, at any address",
        ),
        pytest.param(
            ("--plugin", "RULES", "--anonymous", "--tls-cert-file", "nowhere.pem"),
            "give both a certificate file and a key file",
            id="half a certificate",
        ),
        pytest.param(
            ("--plugin", "RULES", "--bind-address", "999.1.1.1"),
            "'--bind-address': '999.1.1.1' is not an IP address",
            id="no address",
        ),
        pytest.param(
            ("--plugin", "RULES", "--bind-address", "my host"),
            "'--bind-address': 'my host' is not an IP address",
            id="no name of a host",
        ),
        pytest.param(
            ("--plugin", "RULES", "--anonymous", "--http", "--bind-address", "203.0.113.1"),
            "cannot listen on 203.0.113.1:8888",
            id="another machine's address",
        ),
    ],
)
def test_input_at_fault_is_named(rules: Path, arguments: tuple[str, ...], said: str) -> None:
    given = [str(rules) if argument == "RULES" else argument for argument in arguments]

    result = moorage("extender", "serve", *given)

    assert result.exit_code == 2
    assert said in result.output


CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: b}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: i}]}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(CLUSTER)
    return file


def test_a_simulation_asks_extenders_and_lets_none_bind(tmp_path: Path, cluster: Path) -> None:
    with extender(prioritize=scores(b=10), bind=lambda asked: {}) as fake:
        config = configured(tmp_path, extenders=[fake.config(weight=100)])
        said = moorage("simulate", cluster, "--config", config, "-o", "yaml")

    assert said.exit_code == 0, said.output
    (placed,) = yaml.safe_load(said.stdout)["pods"]
    assert placed["node"] == "b"
    assert [verb for verb, _ in fake.asked] == ["prioritize"]


def test_a_simulation_tells_what_an_extender_refuses(tmp_path: Path, cluster: Path) -> None:
    with extender(filter=only(why="no licence")) as fake:
        config = configured(tmp_path, extenders=[fake.config()])
        said = moorage("simulate", cluster, "--config", config, "-o", "yaml")

    (placed,) = yaml.safe_load(said.stdout)["pods"]
    assert not placed.get("node")
    assert "2 no licence" in str(placed)


@pytest.mark.parametrize(
    ("ignorable", "code"),
    [
        pytest.param(True, 0, id="one that may be ignored is, and that is said once"),
        pytest.param(False, 1, id="without any other, attempts fail"),
    ],
)
def test_an_extender_that_is_not_there(
    tmp_path: Path, cluster: Path, ignorable: bool, code: int
) -> None:
    cluster.write_text(CLUSTER + "---" + CLUSTER.rpartition("---")[2].replace("web", "api"))
    away = {
        "urlPrefix": "http://127.0.0.1:9", "filterVerb": "f", "prioritizeVerb": "p", "weight": 1,
        "ignorable": ignorable,
    }  # fmt: skip
    config = configured(tmp_path, extenders=[away])

    said = moorage("simulate", cluster, "--config", config, "-o", "json")

    assert said.exit_code == code
    nodes = [each["node"] for each in json.loads(said.stdout)["pods"]]
    assert all(nodes) is ignorable
    assert said.stderr.count("extender/http://127.0.0.1:9: ignored, as it fails") == ignorable


def test_an_extender_that_cannot_be_trusted_as_described_is_refused(
    tmp_path: Path, cluster: Path
) -> None:
    tls = {"insecure": True, "caFile": "/ca.pem"}
    config = configured(tmp_path, extenders=[{"urlPrefix": "https://x", "tlsConfig": tls}])

    said = moorage("simulate", cluster, "--config", config)

    assert said.exit_code == 2
    assert "extenders[0]: tlsConfig: a CA is of no use with insecure" in said.output
