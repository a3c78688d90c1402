"""Alerts fire when they should; alerts and dashboard ask for metrics that exist."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.observe.catalogue import CATALOGUE
from tests.deploy.tools import DEPLOY, ROOT, of_kind, program, run

MONITORING = DEPLOY / "overlays" / "monitoring"
CASES = Path(__file__).parent / "alerts_test.yaml"
PROCESS = {"up", "process_resident_memory_bytes"}
EXPORTED = PROCESS | {
    metric.name + suffix
    for metric in CATALOGUE
    for suffix in {
        "counter": ("_total",),
        "gauge": ("",),
        "histogram": ("_bucket", "_sum", "_count"),
    }[metric.kind]
}
SEEDS = {
    "SchedulerDown",
    "SchedulingLatencyHigh",
    "KubeSchedulerDown",
    "KubeSchedulerHighLatency",
    "KubeSchedulerHighFailureRate",
    "KubeSchedulerQueueDepth",
    "KubeSchedulerUnschedulablePods",
    "KubeSchedulerPluginErrors",
}
OURS = {
    "MoorageConfigRefused",
    "MoorageFeedStale",
    "MooragePluginSwitchedOff",
    "MoorageSchedulerNameContended",
}
ASKED = re.compile(r"\b((?:scheduler|moorage|process|rest_client)_\w+|up)\{")


def groups() -> list[dict[str, Any]]:
    document = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
    found: list[dict[str, Any]] = document["spec"]["groups"]
    return found


def alerts() -> list[dict[str, Any]]:
    return [rule for group in groups() for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return found


def expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def asked(expression: str) -> set[str]:
    return set(ASKED.findall(expression))


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "alerts.yaml"
    file.write_text(yaml.safe_dump({"groups": groups()}))
    return file


def test_every_alert_of_the_seeds_is_there() -> None:
    assert {alert["alert"] for alert in alerts()} == SEEDS | OURS


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: str(alert["alert"]))
def test_an_alert_asks_for_what_is_exported_and_says_what_to_do(alert: dict[str, Any]) -> None:
    assert asked(alert["expr"])
    assert asked(alert["expr"]) <= EXPORTED
    assert alert["annotations"].keys() == {"summary", "description", "runbook"}
    file, _, anchor = alert["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^#+ (.*)$", (ROOT / file).read_text(), re.MULTILINE)
    assert anchor in {heading.lower().replace(" ", "-") for heading in headings}


@pytest.mark.kube
def test_promtool_accepts_the_rules(rules: Path) -> None:
    found = f"{len(SEEDS | OURS)} rules found"
    assert found in run(program("promtool"), "check", "rules", str(rules))


@pytest.mark.kube
def test_alerts_fire_when_they_should_and_only_then(rules: Path) -> None:
    cases = yaml.safe_load(CASES.read_text())
    file = rules.with_name("cases.yaml")
    file.write_text(yaml.safe_dump({**cases, "rule_files": [str(rules)]}))

    assert "SUCCESS" in run(program("promtool"), "test", "rules", str(file))


def test_every_alert_is_tested_to_fire_and_to_stay_silent() -> None:
    tested = {
        (case["alertname"], bool(case["exp_alerts"]))
        for test in yaml.safe_load(CASES.read_text())["tests"]
        for case in test["alert_rule_test"]
    }

    assert {*itertools.product(SEEDS | OURS, (True, False))} - tested == set()


def test_the_dashboard_asks_for_what_is_exported() -> None:
    wanted = set().union(*map(asked, expressions()))

    assert wanted <= EXPORTED
    assert {"scheduler_pending_pods", "scheduler_unschedulable_pods"} <= wanted


@pytest.mark.kube
def test_promtool_understands_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    recorded = [
        {"record": f"panel:{number}", "expr": text.replace("$__rate_interval", "5m")}
        for number, text in enumerate(expressions())
    ]
    file = tmp_path / "panels.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": recorded}]}))

    run(program("promtool"), "check", "rules", str(file))


def test_panels_do_not_overlap_and_have_names_of_their_own() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    for key in ("title", "id"):
        assert len({panel[key] for panel in panels()}) == len(panels())


@pytest.mark.kube
def test_the_dashboard_is_found_by_grafana() -> None:
    [found] = of_kind("overlays/monitoring", "ConfigMap")

    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(found["data"]["moorage.json"])["uid"] == "moorage"


@pytest.mark.kube
def test_prometheus_finds_every_scheduler_and_names_its_job() -> None:
    [monitor] = of_kind("overlays/monitoring", "ServiceMonitor")
    for overlay in ("base", "overlays/several-schedulers"):
        for service in of_kind(overlay, "Service"):
            labels = service["metadata"]["labels"]
            assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
            assert labels[monitor["spec"]["jobLabel"]] == "moorage"
            ports = {port["name"] for port in service["spec"]["ports"]}
            assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} == ports
