"""Odd shells, odd disks, odd encodings: a command does its work, or says in a line why not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.cli.command import CLUSTER, ROOT, moorage, shell

NODES = "name,cpu,memory,count\nn,4,8Gi,2\n"
PODS = "name,arrival_s,duration_s,cpu,memory\nä,0,60,1,1Gi\n"


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        pytest.param(PODS.encode(), 0, "", id="UTF-8"),
        pytest.param(b"\xef\xbb\xbf" + PODS.encode(), 0, "", id="a byte order mark"),
        pytest.param(PODS.replace("\n", "\r\n").encode(), 0, "", id="ends of lines of Windows"),
        pytest.param(PODS.encode("utf-16"), 0, "", id="UTF-16, as spreadsheets write it"),
        pytest.param(PODS.encode("latin-1"), 2, "pods.csv: not in UTF-8", id="Latin-1"),
        pytest.param(PODS.replace(",", ";").encode(), 2, "separated by ';'", id="semicolons"),
    ],
)
def test_tables_as_others_write_them(tmp_path: Path, content: bytes, code: int, said: str) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "pods.csv").write_bytes(content)

    told = moorage("simulate", "--nodes", tmp_path / "nodes.csv", "--pods", tmp_path / "pods.csv")

    assert told.returncode == code, told.stderr
    assert said in told.stderr


def test_a_folder_of_junk_is_told_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(CLUSTER)
    (tmp_path / "noise.yaml").write_bytes(bytes(range(128, 256)))
    (tmp_path / "half.yml").write_text("not: [yaml")
    (tmp_path / "README.md").write_text("hello")
    (tmp_path / "turn").symlink_to(tmp_path / "turn")
    os.mkfifo(tmp_path / "pipe.yaml")

    told = moorage("simulate", tmp_path)

    assert told.returncode == 2
    said = sorted(line.split(":")[1].split("/")[-1] for line in told.stderr.splitlines())
    assert said == ["half.yml", "noise.yaml"]


@pytest.mark.long
@pytest.mark.parametrize(
    "line",
    [
        pytest.param("env -u HOME PYTHONPATH=$SRC $PY -m moorage simulate $FILE", id="no HOME"),
        pytest.param("env -i PYTHONPATH=$SRC $PY -m moorage simulate $FILE", id="no environment"),
        pytest.param("cd $GONE; rmdir $GONE; $PY -m moorage simulate $FILE", id="no folder"),
        pytest.param("LC_ALL=C PYTHONUTF8=0 $PY -m moorage simulate $FILE", id="the C locale"),
        pytest.param("TERM=dumb COLUMNS=1 $PY -m moorage simulate $FILE", id="one column"),
        pytest.param("umask 777; $PY -m moorage simulate $FILE", id="no permissions at all"),
        pytest.param("ulimit -n 16; $PY -m moorage simulate $FILE", id="few open files"),
        pytest.param("$PY -m moorage simulate $FILE <&-", id="no standard input"),
    ],
)
def test_odd_shells(tmp_path: Path, line: str) -> None:
    (tmp_path / "all.yaml").write_text(CLUSTER)
    (tmp_path / "gone").mkdir()

    told = shell(
        line,
        SRC=ROOT / "src",
        FILE=tmp_path / "all.yaml",
        GONE=tmp_path / "gone",
        PY=sys.executable,
    )

    assert (told.returncode, told.stderr) == (0, ""), told.stderr
    assert "web" in told.stdout.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run --kubeconfig $KUBE --write-config-to /dev/full", "no space left on device"),
        ("run --kubeconfig $KUBE --write-config-to /none/x", "no such file or directory"),
        ("plugin new Mine --dir /dev/full", "/dev/full"),
        ("simulate /dev/null", "/dev/null: empty"),
        ("simulate $FOLDER", "no manifests in this folder"),
        ("config check /dev/null", "/dev/null"),
        ("simulate $FILE --config $FILE", "KubeSchedulerConfiguration"),
    ],
)
def test_places_that_cannot_be_used_are_named(tmp_path: Path, words: str, said: str) -> None:
    (tmp_path / "all.yaml").write_text(CLUSTER)
    (tmp_path / "empty").mkdir()
    kubeconfig = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n"
    (tmp_path / "k").write_text(
        kubeconfig + "contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
    )

    told = shell(
        f"moorage {words}",
        FILE=tmp_path / "all.yaml",
        FOLDER=tmp_path / "empty",
        KUBE=tmp_path / "k",
    )

    assert told.returncode == 2, told.stderr
    assert said in told.stderr
    assert "Traceback" not in told.stderr


SLOW = """
import time
from moorage import Filter

{at_import}

class Slow(Filter, frozen=True):
    def __post_init__(self):
        {at_start}

    def filter(self, cycle, pod, node):
        {at_work}
"""
WAITS = "time.sleep(20)"


@pytest.mark.long
@pytest.mark.parametrize("phase", ["at_import", "at_start", "at_work"])
def test_ctrl_c_ends_it_at_once_wherever_it_is(tmp_path: Path, phase: str) -> None:
    phases = dict.fromkeys(("at_import", "at_start", "at_work"), "pass") | {phase: WAITS}
    (tmp_path / "slow.py").write_text("print('here', flush=True)\n" + SLOW.format(**phases))
    (tmp_path / "all.yaml").write_text(CLUSTER)
    (tmp_path / "conf.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: Slow}]}}}]\n---\n"
        "apiVersion: moorage/v1\nkind: MoorageConfiguration\npluginGuard: {deadline: 60s}\n"
    )
    words = ["simulate", "all.yaml", "--config", "conf.yaml", "--plugin", "slow.py"]
    process = subprocess.Popen(
        [sys.executable, "-m", "moorage", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in a terminal
    )
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=10)

    assert process.returncode == 130, said
    assert said.splitlines()[-1:] == ["error: interrupted"]
    assert "Traceback" not in said
