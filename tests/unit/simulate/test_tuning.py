"""Tuning: values that are better where they were not chosen, or an honest word."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.config.field_errors import ConfigError
from moorage.simulate.search_space import read_space, with_values
from tests.unit.simulate.scenarios import KUBE, PACKING, write_tables

NODES = "name,cpu,memory,price_per_hour,count\nn,4,16Gi,1.0,6\n"
PODS = "name,arrival_s,duration_s,cpu,memory\n" + "".join(
    f"p{i},{9 * i},{30 + 31 * i % 40},{1 + i % 2},1Gi\n" for i in range(20)
)
STRATEGY = "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type"
WEIGHT = "profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight"


def space(folder: Path, *parameters: dict[str, object]) -> Path:
    file = folder / "space.yaml"
    data = {"apiVersion": "moorage/v1", "kind": "SearchSpace", "parameters": list(parameters)}
    file.write_text(yaml.safe_dump(data))
    return file


def test_a_value_is_put_in_its_place() -> None:
    made = with_values(KUBE, {STRATEGY: "MostAllocated", WEIGHT: 3}, "made")

    document = yaml.safe_load(made.text)["profiles"][0]

    assert document["pluginConfig"] == [
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
    ]
    assert document["plugins"]["multiPoint"]["enabled"] == [
        {"name": "NodeResourcesFit", "weight": 3}
    ]
    made.load()


def test_what_was_there_stays() -> None:
    made = with_values(PACKING, {WEIGHT: 3}, "made")

    plugins = yaml.safe_load(made.text)["profiles"][0]["plugins"]["multiPoint"]

    assert plugins["disabled"] == [{"name": "NodeResourcesBalancedAllocation"}]


@pytest.mark.parametrize(
    ("parameter", "line"),
    [
        ({"path": "a", "low": 1}, "needs either low and high, or choices"),
        ({"path": "a", "low": 2, "high": 1}, "2 is not below high, 1"),
        ({"path": "a", "hihg": 1}, 'unknown field; did you mean "high"?'),
    ],
)
def test_a_space_that_is_none(tmp_path: Path, parameter: dict[str, object], line: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_space(str(space(tmp_path, parameter)))

    assert line in str(error.value)


def tune(tmp_path: Path, file: Path, *more: str) -> dict[str, object]:
    pytest.importorskip("optuna", reason="pip install 'moorage[tune]'")
    tables = write_tables(tmp_path, NODES, PODS)
    args = ["tune", *tables, "--space", str(file), "--seeds", "6", "--workers", "1", "-o", "json"]

    told = CliRunner().invoke(main, [*args, "--trials", "4", *more])

    assert told.exit_code == 0, told.output
    found: dict[str, object] = json.loads(told.stdout)
    return found


def test_packing_is_found_and_is_better_on_seeds_it_was_not_chosen_by(tmp_path: Path) -> None:
    file = space(tmp_path, {"path": STRATEGY, "choices": ["LeastAllocated", "MostAllocated"]})
    target = tmp_path / "best.yaml"

    found = tune(tmp_path, file, "--objective", "cost", "--write", str(target))
    checked = CliRunner().invoke(main, ["config", "check", str(target)])

    assert found["values"] == {STRATEGY: "MostAllocated"}
    assert found["better"] is True
    assert "on 3 held-out seeds better than what was given: cost -" in str(found["verdict"])
    assert checked.exit_code == 0


def test_it_says_when_nothing_is_better(tmp_path: Path) -> None:
    file = space(tmp_path, {"path": STRATEGY, "choices": ["LeastAllocated"]})

    found = tune(tmp_path, file, "--objective", "p95_wait", "--objective", "max:fairness")

    assert found["better"] is False
    assert "NOT better than what was given: keep what you have" in str(found["verdict"])
