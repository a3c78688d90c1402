"""The operations manual is complete and true, as far as that can be checked."""

import re

import click
import pytest
import yaml

from moorage.cli.run_cmd import run_command
from moorage.observe.catalogue import CATALOGUE, Metric
from moorage.serve.health import Health
from moorage.serve.http_server import __doc__ as routes
from tests.deploy.tools import DEPLOY, ROOT, of_kind

MANUAL = (ROOT / "docs" / "operations.md").read_text()


def exported(metric: Metric) -> str:
    return metric.name + ("_total" if metric.kind == "counter" else "")


def row_of(metric: Metric) -> str:
    """The line of the manual about a metric."""
    stability = "" if metric.stability == "moorage" else f" ({metric.stability})"
    labels = ", ".join(metric.labels)
    return f"| `{exported(metric)}`{stability} | {metric.kind} | {labels} | {metric.help} |"


def test_every_metric_is_listed_as_it_is() -> None:
    assert [row_of(metric) for metric in CATALOGUE if row_of(metric) not in MANUAL] == []


def test_every_metric_that_is_mentioned_exists() -> None:
    mentioned = set(re.findall(r"\b(?:scheduler|moorage)_[a-z_]+[a-z]\b", MANUAL))

    assert mentioned <= {exported(metric) for metric in CATALOGUE}


def test_every_alert_is_listed_with_its_patience() -> None:
    rules = yaml.safe_load((DEPLOY / "overlays" / "monitoring" / "alerts.yaml").read_text())
    for group in rules["spec"]["groups"]:
        for rule in group["rules"]:
            patience = rule["for"].replace("m", " min")
            assert f"| {rule['alert']} | {patience} |" in MANUAL


def test_every_path_that_is_served_is_listed() -> None:
    assert routes is not None
    for path in re.findall(r"/[a-z/]+", routes.split("|---|---|")[1]):
        if path != "/readyz/":
            assert path in MANUAL, path
    for checks in Health().endpoints.values():
        for check in checks:
            assert f"`{check.name}`" in MANUAL


def test_every_option_of_moorage_run_that_is_mentioned_exists() -> None:
    table = MANUAL.split("| option of `moorage run` |")[1].split("\n\n")[0]
    known = {name for option in run_command.params for name in option.opts}

    assert set(re.findall(r"`(--[a-z-]+)`", table)) <= known


@pytest.mark.kube
@pytest.mark.parametrize("overlay", ["base", "overlays/several-schedulers"])
def test_the_command_line_of_the_manifests_is_one_that_moorage_run_takes(overlay: str) -> None:
    for deployment in of_kind(overlay, "Deployment"):
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        command, *arguments = container["args"]
        with click.Context(run_command) as context:
            given, rest, _ = run_command.make_parser(context).parse_args(list(arguments))

        assert command == run_command.name
        assert rest == []
        assert given["config"] == "/etc/moorage/scheduler.yaml"
