"""`moorage simulate --serve`: a finished run on a dashboard, until Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import msgspec

from moorage.observe.decision_records import DecisionRecords
from moorage.simulate.scenario_run import run_scenario, run_scenario_observed
from tests.unit.cli.command import CLUSTER, ROOT
from tests.unit.simulate.scenarios import KUBE, nodes, random_arrivals, scenario


def view(url: str, path: str) -> Any:
    with urllib.request.urlopen(f"{url}api/{path}", timeout=30) as answer:
        return json.loads(answer.read())


def test_it_shows_the_cluster_as_it_ended_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    words = ["simulate", str(tmp_path / "cluster.yaml"), "--serve", "--http-port", "0"]
    running = subprocess.Popen(
        [sys.executable, "-m", "moorage", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        assert running.stderr is not None
        found = re.search(r"http://127.0.0.1:\d+/dashboard/", running.stderr.readline())
        assert found is not None
        url = found.group()
        about, cluster = view(url, "about"), view(url, "cluster")
        story = view(url, "pod/default/web?explain=1")
        running.send_signal(signal.SIGINT)
        code = running.wait(30)
        assert running.stdout is not None
        table = running.stdout.read()

    assert code == 0
    assert "1 of 1 pods placed" in table
    assert (about["mode"], about["live"]) == ("simulate", False)
    assert cluster["nodes"]["pods"] == [1]
    assert story["explanation"]["node"] == "a"


def test_a_scenario_comes_out_the_same_when_it_is_observed() -> None:
    played, records = scenario(nodes(3), random_arrivals(40, 7)), DecisionRecords()

    observed, scheduler = run_scenario_observed(played, KUBE, 5, (records,))

    assert msgspec.json.encode(observed) == msgspec.json.encode(run_scenario(played, KUBE, 5))
    assert records.count == scheduler.attempts > 40
