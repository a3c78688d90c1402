"""One short run of chaos: nothing is violated, and a lot has gone wrong meanwhile."""

from pathlib import Path

import pytest

from tests.chaos.run import run
from tests.integration.control_plane import MISSING, assets

pytestmark = pytest.mark.kube

SEED, SECONDS = 3, 25.0


def test_two_replicas_through_a_run_of_faults(tmp_path: Path) -> None:
    programs = assets()
    if programs is None:
        pytest.skip(MISSING)

    report = run(programs, tmp_path, SEED, SECONDS)

    assert not report.violations, report.text()
    assert len(report.faults) >= 8, report.text()
    assert report.checker.binds >= 100, report.text()
