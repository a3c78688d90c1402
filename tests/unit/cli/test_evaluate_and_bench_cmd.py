"""`moorage evaluate` and `moorage bench` on the command line."""

import json

import pytest
from click.testing import CliRunner

from moorage.bench.workload_kinds import KINDS
from moorage.cli.main import main

CASE = {
    "id": "one",
    "nodes": [
        {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1", "pods": "10"}}},
        {"metadata": {"name": "b"}, "status": {"allocatable": {"cpu": "8", "pods": "10"}}},
    ],
    "pod": {
        "metadata": {"name": "p", "uid": "p"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]},
    },
}


def test_a_bad_line_is_an_outcome_with_an_error_and_the_rest_goes_on() -> None:
    lines = ["{not json", json.dumps({"id": "bad", "pod": 7}), json.dumps(CASE)]

    result = CliRunner().invoke(main, ["evaluate"], input="\n".join(lines))

    first, second, third = (json.loads(line) for line in result.stdout.splitlines())
    assert first["error"].startswith("line 1: ")
    assert second["id"] == "bad"
    assert second["error"].startswith("line 2: ")
    assert third["feasible"] == ["b"]
    assert third["rejected"]["a"]["reasons"] == ["Insufficient cpu"]
    assert third["best"] == ["b"]
    assert result.exit_code == 2
    assert result.stderr == "error: 2 of 3 cases could not be decided\n"


def test_cases_that_are_all_decided_end_with_0_and_say_nothing_else() -> None:
    result = CliRunner().invoke(main, ["evaluate"], input=json.dumps(CASE))

    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param({"pod": None}, "pod: expected an object, got nothing", id="no pod"),
        pytest.param({"nodes": {}}, "nodes: expected a list, got an object", id="nodes by name"),
        pytest.param(
            {"pods": [None]}, "pods[0]: expected an object, got nothing", id="a pod that is none"
        ),
        pytest.param({"config": []}, "config: expected an object, got a list", id="a bad config"),
        pytest.param({"node": []}, "object contains unknown field `node`", id="a misspelt field"),
    ],
)
def test_a_case_that_is_none_names_the_field(changed: dict[str, object], want: str) -> None:
    result = CliRunner().invoke(main, ["evaluate"], input=json.dumps({**CASE, **changed}))

    assert json.loads(result.stdout) == {"id": "one", "error": f"line 1: {want}"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_workload_is_measured(kind: str) -> None:
    result = CliRunner().invoke(
        main, ["bench", "--kind", kind, "--nodes", "40", "--pods", "40"], catch_exceptions=False
    )

    line = json.loads(result.stdout)
    assert {"kind", "nodes", "pods", "scheduled", "pods_per_s", "cpu_ms_per_pod"} <= line.keys()
    assert {"max_per_node", "nodes_used", "peak_rss_mb", "p99_ms"} <= line.keys()
    assert line["scheduled"] == (20 if kind == "unschedulable" else 40)


def test_start_up_is_measured_to_the_first_decision() -> None:
    result = CliRunner().invoke(
        main,
        ["bench", "--kind", "startup", "--nodes", "20", "--pods", "100"],
        catch_exceptions=False,
    )

    line = json.loads(result.stdout)
    assert line["total_s"] >= line["decode_s"]
    assert (line["nodes"], line["pods"]) == (20, 100)


@pytest.mark.parametrize(
    ("nodes", "pods", "placed", "gangs"),
    [
        pytest.param(30, 44, 44, 6, id="of eight, and the rest"),
        pytest.param(1, 160, 104, 20, id="whole or not at all, where a node takes 110 pods"),
    ],
)
def test_gangs_are_counted_as_such(nodes: int, pods: int, placed: int, gangs: int) -> None:
    asked = ["--kind", "gang", "--nodes", str(nodes), "--pods", str(pods)]
    line = json.loads(CliRunner().invoke(main, ["bench", *asked]).stdout)

    assert (line["scheduled"], line["gangs"]) == (placed, gangs)
    assert line["gangs_scheduled"] == -(-placed // 8)
    assert line["gangs_per_s"] > 0


def test_other_workloads_say_nothing_of_gangs() -> None:
    told = CliRunner().invoke(main, ["bench", "--kind", "varied", "--nodes", "3", "--pods", "8"])

    assert not [name for name in json.loads(told.stdout) if "gang" in name]
