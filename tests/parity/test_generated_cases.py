"""Generated cases come out as they did in kube-scheduler."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential import room
from tests.differential.comparing import differences
from tests.differential.features import FEATURES
from tests.differential.kept import Kept
from tests.differential.ours import Ours
from tests.differential.words import Json

FOLDER = Path(__file__).parent
FOUND = "found"
"""Cases in which Moorage once differed, shrunk to what the difference needed."""


def saved(feature: str) -> Iterator[Json]:
    with gzip.open(FOLDER / f"{feature}.jsonl.gz", "rt") as lines:
        yield from map(json.loads, lines)


@pytest.mark.parametrize(
    "ours", [pytest.param(Ours(), id="at first sight"), pytest.param(Kept(), id="from kept state")]
)
@pytest.mark.parametrize("feature", [*FEATURES, FOUND, room.NAME])
def test_cases_of_a_feature_come_out_as_in_kube_scheduler(feature: str, ours: Ours) -> None:
    """Every verdict, score, message and victim is the same, and so is what fails."""
    rows = list(saved(feature))
    got = ours.ask([row["case"] for row in rows])

    found = {
        row["case"]["id"]: differences(row["expect"], answer)
        for row, answer in zip(rows, got, strict=True)
    }

    assert len(rows) >= 3
    assert {name: differing for name, differing in found.items() if differing} == {}
