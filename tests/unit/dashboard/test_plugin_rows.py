"""Plugins that are not ours show their breaker, their deadline and what they failed of."""

import pytest

from moorage import Cycle, Filter, Node, Pod, Rejection
from moorage.config.durations import Duration
from moorage.config.moorage_configuration import PluginGuard
from moorage.dashboard.plugin_rows import plugin_rows
from moorage.framework.verdicts import PluginError
from moorage.testing import Cluster, node, pod

GUARD = PluginGuard(deadline=Duration.parse("50ms"), failure_threshold=2)


class Breaks(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        raise ValueError("boom")


def test_a_breaker_opens_after_so_many_failures() -> None:
    cluster = Cluster(node("a"), plugins=(Breaks(),), guard=GUARD)
    states = []
    for _ in range(2):
        with pytest.raises(PluginError):
            cluster.attempt(pod("web"))
        (row,) = (row for row in plugin_rows({"p": cluster.profile}, None) if row["custom"])
        states.append((row["breaker"], row["failures"]))

    assert states == [("closed", 1), ("open", 2)]
    assert row["name"] == "Breaks"
    assert row["deadline_ms"] == 50.0
    assert row["points"] == ["filter"]
    assert "boom" in row["last_failure"]
