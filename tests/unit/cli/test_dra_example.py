"""examples/dra ends as its README says, whatever the seed."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main

ROOT = Path(__file__).parents[3]
GIVEN = [str(ROOT / "examples/dra/cluster"), str(ROOT / "examples/dra/workloads")]


@pytest.mark.parametrize("seed", ["1", "2"])
def test_every_pod_gets_the_devices_it_asks_for_but_one(seed: str) -> None:
    told = CliRunner().invoke(main, ["simulate", *GIVEN, "--seed", seed])

    assert told.exit_code == 0
    assert "unknown field" not in told.output
    where = {
        line.split()[1]: line.split()[2]
        for line in told.output.splitlines()
        if line[:8] == "default "
    }
    assert where["notebook-0"] == where["notebook-1"] == "a100-0"
    assert where["trainer"] == "h100-0"
    assert where["server"] == where["sidekick"]
    assert where["old-style"] in ("a100-0", "h100-0")
    assert where["dreamer"] == "pending"


def test_the_claim_that_is_not_met_is_explained_by_its_selector() -> None:
    told = CliRunner().invoke(main, ["explain", *GIVEN, "--pod", "default/dreamer"])

    assert "fail selector #0" in told.output
    assert "nearest is gpu.example.com/" in told.output
