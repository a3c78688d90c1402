"""Every function that selectors may call, by kube-scheduler's own word."""

import pytest

from tests.differential import selectors
from tests.differential.oracle import PROGRAM, Oracle
from tests.differential.ours import Ours
from tests.integration.control_plane import MISSING

pytestmark = pytest.mark.kube


def test_selectors_are_worth_what_kube_scheduler_says() -> None:
    if not PROGRAM.exists():
        pytest.skip(MISSING)
    cases = [selectors.case(each) for each in selectors.expressions()]

    with Oracle() as oracle:
        wanted = oracle.ask(cases)
    ours = Ours().ask(cases)

    differing = {
        case["id"]: (selectors.outcome(want), selectors.outcome(got))
        for case, want, got in zip(cases, wanted, ours, strict=True)
        if selectors.outcome(want) != selectors.outcome(got)
    }
    assert not differing
