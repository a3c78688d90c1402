"""Cases written by hand come out as written, here and in kube-scheduler."""

from collections.abc import Iterator

import pytest

from tests.differential.oracle import PROGRAM, Oracle
from tests.differential.ours import Ours
from tests.differential.words import Json
from tests.parity import writing

CASES = [pytest.param(entry, id=name) for name, entry in writing.written()]


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    if not PROGRAM.exists():
        pytest.skip("kube-scheduler's own decisions are not to be had: `make oracle` builds them")
    with Oracle() as running:
        yield running


@pytest.mark.parametrize("entry", CASES)
def test_moorage_decides_as_written(entry: Json) -> None:
    outcome = Ours().ask([writing.case(entry)])[0]

    assert outcome.get("error") is None
    assert writing.told(entry, outcome) == entry["want"]


@pytest.mark.kube
@pytest.mark.parametrize("entry", CASES)
def test_kube_scheduler_decides_as_written(entry: Json, oracle: Oracle) -> None:
    """What is written by hand is true."""
    outcome = oracle.ask([writing.case(entry)])[0]

    assert outcome.get("error") is None
    assert writing.told(entry, outcome) == entry["want"]
