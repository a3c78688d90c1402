"""The extender's manifests: it may look and not touch, and serves what it is probed for."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from tests.deploy.tools import DEPLOY, allowed_by, looking_on, of_kind

OVERLAY = "overlays/extender"
pytestmark = pytest.mark.kube


def container() -> dict[str, Any]:
    [deployment] = of_kind(OVERLAY, "Deployment")
    [found] = deployment["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_it_follows_what_a_scheduler_follows_and_writes_nothing() -> None:
    assert allowed_by(OVERLAY) == looking_on()


def test_its_account_has_that_role() -> None:
    [binding] = of_kind(OVERLAY, "ClusterRoleBinding")
    [account] = of_kind(OVERLAY, "ServiceAccount")
    [deployment] = of_kind(OVERLAY, "Deployment")
    [role] = of_kind(OVERLAY, "ClusterRole")

    name = account["metadata"]["name"]
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == name
    assert binding["subjects"][0]["name"] == name
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


def test_the_service_and_the_budget_find_its_pods() -> None:
    [deployment] = of_kind(OVERLAY, "Deployment")
    [service] = of_kind(OVERLAY, "Service")
    [budget] = of_kind(OVERLAY, "PodDisruptionBudget")
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()

    assert service["spec"]["selector"].items() <= labels
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    assert [ports[port["targetPort"]] for port in service["spec"]["ports"]] == [8888]


def test_probes_ask_what_is_served() -> None:
    found = container()

    for probe, path in (
        ("startupProbe", "/livez"),
        ("livenessProbe", "/livez"),
        ("readinessProbe", "/readyz"),
    ):
        asked = found[probe]["httpGet"]
        assert (asked["scheme"], asked["path"], asked["port"]) == ("HTTPS", path, "https")


@pytest.mark.parametrize("verb", ["filterVerb", "prioritizeVerb", "preemptVerb"])
def test_its_command_is_one_that_answers(verb: str) -> None:
    config = str(DEPLOY / OVERLAY / "scheduler.yaml")
    given = [
        f"--config={config}" if argument.startswith("--config=") else argument
        for argument in container()["args"]
    ]

    said = CliRunner().invoke(main, [*given, "--stanza"])

    assert said.exit_code == 0, said.output
    [stanza] = yaml.safe_load(said.stdout)["extenders"]
    assert verb in stanza


def test_it_answers_the_clients_of_an_authority_that_is_there_before_it_starts() -> None:
    [deployment] = of_kind(OVERLAY, "Deployment")
    volumes = {each["name"]: each for each in deployment["spec"]["template"]["spec"]["volumes"]}
    mounts = {each["mountPath"]: each["name"] for each in container()["volumeMounts"]}

    [argument] = [a for a in container()["args"] if a.startswith("--client-ca-file=")]
    file = Path(argument.partition("=")[2])
    source = volumes[mounts[str(file.parent)]]["configMap"]

    assert (source["name"], file.name) == ("moorage-extender-clients", "ca.crt")
    assert not source.get("optional")


def test_its_configuration_is_where_it_is_looked_for() -> None:
    [deployment] = of_kind(OVERLAY, "Deployment")
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    named = next(volume["configMap"]["name"] for volume in volumes if "configMap" in volume)
    [found] = [m for m in of_kind(OVERLAY, "ConfigMap") if m["metadata"]["name"] == named]

    [argument] = [a for a in container()["args"] if a.startswith("--config=")]
    assert Path(argument.partition("=")[2]).name in found["data"]
