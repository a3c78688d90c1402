"""Every scenario in examples/ ends as its files say, whatever the seed."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from moorage.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"
SEEDS = (0, 1, 2)

Pods = dict[str, dict[str, Any]]


def run(scenario: str, seed: int) -> Pods:
    """The pods as they ended, by `namespace/name`."""
    folder = EXAMPLES / scenario
    given = [str(folder / "cluster"), str(folder / "workloads")]
    config = ["--config", str(folder / "scheduler.yaml")]
    result = CliRunner().invoke(
        main, ["simulate", *given, *config, "--seed", str(seed), "-o", "json"]
    )
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    told = json.loads(result.stdout)
    assert not told["errors"]
    return {f"{pod['namespace']}/{pod['name']}": pod for pod in told["pods"]}


def nodes(pods: Pods, prefix: str) -> Counter[str]:
    """How many pods of a workload are on each node."""
    return Counter(pod["node"] for name, pod in pods.items() if name.startswith(prefix))


@pytest.mark.parametrize("seed", SEEDS)
def test_finance(seed: int) -> None:
    pods = run("finance", seed)

    assert nodes(pods, "bank/payments") == {"core-1": 3}
    assert pods["bank/ledger-0"]["node"] in {"core-1", "core-2"}
    assert nodes(pods, "bank/reports").keys() <= {"plain-1", "plain-2", "plain-3"}
    assert pods["bank/archive"]["message"].startswith(
        "0/7 nodes are available: 3 node(s) were not core nodes, where core business must run, "
        "4 node(s) were outside the region that the pod's data must stay in."
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_ai_platform(seed: int) -> None:
    pods = run("ai-platform", seed)

    (packed,) = nodes(pods, "ml/inference")
    assert packed.startswith("gpu-")
    assert pods["ml/tuning"]["node"] == packed
    assert pods["ml/pretraining"]["node"] in {"gpu-1", "gpu-2", "gpu-3"} - {packed}
    assert nodes(pods, "ml/preprocessing").keys() == {"cpu-1", "cpu-2"}


@pytest.mark.parametrize("seed", SEEDS)
def test_tenants(seed: int) -> None:
    pods = run("tenants", seed)

    assert nodes(pods, "acme/") == {"acme-1": 5, "gold-1": 3}
    globex, hooli = nodes(pods, "globex/"), nodes(pods, "hooli/")
    (shared,) = globex.keys() - {"silver-1"}
    (left,) = {"common-1", "common-2"} - {shared}
    assert globex == {"silver-1": 5, shared: 3}
    assert hooli == {left: 5, "": 3}
    waiting = [pod["message"] for pod in pods.values() if not pod["node"]]
    assert all("1 node(s) ran pods of another tenant" in message for message in waiting)


@pytest.mark.parametrize("seed", SEEDS)
def test_cost(seed: int) -> None:
    pods = run("cost", seed)

    assert nodes(pods, "batch/encoding").keys() == {"spot-1", "spot-2"}
    assert nodes(pods, "shop/web").keys() <= {"m5-1", "m5-2"}
    assert (
        "1 node(s) would cost the pod more than 10.0 per hour"
        in pods["batch/extravagant"]["message"]
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_latency(seed: int) -> None:
    pods = run("latency", seed)

    assert nodes(pods, "shop/orders-db") == {"a-1": 1}
    assert nodes(pods, "shop/orders") == {"a-1": 1, "a-2": 4, "b-2": 2}
    assert pods["shop/newsletter"]["node"] in {"b-1", "c-1", "c-2"}


@pytest.mark.parametrize("seed", SEEDS)
def test_mixed_workloads(seed: int) -> None:
    pods = run("mixed-workloads", seed)

    assert nodes(pods, "reports/nightly").keys() == {"spot-1", "spot-2"}
    assert nodes(pods, "shop/web").keys() <= {"online-2", "online-3"}
    assert pods["shop/vision"]["node"] == "gpu-1"


SCENARIOS = ("ai-platform", "cost", "finance", "latency", "mixed-workloads", "tenants")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_readme_says_how_to_run_it(scenario: str) -> None:
    text, folder = (EXAMPLES / scenario / "README.md").read_text(), f"examples/{scenario}"

    given = f"{folder}/cluster {folder}/workloads --config {folder}/scheduler.yaml"
    assert f"moorage simulate {given}\n" in text
