"""`moorage simulate` of tables and scenario files: options are honoured, or refused by name."""

import csv
import io
import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from moorage.cli.main import main
from moorage.cli.scenario_cmd import OF_MANIFESTS
from moorage.cli.simulate_cmd import simulate_command
from tests.unit.cli import bad_plugins
from tests.unit.simulate.scenarios import write_tables

NODES = "name,cpu,memory,count\nn,4,8Gi,2\n"
FITS = "name,arrival_s,duration_s,cpu\na,0,60,1\n"
HUGE = FITS + "huge,0,60,200\n"
SCENARIO = """
apiVersion: moorage/v1
kind: Scenario
cluster: {nodes: [{name: n, cpu: "4", memory: 8Gi}]}
arrivals: {deployments: [{pod: {name: web, cpu: "1"}, scale: [{atSeconds: 0, replicas: REPLICAS}]}]}
"""


def simulate(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["simulate", *arguments])


def scenario(folder: Path, replicas: int) -> str:
    file = folder / "scenario.yaml"
    file.write_text(SCENARIO.replace("REPLICAS", str(replicas)))
    return str(file)


@pytest.mark.parametrize(
    ("pods", "more", "code"),
    [
        pytest.param(FITS, ["--fail-on-pending"], 0, id="every pod of a table got a node"),
        pytest.param(HUGE, ["--fail-on-pending"], 3, id="a pod of a table waits for ever"),
        pytest.param(HUGE, ["--fail-on-pending", "-o", "json"], 3, id="so it does as JSON"),
        pytest.param(HUGE, [], 0, id="a pod waits, and nobody asked"),
    ],
)
def test_pods_of_tables_that_wait(tmp_path: Path, pods: str, more: list[str], code: int) -> None:
    told = simulate(*write_tables(tmp_path, NODES, pods), *more)

    assert told.exit_code == code, told.output


@pytest.mark.parametrize(
    ("replicas", "code"),
    [
        pytest.param(4, 0, id="every pod of a scenario got a node"),
        pytest.param(5, 3, id="a pod of a scenario waits for ever"),
    ],
)
def test_pods_of_scenarios_that_wait(tmp_path: Path, replicas: int, code: int) -> None:
    told = simulate(scenario(tmp_path, replicas), "--fail-on-pending")

    assert told.exit_code == code, told.output


@pytest.mark.parametrize(
    "option",
    [
        ("--context", "staging"),
        ("--kubeconfig", "nowhere"),
        ("--only", "pending"),
        ("--namespace", "a"),
        ("--node", "n"),
        ("--add-node", "3=nowhere.yaml"),
        ("--drain", "n"),
        ("--scale", "deployment/web=3"),
        ("--strict",),
        ("--validate",),
        ("-o", "wide"),
    ],
    ids=" ".join,
)
def test_an_option_without_effect_is_refused(tmp_path: Path, option: tuple[str, ...]) -> None:
    tables = simulate(*write_tables(tmp_path, NODES, FITS), *option)
    file = simulate(scenario(tmp_path, 1), *option)

    for told in (tables, file):
        assert (told.exit_code, told.stdout) == (2, ""), told.output
        assert f"error: {option[0]}" in told.stderr


def test_all_that_is_refused_is_told_at_once(tmp_path: Path) -> None:
    told = simulate(*write_tables(tmp_path, NODES, FITS), "--drain", "n", "--strict")

    assert [line.split(":")[1] for line in told.stderr.splitlines()] == [" --drain", " --strict"]


def test_only_parameters_of_the_command_are_refused() -> None:
    assert set(OF_MANIFESTS) <= {each.name for each in simulate_command.params}


def test_keeping_a_part_of_no_recording_is_refused(tmp_path: Path) -> None:
    told = simulate(*write_tables(tmp_path, NODES, FITS), "--record-keep", "1h")

    assert told.exit_code == 2
    assert "name a folder with --record DIR" in told.stderr


def test_the_same_kpis_in_every_form(tmp_path: Path) -> None:
    tables = write_tables(tmp_path, NODES, HUGE)

    data = json.loads(simulate(*tables, "-o", "json").stdout)
    (row,) = csv.DictReader(io.StringIO(simulate(*tables, "-o", "csv").stdout))

    assert yaml.safe_load(simulate(*tables, "-o", "yaml").stdout) == data
    assert (data["kpis"]["never_placed"], float(row["never_placed"])) == (1, 1.0)


@pytest.mark.parametrize(
    ("hook", "body"),
    [
        pytest.param(
            "filter", 'if pod.name == "b": raise KeyError("zone")', id="an attempt fails by it"
        ),
        pytest.param("post_bind", 'raise KeyError("zone")', id="no attempt is charged with it"),
        pytest.param("filter", 'raise KeyError("zone")', id="no pod is scheduled at all"),
    ],
)
@pytest.mark.parametrize("output", ["table", "json"])
def test_a_plugin_that_raises_ends_with_one(
    tmp_path: Path, hook: str, body: str, output: str
) -> None:
    (tmp_path / "bad.py").write_text(bad_plugins.source(hook, body))
    (tmp_path / "bad.yaml").write_text(bad_plugins.configuration(hook))
    tables = write_tables(tmp_path, NODES, FITS + "b,0,60,1\n")
    plugin = ["--config", str(tmp_path / "bad.yaml"), "--plugin", str(tmp_path / "bad.py")]

    for command in (["simulate"], ["compare", "--seeds", "2", "--workers", "1"]):
        told = CliRunner().invoke(main, [*command, *tables, *plugin, "-o", output])

        said = [line for line in told.stderr.splitlines() if "Bad': KeyError: 'zone'" in line]
        assert told.exit_code == 1, told.output
        assert len(said) == 1, told.stderr
