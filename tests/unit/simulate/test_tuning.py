"""Tuning: values that are better where they were not chosen, or an honest word."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.config.field_errors import ConfigError
from moorage.simulate import sweep
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


def refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path, objective: str = "cost"
) -> str:
    """What is said where tuning must end before anything is run."""
    pytest.importorskip("optuna", reason="pip install 'moorage[tune]'")

    def must_not_run(*given: object) -> None:
        raise AssertionError("a run was made")

    monkeypatch.setattr(sweep, "run_all", must_not_run)
    tables = write_tables(tmp_path, NODES, PODS)
    args = ["tune", *tables, "--space", str(file), "--objective", objective, "--workers", "1"]

    told = CliRunner().invoke(main, args)

    assert told.exit_code == 2, told.output
    return told.stderr


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        pytest.param(
            {"path": STRATEGY, "choices": ["LeastAllocated", "MostAlocated"]},
            ["space.yaml:6: parameters[0].choices[1]: ", 'Unsupported value: "MostAlocated"'],
            id="one choice of several",
        ),
        pytest.param(
            {"path": STRATEGY, "choices": ["MostAlocated"]},
            ["space.yaml:5: parameters[0].choices[0]: ", 'Unsupported value: "MostAlocated"'],
            id="the only choice",
        ),
        pytest.param(
            {"path": STRATEGY.replace("type", "typ"), "choices": ["A", "B"]},
            ["space.yaml:7: parameters[0].path: ", 'did you mean "type"?'],
            id="a place where no value can stand",
        ),
        pytest.param(
            {"path": WEIGHT.replace("weight", "name"), "low": 1, "high": 2},
            ["space.yaml", "parameters[0]", "expected text, got an integer"],
            id="a range where no number can stand",
        ),
    ],
)
def test_values_are_checked_before_the_first_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parameter: dict[str, object], said: list[str]
) -> None:
    told = refusal(tmp_path, monkeypatch, space(tmp_path, parameter))

    assert all(each in told for each in said), told


def test_an_objective_is_checked_before_the_first_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = space(tmp_path, {"path": STRATEGY, "choices": ["LeastAllocated", "MostAllocated"]})

    told = refusal(tmp_path, monkeypatch, file, "max:fairnes")

    assert "--objective max:fairnes: no KPI 'fairnes': choose of fairness, " in told


def test_a_trial_is_told_with_the_whole_path_of_its_values(tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="pip install 'moorage[tune]'")
    file = space(tmp_path, {"path": STRATEGY, "choices": ["MostAllocated"]})
    tables = write_tables(tmp_path, NODES, PODS)
    args = ["tune", *tables, "--space", str(file), "--objective", "cost", "--workers", "1"]

    told = CliRunner().invoke(main, [*args, "--seeds", "2", "--trials", "1"])

    assert f"({STRATEGY}=MostAllocated)" in told.stderr
