"""Every scenario in examples/ ends as its files say, whatever the seed."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"
SEEDS = (0, 1, 2)

Pods = dict[str, dict[str, Any]]


def run(
    scenario: str, seed: int, config_file: Path | None = None, cluster: Path | None = None
) -> Pods:
    """The pods as they ended, by `namespace/name`."""
    folder = EXAMPLES / scenario
    given = [str(cluster or folder / "cluster"), str(folder / "workloads")]
    config = ["--config", str(config_file or folder / "scheduler.yaml")]
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


def places(pods: Pods, *prefixes: str) -> set[str]:
    """Where the pods of some workloads are, those that wait left out."""
    return {node for prefix in prefixes for node in nodes(pods, prefix) if node}


def tenants_of(pods: Pods, node: str) -> set[str]:
    return {pod["namespace"] for pod in pods.values() if pod["node"] == node}


CORE = {"core-1", "core-2", "edge-1", "abroad-1"}
SPOT = {"spot-1", "spot-2"}
PROMISES: dict[str, dict[str, Callable[[Pods], bool]]] = {
    "finance": {
        "core business runs on core nodes": lambda pods: (
            places(pods, "bank/payments", "bank/ledger") <= CORE
        ),
        "databases are not at the edge": lambda pods: (
            places(pods, "bank/ledger") <= CORE - {"edge-1"}
        ),
        "data does not leave its region": lambda pods: "abroad-1" not in places(pods, "bank/"),
        "what is not core runs on cheap nodes": lambda pods: (
            not places(pods, "bank/reports") & CORE
        ),
    },
    "ai-platform": {
        "gpu work runs on gpu nodes": lambda pods: all(
            node.startswith("gpu-") for node in places(pods, "ml/inference", "ml/tuning")
        ),
        "other work leaves gpu nodes alone": lambda pods: all(
            node.startswith("cpu-") for node in places(pods, "ml/preprocessing")
        ),
        "a gpu node stays free for the next large job": lambda pods: (
            len(places(pods, "ml/inference", "ml/tuning", "ml/pretraining")) == 2
        ),
    },
    "tenants": {
        "no node runs pods of two tenants": lambda pods: all(
            len(tenants_of(pods, node)) <= 1 for node in places(pods, "")
        ),
        "better nodes go to tenants of a higher tier": lambda pods: (
            tenants_of(pods, "gold-1") == {"acme"} and tenants_of(pods, "silver-1") == {"globex"}
        ),
    },
    "cost": {
        "what may be interrupted runs on spot instances": lambda pods: (
            places(pods, "batch/encoding") <= SPOT
        ),
        "what may not runs on the cheapest that last": lambda pods: (
            places(pods, "shop/web") <= {"m5-1", "m5-2"}
        ),
        "nothing costs more than the threshold": lambda pods: not places(pods, "batch/extravagant"),
    },
    "latency": {
        "nobody is more than 10 ms from the database": lambda pods: all(
            node[0] in "ab" for node in places(pods, "shop/orders")
        ),
        "most are in its zone": lambda pods: (
            sum(nodes(pods, "shop/orders-")[node] for node in ("a-1", "a-2")) >= 4
        ),
    },
    "mixed-workloads": {
        "batch runs on spot nodes": lambda pods: places(pods, "reports/nightly") <= SPOT,
        "services keep off nodes that are busy": lambda pods: (
            places(pods, "shop/web") <= {"online-2", "online-3"}
        ),
        "gpu work runs on gpus": lambda pods: places(pods, "shop/vision") == {"gpu-1"},
    },
}


@pytest.mark.parametrize("scenario", PROMISES)
def test_every_promise_is_kept(scenario: str) -> None:
    for seed in SEEDS:
        pods = run(scenario, seed)
        assert places(pods, "")
        broken = [says for says, holds in PROMISES[scenario].items() if not holds(pods)]
        assert broken == []


@pytest.mark.parametrize("scenario", PROMISES)
def test_without_the_policies_a_promise_is_broken(scenario: str, tmp_path: Path) -> None:
    """So it is the policies that keep them, not chance."""
    config = yaml.safe_load((EXAMPLES / scenario / "scheduler.yaml").read_text())
    for profile in config["profiles"]:
        profile.pop("plugins", None)
        profile.pop("pluginConfig", None)
    plain = tmp_path / "scheduler.yaml"
    plain.write_text(yaml.safe_dump(config))

    pods = run(scenario, 0, plain)

    assert not all(holds(pods) for holds in PROMISES[scenario].values())


def test_the_latencies_of_the_config_map_are_those_in_force(tmp_path: Path) -> None:
    """As its README says: bring zone-c near, and pods go there."""
    folder = tmp_path / "cluster"
    shutil.copytree(EXAMPLES / "latency" / "cluster", folder)
    table = folder / "latencies.yaml"
    table.write_text(table.read_text().replace("zone-c: 25.0", "zone-c: 3.0"))

    pods = run("latency", 0, cluster=folder)

    assert any(node.startswith("c-") for node in places(pods, "shop/orders-"))


SCENARIOS = tuple(PROMISES)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_readme_says_how_to_run_it_and_what_to_look_at(scenario: str) -> None:
    text, folder = (EXAMPLES / scenario / "README.md").read_text(), f"examples/{scenario}"

    given = f"{folder}/cluster {folder}/workloads --config {folder}/scheduler.yaml"
    assert f"moorage simulate {given}\n" in text
    assert "What to look at:\n" in text


def test_gpu() -> None:
    """Training waits less where small pods are kept together."""
    folder = EXAMPLES / "gpu"
    configs = [folder / "devices-only.yaml", folder / "gpu-packing.yaml"]
    given = [str(folder / "scenario.yaml"), *(f"--config={config}" for config in configs)]
    result = CliRunner().invoke(main, ["compare", *given, "--seeds", "1", "-o", "json"])

    assert result.exit_code == 0, result.stderr
    assert "gpu-packing" in result.stdout
