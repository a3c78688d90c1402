"""Comparisons: the same for the same, an interval that tells chance from difference."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.simulate import sweep
from moorage.simulate.comparison import compare
from moorage.simulate.student_t import mean_interval, paired_interval, t_quantile
from tests.unit.simulate.scenarios import (
    KUBE,
    PACKING,
    nodes,
    random_arrivals,
    scenario,
    write_tables,
)

NODES = "name,cpu,memory,count\nn,4,16Gi,6\n"
PODS = "name,arrival_s,duration_s,cpu,memory\n" + "".join(
    f"p{i},{7 * i},{40 + 13 * i % 90},{1 + i % 3},1Gi\n" for i in range(60)
)


def test_any_number_of_workers_gives_the_same_bits() -> None:
    played = scenario(nodes(5), random_arrivals(60, seed=3))
    tasks = sweep.tasks_of([KUBE, PACKING], [1, 2])
    alone, _ = sweep.run_all(played, tasks)
    for workers in (2, 3):
        with sweep.local_executor(workers, played) as executor:
            together, _ = sweep.run_all(played, tasks, executor)
        assert msgspec.json.encode(together) == msgspec.json.encode(alone)


def test_the_order_of_hashes_does_not_matter(tmp_path: Path) -> None:
    tables = write_tables(tmp_path, NODES, PODS)
    command = [sys.executable, "-m", "moorage", "simulate", *tables, "--seed", "5", "-o", "json"]
    told = {
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(told) == 1


def test_a_configuration_does_not_differ_from_itself(tmp_path: Path) -> None:
    config = tmp_path / "a.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    options = [*write_tables(tmp_path, NODES, PODS), "--config", str(config), "--config"]

    told = CliRunner().invoke(
        main, ["compare", *options, str(config), "--seeds", "1-3", "-o", "json"]
    )

    assert told.exit_code == 0, told.output
    data = json.loads(told.stdout)
    assert [each["name"] for each in data["configurations"]] == ["a", "a-2"]
    assert [seed["seed"] for seed in data["configurations"][0]["seeds"]] == [1, 2, 3]
    assert data["differences"]
    assert all(each["low"] == each["mean"] == each["high"] == 0 for each in data["differences"])
    assert data["differences"][0]["configurations"] == ["a", "a-2"]


def test_the_same_on_other_seeds_differs_by_chance_in_about_one_of_twenty() -> None:
    """Two samples of one configuration, over and over: 95 % of the intervals hold zero."""
    rng = random.Random(1)
    misses = sum(
        paired_interval(
            [rng.gauss(10, 3) for _ in range(10)], [rng.gauss(10, 3) for _ in range(10)]
        ).excludes_zero
        for _ in range(2000)
    )

    assert 0.04 < misses / 2000 < 0.06


def test_packing_uses_fewer_nodes_and_the_interval_says_so() -> None:
    played = scenario(nodes(8), random_arrivals(80, seed=1))
    results, whole = sweep.run_all(played, sweep.tasks_of([KUBE, PACKING], range(1, 6)))
    found = compare("test", "0", results)
    by_kpi = {each.kpi: each for each in found.differences}

    assert whole
    assert by_kpi["nodes_used_mean"].mean < 0
    assert by_kpi["nodes_used_mean"].is_significant
    assert by_kpi["cost"].mean < 0
    assert by_kpi["pods"].mean == 0


def test_students_t() -> None:
    assert t_quantile(9) == 2.26216
    assert t_quantile(40) == pytest.approx(2.02108, abs=1e-4)
    assert t_quantile(10**6) == pytest.approx(1.95996, abs=1e-4)


def test_an_interval_by_hand() -> None:
    """1, 2, 3: mean 2, deviation 1, t(2) = 4.30265."""
    found = mean_interval([1.0, 2.0, 3.0])

    assert found.mean == 2.0
    assert found.high == pytest.approx(2 + 4.30265 / 3**0.5)
    assert mean_interval([5.0]).low is None
