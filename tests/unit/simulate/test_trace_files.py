"""Tables of nodes and pods: what they may say, and one clear line where they are wrong."""

import gzip
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.api.taints import Taint, Toleration
from moorage.cli.main import main
from moorage.simulate import trace_files
from moorage.simulate.pod_template import GPU, GPU_MILLI, GPU_MODEL_LABEL
from tests.unit.simulate.scenarios import write_tables

NODES = "name,cpu,memory\nn,4,8Gi\n"
PODS = "name,arrival_s,duration_s,cpu\np,0,10,1\n"


def test_a_row_with_a_count_is_that_many_nodes(tmp_path: Path) -> None:
    file = tmp_path / "nodes.csv"
    file.write_text(
        "name,cpu,memory,pods,gpu,gpu_model,price_per_hour,labels,taints,count\n"
        "big,32,128Gi,200,8,A100,12.5,zone=a;team=ml,dedicated=ml:NoSchedule,2\n"
        "small,4,8Gi,,,,,,,\n"
    )

    found = trace_files.read_nodes(str(file), shares_gpus=True)

    first = found[0].node
    assert [each.node.name for each in found] == ["big-0", "big-1", "small"]
    assert first.status.allocatable == {
        "cpu": "32", "memory": "128Gi", "pods": "200", GPU: "8", GPU_MILLI: "8000",
    }  # fmt: skip
    assert first.labels["team"] == "ml"
    assert first.labels[GPU_MODEL_LABEL] == "A100"
    assert first.taints == (Taint(key="dedicated", value="ml", effect="NoSchedule"),)
    assert (found[0].price_per_hour, found[2].price_per_hour) == (12.5, 0.0)
    assert found[2].node.status.allocatable["pods"] == "110"


