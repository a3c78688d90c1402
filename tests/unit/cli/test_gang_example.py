"""examples/gangs ends as its README says, whatever the seed."""

from pathlib import Path

import pytest
import yaml

from tests.unit.cli.test_examples import EXAMPLES, SEEDS, Pods, places, run

FOLDER = EXAMPLES / "gangs"


def running(pods: Pods, job: str) -> int:
    named = [pod for name, pod in pods.items() if name.startswith(f"ml/{job}")]
    return sum(bool(pod["node"]) for pod in named)


@pytest.mark.parametrize("seed", SEEDS)
def test_of_two_jobs_that_cannot_both_run_one_runs_whole(seed: int) -> None:
    pods = run("gangs", seed)

    first, second = sorted(("vision", "speech"), key=lambda job: -running(pods, job))
    assert (running(pods, first), running(pods, second)) == (12, 0)
    assert places(pods, f"ml/{first}") == {"a-1", "a-2", "a-3"}
    assert places(pods, "ml/tuning") <= {"b-1", "b-2"}
    assert running(pods, "tuning") == 4
    assert pods["ml/notebook"]["node"]
    waiting = [pod for name, pod in pods.items() if name.startswith(f"ml/{second}")]
    (message,) = {pod["message"] for pod in waiting if pod["message"]}
    assert message.startswith(f"PodGroup ml/{second}: ")
    assert "of the 12 pods needed fit in example.com/rack=" in message


def test_without_groups_both_run_in_part(tmp_path: Path) -> None:
    config = yaml.safe_load((FOLDER / "scheduler.yaml").read_text())
    config["profiles"][0]["pluginConfig"][0]["args"] = {"enabled": False}
    off = tmp_path / "scheduler.yaml"
    off.write_text(yaml.safe_dump(config))

    pods = run("gangs", 0, off)

    assert 0 < running(pods, "vision") < 12 or 0 < running(pods, "speech") < 12


def test_the_readme_says_how_to_run_it() -> None:
    given = "examples/gangs/cluster examples/gangs/workloads --config examples/gangs/scheduler.yaml"

    assert f"moorage simulate {given}\n" in (FOLDER / "README.md").read_text()
