"""The examples in examples/simulation are played, and each has its report."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "examples" / "simulation"

pytest.importorskip("altair", reason="pip install 'moorage[report]'")


def play(*args: str) -> str:
    told = CliRunner().invoke(main, [*args, "--workers", "1"])

    assert told.exit_code == 0, told.output
    return told.stdout


def configs(folder: str, *names: str) -> list[str]:
    return [part for name in names for part in ("--config", str(EXAMPLES / folder / name))]


def test_packing_costs_less_than_kubes_default(tmp_path: Path) -> None:
    report = tmp_path / "packing.html"
    given = configs("packing", "kube-default.yaml", "most-allocated.yaml", "cost-optimization.yaml")
    scenario = str(EXAMPLES / "packing" / "scenario.yaml")

    play("compare", scenario, *given, "--seeds", "2", "--report", str(report), "--fail-if",
         "cost > +0%")  # fmt: skip

    text = report.read_text()
    assert "Does packing pods save money" in text
    assert "cost-optimization" in text


def test_a_storm_evicts_fewer_where_spot_nodes_are_avoided(tmp_path: Path) -> None:
    report = tmp_path / "storm.html"
    given = configs("spot-storm", "any-node.yaml", "avoid-spot.yaml")
    scenario = str(EXAMPLES / "spot-storm" / "scenario.yaml")

    told = play("compare", scenario, *given, "--seeds", "2", "--report", str(report), "--fail-if",
                "evictions > -1")  # fmt: skip

    assert "evictions" in told
    assert "Spot reclaim storm" in report.read_text()


def test_weights_are_searched_on_some_seeds_and_shown_on_others(tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="pip install 'moorage[tune]'")
    report, target = tmp_path / "tuning.html", tmp_path / "tuned.yaml"
    scenario = str(EXAMPLES / "packing" / "scenario.yaml")
    space = str(EXAMPLES / "tuning" / "space.yaml")

    told = play("tune", scenario, "--space", space, "--objective", "cost", "--seeds", "4",
                "--trials", "3", "--write", str(target), "--report", str(report))  # fmt: skip

    assert "on 2 held-out seeds" in told
    assert "tuned" in report.read_text()
    assert CliRunner().invoke(main, ["config", "check", str(target)]).exit_code == 0
