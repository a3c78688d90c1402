"""The conformance vectors come out as they are written."""

import json
import lzma

import pytest

from tests.data import DATA
from tests.differential.comparing import differences
from tests.differential.ours import Ours

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
    with lzma.open(DATA / "conformance" / f"{suite}.jsonl.xz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    assert len(rows) == 120

    got = Ours().ask([row["case"] for row in rows])

    found = {
        row["case"]["id"]: differences(row["expect"], answer)
        for row, answer in zip(rows, got, strict=True)
    }
    assert {name: differing for name, differing in found.items() if differing} == {}