def _through_a_pipe(content: bytes, arguments: list[str]) -> Result:
    """Run the command with `PIPE` in its arguments replaced by a pipe that holds the content."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    try:
        named = [f"/dev/fd/{reading}" if each == "PIPE" else each for each in arguments]
        return CliRunner().invoke(main, ["simulate", *named, "-o", "json"])
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(PODS.encode(), id="CSV"),
        pytest.param(gzip.compress(PODS.encode()), id="CSV that is compressed"),
        pytest.param(PODS.encode("utf-16"), id="CSV in UTF-16"),
    ],
)
def test_a_table_may_come_out_of_a_pipe(tmp_path: Path, content: bytes) -> None:
    nodes, pods = tmp_path / "nodes.csv", tmp_path / "pods.csv"
    nodes.write_text(NODES)
    pods.write_text(PODS)

    piped = _through_a_pipe(content, ["--nodes", str(nodes), "--pods", "PIPE"])
    filed = _through_a_pipe(b"", ["--nodes", str(nodes), "--pods", str(pods)])

    assert (piped.exit_code, piped.stderr) == (0, "")
    assert json.loads(piped.stdout)["kpis"] == json.loads(filed.stdout)["kpis"]


@pytest.mark.parametrize("piped", [False, True], ids=["a file", "a pipe"])
def test_a_compressed_table_is_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piped: bool
) -> None:
    rows = PODS + "".join(f"more-{number},,,\n" for number in range(20_000))
    packed = gzip.compress(rows.encode())
    nodes, pods = tmp_path / "nodes.csv", tmp_path / "pods.csv.gz"
    nodes.write_text(NODES)
    pods.write_bytes(packed)
    monkeypatch.setattr("moorage.simulate.trace_table.MOST_UNPACKED", 100_000)

    named = ["--nodes", str(nodes), "--pods", "PIPE" if piped else str(pods)]
    refused = _through_a_pipe(packed if piped and len(packed) < 60_000 else b"", named)

    assert len(packed) < 60_000 < 100_000 < len(rows)
    assert refused.exit_code == 2
    assert "holds more than 100,000 bytes: decompress it first" in refused.stderr


def test_a_table_may_come_from_standard_input(tmp_path: Path) -> None:
    pods = tmp_path / "pods.csv"
    pods.write_text(PODS)
    line = ["simulate", "--nodes", "-", "--pods", str(pods), "-o", "json"]

    done = CliRunner().invoke(main, line, input=NODES)
    wrong = CliRunner().invoke(main, line, input="name,cpus\nn,4\n")
    both = CliRunner().invoke(main, ["simulate", "--nodes", "-", "--pods", "-"], input=NODES)

    assert done.exit_code == 0
    assert json.loads(done.stdout)["kpis"]["pods"] == 1
    assert wrong.exit_code == both.exit_code == 2
    assert "standard input: unknown column 'cpus'; did you mean \"cpu\"?" in wrong.stderr
    assert "standard input can be read once" in both.stderr


def test_every_column_of_a_pod_counts(tmp_path: Path) -> None:
    file = tmp_path / "pods.csv"
    file.write_text(
        "name,arrival_s,duration_s,cpu,memory,gpu,gpu_milli,gpu_model,priority,namespace,group,"
        "min_member,labels,node_selector,tolerations\n"
        "late,9,,1,1Gi,1,500,A100|H100,100,ml,job,2,app=train,zone=a,dedicated=ml:NoSchedule;x\n"
        "early,1,5,500m,,2,,,,,,,,,\n"
    )

    early, late = trace_files.read_pods(str(file))

    spec = late.template.spec
    assert (early.name, early.time, early.duration) == ("early", 1.0, 5.0)
    assert early.template.requests == {"cpu": 500.0, GPU: 2.0, GPU_MILLI: 2000.0}
    assert late.duration is None
    assert late.template.requests == {"cpu": 1000.0, "memory": 2.0**30, GPU_MILLI: 500.0}
    assert (late.group, late.min_member, late.template.namespace) == ("job", 2, "ml")
    assert late.template.labels == {"app": "train"}
    assert (spec.priority, spec.node_selector) == (100, {"zone": "a"})
    assert spec.tolerations == (
        Toleration(key="dedicated", value="ml", effect="NoSchedule"),
        Toleration(key="x", operator="Exists"),
    )
    assert spec.affinity is not None
    assert (late.template.kind.cls, early.template.kind.cls) == ("shared-gpu", "2-gpu")


@pytest.mark.parametrize(
    ("nodes", "pods", "line"),
    [
        pytest.param(
            "name,cpus\nn,4\n", PODS, "unknown column 'cpus'; did you mean \"cpu\"?", id="column"
        ),
        pytest.param(NODES, "name,duration_s\np,-5\n", "pods.csv:2: duration_s: -5 is negative",
                     id="negative duration"),
        pytest.param(NODES, "name,arrival_s,end_s\np,10,5\n",
                     "the pod ends at 5, before it starts at 10", id="ends before it starts"),
        pytest.param("name,cpu\n", PODS, "no nodes: a cluster without nodes", id="no nodes"),
        pytest.param("name,cpu,count\nn,4,0\n", PODS, "no nodes", id="a count of zero"),
        pytest.param("name,cpu,count\nn,4,99999999999\n", PODS,
                     "nodes.csv:2: count: too many: at most 200,000 nodes of a row",
                     id="a count beyond what is held in memory"),
        pytest.param("", PODS, "nodes.csv: is empty", id="an empty file"),
        pytest.param(NODES, "name,cpu\n", "pods.csv: no pods", id="no pods"),
        pytest.param(NODES, "name,cpu\np,many\n", "pods.csv:2: cpu: 'many' is not a quantity",
                     id="no quantity"),
        pytest.param(NODES, "name,cpu\np,1\np,1\n", "pod default/p is there twice", id="twins"),
        pytest.param("name,cpu,taints\nn,1,gpu\n", PODS, "'gpu' is not key=value:Effect",
                     id="a taint without effect"),
        pytest.param(NODES, "name,arrival_s\np,nan\n", "'nan' is not a finite number", id="nan"),
        pytest.param(NODES, "name,cpu\np,1,2,3\n", "4 cells for 2 columns", id="too many cells"),
        pytest.param(NODES, "name,min_member\np,3\n", "the pod is in no group", id="no group"),
    ],
)  # fmt: skip
def test_one_clear_line(tmp_path: Path, nodes: str, pods: str, line: str) -> None:
    tables = write_tables(tmp_path, nodes, pods)

    told = CliRunner().invoke(main, ["compare", *tables, "--seeds", "1", "-o", "json"])

    assert told.exit_code == 2
    assert line in told.stderr
    assert len(told.stderr.splitlines()) == 1
    assert told.stdout == ""


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    told = CliRunner().invoke(main, ["simulate", "--nodes", "nowhere.csv", "--pods", "x.csv"])

    assert told.exit_code == 2
    assert "no such file" in told.stderr


@pytest.mark.parametrize("seeds", ["0", "x", "5-1", "1,1"])
def test_seeds_that_are_none(tmp_path: Path, seeds: str) -> None:
    tables = write_tables(tmp_path, NODES, PODS)

    told = CliRunner().invoke(main, ["compare", *tables, "--seeds", seeds])

    assert told.exit_code == 2
    assert "--seeds" in told.stderr
