"""What `moorage simulate` prints, and how it ends, for people and for scripts."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.cli.main import main
from tests.unit.cli.bad_plugins import HOOKS, configuration, source
from tests.unit.cli.command import CLUSTER, moorage, shell

WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: big}
spec:
  replicas: 30
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "9"}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: small}
spec:
  replicas: 3
  selector: {matchLabels: {app: y}}
  template:
    metadata: {labels: {app: y}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: pool, labels: {kubernetes.io/hostname: pool}}
status: {allocatable: {cpu: "16", memory: 8Gi, pods: "10"}}
"""


def simulate(tmp_path: Path, *more: str, text: str = CLUSTER, **env: str) -> Result:
    (tmp_path / "all.yaml").write_text(text)
    (tmp_path / "node.yaml").write_text(NODE)
    return CliRunner().invoke(main, ["simulate", str(tmp_path / "all.yaml"), *more], env=env)


def test_a_request_that_overflows_scores_is_named_with_the_error(tmp_path: Path) -> None:
    huge = CLUSTER.replace('cpu: "1"', "cpu: 1Ei")

    told = simulate(tmp_path, text=f"{huge}---{NODE}")

    assert told.exit_code == 1
    assert "likely because the pod requests 1Ei of cpu, which 64 bits cannot count" in told.stderr


def test_a_node_with_less_than_nothing_requested_has_an_empty_bar(tmp_path: Path) -> None:
    told = simulate(tmp_path, text=CLUSTER.replace('cpu: "1"', "cpu: 1Ei"))

    assert told.exit_code == 0, told.output
    assert "1 of 1 pods placed" in told.stdout


def test_the_summary_fits_a_screen_and_folds_equal_pods(tmp_path: Path) -> None:
    nodes = "---".join(CLUSTER.split("---")[0].replace("name: a", f"name: a{i}") for i in range(60))

    told = simulate(tmp_path, text=f"{nodes}---{WORKLOADS}")

    assert told.exit_code == 0, told.output
    assert len(told.stdout.splitlines()) < 24
    assert "default/deployment/big  30 pods" in told.stdout
    assert "3 of 33 pods placed on 60 nodes" in told.stdout
    assert "nodes used; cpu 0%" in told.stdout


def test_wide_lists_every_pod_and_node(tmp_path: Path) -> None:
    told = simulate(tmp_path, "-o", "wide", text=f"{CLUSTER}---{WORKLOADS * 1}")

    assert told.stdout.count("pending") >= 30


def test_csv_has_a_line_per_pod(tmp_path: Path) -> None:
    told = simulate(tmp_path, "-o", "csv", text=f"{CLUSTER}---{WORKLOADS}")

    rows = list(csv.DictReader(io.StringIO(told.stdout)))
    assert len(rows) == 34
    assert {row["owner"].lower() for row in rows} >= {"deployment big", "deployment small"}


@pytest.mark.parametrize(
    ("options", "pods"),
    [
        (["--only", "pending"], 30),
        (["--only", "placed"], 4),
        (["--namespace", "default"], 34),
        (["--namespace", "other"], 0),
        (["--node", "a"], 4),
    ],
)
def test_a_part_is_shown_on_request(tmp_path: Path, options: list[str], pods: int) -> None:
    told = simulate(tmp_path, "-o", "json", *options, text=f"{CLUSTER}---{WORKLOADS}")

    assert len(json.loads(told.stdout)["pods"]) == pods


