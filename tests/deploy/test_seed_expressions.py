"""Every expression that people's alerts for kube-scheduler ask returns data about Moorage.

The expressions are those of common guides, word for word; the series are those that Moorage
exports. promtool joins the two by the rules of the overlay.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.test_monitoring import EXPORTED, asked
from tests.deploy.tools import of_kind, program, run

pytestmark = pytest.mark.kube
OVERLAY = "overlays/monitoring-as-kube-scheduler"
ATTEMPT = "scheduler_scheduling_attempt_duration_seconds_bucket"
ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds_bucket"
ATTEMPTS = "scheduler_schedule_attempts_total"
SELF = 'job="moorage",instance="a"'
SERIES = {
    f"up{{{SELF}}}": "0+0x30",
    f"moorage_active{{{SELF}}}": "1+0x30",
    f'{ATTEMPT}{{{SELF},result="scheduled",le="1.024"}}': "0+0x30",
    f'{ATTEMPT}{{{SELF},result="scheduled",le="2.048"}}': "0+900x30",
    f'{ATTEMPT}{{{SELF},result="scheduled",le="+Inf"}}': "0+900x30",
    f'{ALGORITHM}{{{SELF},le="1.024"}}': "0+0x30",
    f'{ALGORITHM}{{{SELF},le="2.048"}}': "0+900x30",
    f'{ALGORITHM}{{{SELF},le="+Inf"}}': "0+900x30",
    f'{ATTEMPTS}{{{SELF},result="scheduled",profile="moorage"}}': "0+80x30",
    f'{ATTEMPTS}{{{SELF},result="error",profile="moorage"}}': "0+20x30",
    f'scheduler_pending_pods{{{SELF},queue="active"}}': "101+0x30",
    f'scheduler_pending_pods{{{SELF},queue="unschedulable"}}': "51+0x30",
    f'moorage_plugin_errors_total{{{SELF},plugin="Mine",extension_point="Filter"}}': "0+3x30",
    f'moorage_build_info{{{SELF},version="0.1.0",kube_version="v1.37"}}': "1+0x30",
    f'moorage_feasible_nodes_sum{{{SELF},profile="moorage"}}': "0+500x30",
    f'moorage_feasible_nodes_count{{{SELF},profile="moorage"}}': "0+10x30",
    f'rest_client_requests_total{{{SELF},code="201",host="h",method="POST"}}': "0+60x30",
}
EXPRESSIONS = {
    'up{job="kube-scheduler"} == 0': 0,
    "scheduler_scheduling_duration_seconds_p99 > 1": 2.03776,
    "histogram_quantile(0.99, sum(rate(scheduler_scheduling_algorithm_duration_seconds_bucket"
    '{job="kube-scheduler"}[5m])) by (le)) > 1': 2.03776,
    'sum(rate(scheduler_schedule_attempts_total{result="error",job="kube-scheduler"}[5m])) / '
    'sum(rate(scheduler_schedule_attempts_total{job="kube-scheduler"}[5m])) > 0.1': 0.2,
    'scheduler_pending_pods{job="kube-scheduler",queue="active"} > 100': 101,
    'scheduler_pending_pods{job="kube-scheduler",queue="unschedulable"} > 50': 51,
    'increase(scheduler_plugin_execution_duration_seconds_count{result="error",'
    'job="kube-scheduler"}[5m]) > 10': 15,
    "scheduler_feasible_nodes_mean": 50,
    'kubernetes_build_info{git_version="v1.37"}': 1,
    'sum(rate(rest_client_requests_total{job="kube-scheduler"}[5m]))': 1,
}


def groups() -> list[dict[str, Any]]:
    return [
        group for rule in of_kind(OVERLAY, "PrometheusRule") for group in rule["spec"]["groups"]
    ]


def recorded() -> list[dict[str, Any]]:
    return [rule for group in groups() for rule in group["rules"] if "record" in rule]


def asked_of(tmp_path: Path, expression: str, rules: list[dict[str, Any]]) -> str:
    """What promtool says to an expectation of that expression's value and nothing else."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rules}))
    value = EXPRESSIONS[expression]
    bare = {
        "interval": "1m",
        "input_series": [{"series": name, "values": text} for name, text in SERIES.items()],
        "promql_expr_test": [
            {
                "expr": f"round(1000 * sum({expression}))",
                "eval_time": "20m",
                "exp_samples": [{"labels": "{}", "value": round(1000 * value)}],
            }
        ],
    }
    case = tmp_path / "case.yaml"
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [bare]}
    case.write_text(yaml.safe_dump(document))
    return run(program("promtool"), "test", "rules", str(case))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_expression_returns_data(tmp_path: Path, expression: str) -> None:
    assert "SUCCESS" in asked_of(tmp_path, expression, groups())


def test_without_the_rules_it_would_not(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"got:\s+nil"):
        asked_of(tmp_path, 'up{job="kube-scheduler"} == 0', [])


def test_every_recorded_series_is_made_of_what_is_exported() -> None:
    made_of = {rule["record"]: asked(rule["expr"]) for rule in recorded()}

    assert made_of
    assert [name for name, metrics in made_of.items() if not metrics] == []
    assert {
        name: metrics - EXPORTED for name, metrics in made_of.items() if metrics - EXPORTED
    } == {}
