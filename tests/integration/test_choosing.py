"""One rule, four ways: each example of docs/choosing.md runs, and all of them agree."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from tests.integration.control_plane import ControlPlane
from tests.integration.extending import condition, kube_scheduler, placed, serving

CHOOSING = Path(__file__).parents[2] / "examples" / "choosing"
RULE = f"--plugin={CHOOSING / 'rule.py'}"
WHY = "2 node(s) didn't match Pod's node affinity/selector, 2 node(s) were not for gold customers"


def simulate(pods: str, config: Path, *more: str) -> dict[str, dict[str, Any]]:
    given = [str(CHOOSING / "cluster.yaml"), str(CHOOSING / pods), "--config", str(config), *more]
    result = CliRunner().invoke(main, ["simulate", *given, "-o", "json"])
    assert result.exit_code == 0, result.output
    return {pod["name"]: pod for pod in json.loads(result.stdout)["pods"]}


def obeyed(pods: dict[str, dict[str, Any]]) -> None:
    assert pods["shop"]["node"] == "gold-new"
    assert not pods["report"]["node"]
    assert pods["report"]["message"].startswith(f"0/4 nodes are available: {WHY}.")


def at(folder: Path, port: int) -> Path:
    """The configuration of the extender's example, for an extender at another port."""
    text = (CHOOSING / "extender" / "scheduler.yaml").read_text()
    assert ":8888" in text
    file = folder / "scheduler.yaml"
    file.write_text(text.replace(":8888", f":{port}"))
    return file


def test_an_extender(tmp_path: Path) -> None:
    with serving(tmp_path, RULE, "--http") as extender:
        obeyed(simulate("pods.yaml", at(tmp_path, extender.port)))


def test_a_second_scheduler() -> None:
    config = CHOOSING / "second-scheduler" / "scheduler.yaml"

    obeyed(simulate("second-scheduler/pods.yaml", config, RULE))


def test_a_framework_plugin() -> None:
    obeyed(simulate("pods.yaml", CHOOSING / "framework-plugin" / "scheduler.yaml", RULE))


def test_a_build_of_ones_own() -> None:
    program = CHOOSING / "own-build" / "scheduler.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)

    lines = [line.split("\t") for line in done.stdout.splitlines()]
    pods = {
        name.removeprefix("default/"): {"node": "" if node == "waits" else node, "message": why}
        for name, node, why in lines[:-1]
    }
    obeyed(pods)
    assert lines[-1] == ["1 waiting: default/report"]


@pytest.mark.kube
@pytest.mark.timeout(240)
def test_a_stock_kube_scheduler_with_the_extender(plane: ControlPlane, tmp_path: Path) -> None:
    documents = [
        document
        for file in ("cluster.yaml", "pods.yaml")
        for document in yaml.safe_load_all((CHOOSING / file).read_text())
    ]
    for document in documents:
        if document["kind"] == "Pod":
            document["metadata"]["namespace"] = "default"
    with serving(tmp_path, RULE, "--http") as extender:
        config = yaml.safe_load(at(tmp_path, extender.port).read_text())
        with kube_scheduler(plane, tmp_path, *config["extenders"]):
            plane.create(*documents)
            assert placed(plane, "shop") == {"shop": "gold-new"}
            told = condition(plane, "report")

    assert told["message"].startswith(f"0/4 nodes are available: {WHY}.")