def test_scripts_can_fail_on_pending_pods(tmp_path: Path) -> None:
    pending = f"{CLUSTER}---{WORKLOADS}"

    assert simulate(tmp_path, "--fail-on-pending", text=pending).exit_code == 3
    assert simulate(tmp_path, "--fail-on-pending").exit_code == 0


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("body", ["raise ValueError('boom')", "sys.exit(0)"])
def test_the_exit_code_is_1_where_a_plugin_raised(tmp_path: Path, hook: str, body: str) -> None:
    (tmp_path / "bad.py").write_text(source(hook, body))
    (tmp_path / "conf.yaml").write_text(configuration(hook))
    given = ("--config", str(tmp_path / "conf.yaml"), "--plugin", str(tmp_path / "bad.py"))

    two = f"{CLUSTER}---{CLUSTER.replace('name: a}', 'name: b}').replace('web', 'huge')}"

    told = simulate(tmp_path, "-o", "json", *given, text=two.replace('cpu: "1"', 'cpu: "99"', 1))

    assert told.exit_code == 1
    assert "Bad" in json.loads(told.stdout)["errors"][0]


def test_what_befalls_many_pods_is_told_once_and_beside_the_tables(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(source("filter", "raise ValueError('boom')"))
    (tmp_path / "conf.yaml").write_text(configuration("filter"))
    (tmp_path / "all.yaml").write_text(f"{CLUSTER}---{WORKLOADS}")

    told = moorage(
        *("simulate", tmp_path / "all.yaml"),
        *("--config", tmp_path / "conf.yaml", "--plugin", tmp_path / "bad.py"),
    )

    assert told.returncode == 1
    assert "error:" not in told.stdout
    lines = told.stderr.splitlines()
    assert len(lines) < 8
    assert "boom" in lines[0]
    assert "times)" in lines[0]


def test_a_pod_that_is_never_permitted_is_told_why_and_is_on_no_node(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(source("permit", "from moorage import Wait; return Wait(30)"))
    (tmp_path / "conf.yaml").write_text(configuration("permit"))
    given = ("--config", str(tmp_path / "conf.yaml"), "--plugin", str(tmp_path / "bad.py"))

    told = simulate(tmp_path, "-o", "json", *given, text=CLUSTER)

    report = json.loads(told.stdout)
    assert told.exit_code == 0
    assert "rejected due to timeout after waiting 30s" in report["pods"][0]["message"]
    assert report["pods"][0]["score"] is None
    assert [node["pods"] for node in report["nodes"]] == [0]
    assert report["pods"][0]["state"] == "pending"


def test_a_pod_that_is_never_made_ready_does_not_keep_a_run_going(tmp_path: Path) -> None:
    never = "from moorage import unschedulable; return unschedulable('its disk is not there')"
    (tmp_path / "bad.py").write_text(source("pre_bind", never))
    (tmp_path / "conf.yaml").write_text(configuration("pre_bind"))
    given = ("--config", str(tmp_path / "conf.yaml"), "--plugin", str(tmp_path / "bad.py"))

    told = simulate(tmp_path, "-o", "json", *given, text=CLUSTER)

    assert told.exit_code == 1
    assert json.loads(told.stdout)["pods"][0]["message"] == "its disk is not there"
    assert "the run was ended" in told.stderr


@pytest.mark.parametrize("hook", ["pre_enqueue", "filter", "reserve", "pre_bind"])
def test_what_a_plugin_prints_does_not_corrupt_data(tmp_path: Path, hook: str) -> None:
    (tmp_path / "bad.py").write_text("print('loaded')\n" + source(hook, "print('called')"))
    (tmp_path / "conf.yaml").write_text(configuration(hook))
    (tmp_path / "all.yaml").write_text(CLUSTER)

    told = moorage(
        *("simulate", tmp_path / "all.yaml", "-o", "json"),
        *("--config", tmp_path / "conf.yaml", "--plugin", tmp_path / "bad.py"),
    )

    assert json.loads(told.stdout)["pods"][0]["node"] == "a"
    assert "called" in told.stderr


def test_a_plugin_that_no_profile_names_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(source("filter", "return None"))

    told = simulate(tmp_path, "--plugin", str(tmp_path / "bad.py"))

    assert "no profile names Bad, so it has no effect" in told.stderr


def test_input_without_nodes_or_objects_is_said(tmp_path: Path) -> None:
    assert "there is no Node" in simulate(tmp_path, text=CLUSTER.split("---")[1]).stderr
    empty = simulate(tmp_path, text="# nothing\n")
    assert (empty.exit_code, "all.yaml: empty" in empty.stderr) == (2, True)


def test_what_if_there_were_more_nodes(tmp_path: Path) -> None:
    more = ("--add-node", f"3={tmp_path / 'node.yaml'}", "-o", "json")

    told = json.loads(simulate(tmp_path, *more, text=f"{CLUSTER}---{WORKLOADS}").stdout)

    assert [node["name"] for node in told["nodes"]] == ["a", "pool-1", "pool-2", "pool-3"]
    assert sum(pod["node"].startswith("pool") for pod in told["pods"]) >= 3


def test_what_if_a_node_were_drained(tmp_path: Path) -> None:
    bound = CLUSTER.replace("spec: {containers", "spec: {nodeName: a, containers")

    told = json.loads(simulate(tmp_path, "--drain", "a", "-o", "json", text=bound).stdout)

    assert (told["pods"][0]["node"], told["nodes"][0]["unschedulable"]) == ("", True)


def test_what_if_a_workload_were_scaled(tmp_path: Path) -> None:
    text = f"{CLUSTER}---{WORKLOADS}"

    told = simulate(tmp_path, "--scale", "deployment/big=2", "-o", "json", text=text)

    assert len(json.loads(told.stdout)["pods"]) == 6


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--add-node", "three", "write COUNT=FILE"),
        ("--add-node", "3=nowhere.yaml", "nowhere.yaml: no such file"),
        ("--drain", "z", "there is no such node"),
        ("--scale", "deployment/none=2", "there is no such workload"),
        ("--scale", "service/x=2", "KIND of deployment"),
        (
            "--scale",
            "deployment/none=99999999999",
            "--scale deployment/none=99999999999: too many: "
            "at most 2,000,000 pods of a workload are held in memory",
        ),
        ("--scale", f"deployment/none={'9' * 5000}", "at most 2,000,000 pods"),
        ("--add-node", "99999999999=a", "--add-node 99999999999=a: too many: at most 200,000"),
        ("--node", "z", "there is no such node"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, option: str, value: str, said: str) -> None:
    told = simulate(tmp_path, option, value)

    assert (told.exit_code, said in told.stderr) == (2, True), told.stderr


def test_under_80_columns_nothing_is_lost_and_no_colour_is_written(tmp_path: Path) -> None:
    long = "a-name-that-is-much-longer-than-a-terminal-of-forty-columns-would-have-it"
    text = CLUSTER.replace("name: web", f"name: {long}")
    env = {"COLUMNS": "40", "NO_COLOR": "1", "FORCE_COLOR": ""}

    told = simulate(tmp_path, text=text, **env)

    assert "would-have-it" in told.stdout.replace("\n", "").replace(" ", "")
    assert "…" not in told.stdout
    assert "\x1b[" not in told.stdout


def test_an_encoding_without_our_signs_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(CLUSTER)

    told = shell("moorage simulate $FILE", FILE=tmp_path / "all.yaml", PYTHONIOENCODING="latin-1")

    assert told.returncode == 0, told.stderr
    assert "##........" not in told.stderr
    assert "##" in told.stdout


def test_a_quota_that_no_profile_reads_is_said(tmp_path: Path) -> None:
    quota = """---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: q}
spec: {min: {cpu: "1"}, max: {cpu: "2"}}
"""
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: CapacityScheduling}]}}}]\n"
    )

    silent = simulate(tmp_path, text=CLUSTER + quota)
    heeded = simulate(tmp_path, "--config", str(config), text=CLUSTER + quota)

    assert "ElasticQuota: 1 given, and no profile reads them" in silent.stderr
    assert "no profile reads them" not in heeded.stderr
    assert heeded.exit_code == 0, heeded.output
