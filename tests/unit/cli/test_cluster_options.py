"""`simulate`, `explain`, `capacity` and `whatif` read a cluster in the same way."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.cli.main import main
from tests.unit.cli.bad_plugins import configuration, source
from tests.unit.cli.command import CLUSTER
from tests.unit.cli.test_policies_cmd import APPLYING, POLICIES
from tests.unit.cli.test_policies_cmd import CLUSTER as TWO_POOLS

COMMANDS = {
    "simulate": ("simulate", "FILE"),
    "explain": ("explain", "FILE", "web"),
    "explain --as-is": ("explain", "FILE", "web", "--as-is"),
    "capacity": ("capacity", "FILE", "--pod", "FILE"),
    "whatif": ("whatif", "FILE", "--drain", "a"),
}
every_command = pytest.mark.parametrize("command", COMMANDS)
QUOTA = """---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: q}
spec: {min: {cpu: "1"}, max: {cpu: "2"}}
"""


def ask(tmp_path: Path, command: str, text: str, *more: str) -> Result:
    (tmp_path / "all.yaml").write_text(text)
    words = [str(tmp_path / "all.yaml") if word == "FILE" else word for word in COMMANDS[command]]
    return CliRunner().invoke(main, [*words, *more])


@every_command
def test_what_an_api_server_refuses_is_refused(tmp_path: Path, command: str) -> None:
    bad = CLUSTER.replace("image: i,", "image: i, ports: [{containerPort: 99999}],")

    told = ask(tmp_path, command, bad)

    assert told.exit_code == 2, told.output
    assert "ports[0].containerPort: Invalid value: 99999" in told.stderr


@every_command
@pytest.mark.parametrize("flag", ["--no-validate", "--validate=false", "--validate=ignore"])
def test_those_who_insist_are_obeyed(tmp_path: Path, command: str, flag: str) -> None:
    bad = CLUSTER.replace("image: i,", "image: i, ports: [{containerPort: 99999}],")

    assert ask(tmp_path, command, bad, flag).exit_code == 0


@every_command
def test_a_misspelt_field_is_a_warning(tmp_path: Path, command: str) -> None:
    told = ask(tmp_path, command, CLUSTER.replace("image: i", "image: i, resuorces: {}"))

    assert told.exit_code == 0, told.output
    assert 'unknown field "spec.containers[0].resuorces"' in told.stderr


@every_command
def test_what_has_no_effect_is_said(tmp_path: Path, command: str) -> None:
    (tmp_path / "unused.py").write_text(source("filter", "return None"))

    told = ask(tmp_path, command, CLUSTER + QUOTA, "--plugin", str(tmp_path / "unused.py"))

    assert "no profile names Bad, so it has no effect" in told.stderr
    assert "ElasticQuota: 1 given, and no profile reads them" in told.stderr


@every_command
def test_what_plugins_print_is_not_the_answer(tmp_path: Path, command: str) -> None:
    (tmp_path / "loud.py").write_text(source("filter", "print('called')"))
    (tmp_path / "conf.yaml").write_text(configuration("filter"))
    given = ("--config", str(tmp_path / "conf.yaml"), "--plugin", str(tmp_path / "loud.py"))

    told = ask(tmp_path, command, CLUSTER, *given, "-o", "json")

    json.loads(told.stdout)
    assert "called" in told.stderr


@pytest.mark.parametrize("command", ["explain", "capacity", "whatif"])
def test_a_plugin_that_raised_is_named(tmp_path: Path, command: str) -> None:
    (tmp_path / "bad.py").write_text(source("filter", "raise ValueError('boom')"))
    (tmp_path / "conf.yaml").write_text(configuration("filter"))
    given = ("--config", str(tmp_path / "conf.yaml"), "--plugin", str(tmp_path / "bad.py"))

    told = ask(tmp_path, command, CLUSTER, *given)

    assert "running Filter plugin 'Bad': ValueError: boom" in told.stderr
    assert "moorage is at fault" not in told.stderr
    assert told.exit_code == 1, told.output


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("explain", "job"), "Pod default/job is on batch-1"),
        (("capacity", "--pod", "POD", "-o", "json"), '"fits":1'),
        (("whatif", "--drain", "batch-1", "-o", "json"), '"becomes_pending":[{"pod":"default/job"'),
        (
            ("whatif", "--to-config", "CONFIG", "-o", "json"),
            '"becomes_pending":[]',
        ),
    ],
    ids=["explain", "capacity", "whatif", "whatif with another configuration"],
)
def test_policies_in_config_maps_are_applied(
    tmp_path: Path, command: tuple[str, ...], said: str
) -> None:
    (tmp_path / "cluster.yaml").write_text(f"{TWO_POOLS}---\n{POLICIES}")
    (tmp_path / "conf.yaml").write_text(APPLYING)
    (tmp_path / "pod.yaml").write_text(TWO_POOLS.split("---\n")[-1])
    places = {"POD": tmp_path / "pod.yaml", "CONFIG": tmp_path / "conf.yaml"}
    name, *words = (str(places.get(word, word)) for word in command)
    given = [name, str(tmp_path / "cluster.yaml"), *words, "--config", str(tmp_path / "conf.yaml")]

    told = CliRunner().invoke(main, given)
    unapplied = CliRunner().invoke(main, given[:-2])

    assert said in told.stdout, told.output
    assert "SchedulingPolicy batch: " in unapplied.stderr


USAGE = """---
apiVersion: metrics.k8s.io/v1beta1
kind: NodeMetrics
metadata: {name: a}
usage: {cpu: "3900m", memory: 1Gi}
---
apiVersion: v1
kind: Node
metadata: {name: idle}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""
LOW_CPU = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: LowCpuScheduler}]}}
"""


def test_a_scenario_goes_by_the_same_measurements(tmp_path: Path) -> None:
    """A node that uses 97 % of its cpu takes no pod, not even of one that is drained."""
    (tmp_path / "conf.yaml").write_text(LOW_CPU)
    (tmp_path / "all.yaml").write_text(CLUSTER + USAGE)
    given = ["whatif", str(tmp_path / "all.yaml"), "--config", str(tmp_path / "conf.yaml")]

    told = json.loads(
        CliRunner().invoke(main, [*given, "--drain", "idle", "-o", "json"]).stdout
    )[0]  # fmt: skip

    assert [each["pod"] for each in told["becomes_pending"]] == ["default/web"]
    assert told["moves"] == []


def test_scenarios_come_from_pipes_too(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(CLUSTER)
    scenarios = "apiVersion: moorage/v1\nkind: WhatIf\nscenarios: [{name: without a, drain: [a]}]\n"

    told = CliRunner().invoke(main, ["whatif", str(tmp_path / "all.yaml"), "-f", "-"], scenarios)

    assert told.exit_code == 0, told.output
    assert "without a" in told.stdout
