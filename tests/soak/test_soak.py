"""A few seconds of churn: every pod is bound, and what a process holds is seen."""

import pytest

from tests.integration.control_plane import MISSING, assets
from tests.soak.__main__ import soak
from tests.soak.scenarios import SCENARIOS

pytestmark = pytest.mark.kube


def test_pods_come_and_go_at_a_rate() -> None:
    programs = assets()
    if programs is None:
        pytest.skip(MISSING)
    size = SCENARIOS["churn"][1]._replace(minutes=0.2, rate=20, nodes=10, pods=50)

    found = soak(programs, "churn", size, every=1.0)

    assert found["bound"] == found["created"] > 100, found
    assert found["deleted"] > 0
    assert found["events_sent"] > found["events_dropped"] == 0, found
    assert found["samples"] > 5
    assert found["tasks"]["from"] > 5, found
    assert found["sockets"]["from"] > 2, found
    assert "traceback" not in found["verdict"]
