"""The demo does what its files say."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main

DEMO = Path(__file__).parents[3] / "examples" / "demo"


@pytest.fixture(scope="module")
def outcome() -> dict[str, dict[str, str]]:
    result = CliRunner().invoke(
        main,
        [
            "simulate",
            str(DEMO / "cluster"),
            str(DEMO / "workloads"),
            "--config",
            str(DEMO / "scheduler.yaml"),
            "--plugin",
            str(DEMO / "quiet_nodes.py"),
            "-o",
            "json",
        ],
    )
    assert result.exit_code == 0, result.stderr
    return {pod["name"]: pod for pod in json.loads(result.stdout)["pods"]}


def test_one_pod_cannot_fit_and_says_why(outcome: dict[str, dict[str, str]]) -> None:
    pending = [pod for pod in outcome.values() if not pod["node"]]

    assert [pod["name"] for pod in pending] == ["too-big"]
    assert pending[0]["message"].startswith(
        "0/21 nodes are available: 1 node(s) were unschedulable, 14 Insufficient nvidia.com/gpu, "
        "6 node(s) had untolerated taint(s)."
    )


def test_web_pods_are_spread_over_zones_and_kept_from_loud_nodes(
    outcome: dict[str, dict[str, str]],
) -> None:
    nodes = [pod["node"] for name, pod in outcome.items() if name.startswith("web-")]

    assert sorted(node[4] for node in nodes) == ["a", "a", "a", "b", "b", "b", "c", "c", "c"]
    assert not [node for node in nodes if node.endswith("4")]


def test_gpu_pods_go_to_gpu_nodes_and_batch_to_spot(outcome: dict[str, dict[str, str]]) -> None:
    assert {outcome[f"training-{i}"]["node"][:3] for i in range(2)} == {"gpu"}
    assert {outcome[f"report-{i}"]["node"][:4] for i in range(4)} == {"spot"}


def test_databases_do_not_share_a_node(outcome: dict[str, dict[str, str]]) -> None:
    assert len({outcome[f"db-{i}"]["node"] for i in range(3)}) == 3
