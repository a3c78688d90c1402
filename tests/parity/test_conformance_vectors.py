"""The conformance vectors come out as they are written, where they are at hand."""

import gzip
import json
from pathlib import Path

import pytest

from tests.differential.comparing import differences
from tests.differential.ours import Ours

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "conformance"
SUITES = (
    "images",
    "interpod",
    "mixed",
    "nodeaffinity",
    "nodename",
    "ports",
    "preemption",
    "profiles",
    "resources",
    "scoring_config",
    "spread",
    "spread_default",
    "taints",
    "volumes",
)


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_comes_out_as_kube_scheduler_decided(suite: str) -> None:
    """Scalar resources that are short are compared as a set: Go tells them in random order."""
    path = FOLDER / f"{suite}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"NO CONFORMANCE VECTORS: {path} is not there, so this suite was not checked")
    with gzip.open(path, "rt") as lines:
        rows = [json.loads(line) for line in lines]

    got = Ours().ask([row["case"] for row in rows])

    found = {
        row["case"]["id"]: differences(row["expect"], answer)
        for row, answer in zip(rows, got, strict=True)
    }
    assert {name: differing for name, differing in found.items() if differing} == {}
