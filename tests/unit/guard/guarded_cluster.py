"""Two nodes and guarded plugins, for tests of what the guard makes of them."""

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from moorage import (
    Cycle,
    Filter,
    Node,
    Nodes,
    Pod,
    Rejection,
)
from moorage.config.durations import Duration
from moorage.config.moorage_configuration import PluginGuard
from moorage.framework.plugin import Plugin
from moorage.framework.verdicts import PluginError
from moorage.testing import Cluster, node, pod

SOON = PluginGuard(deadline=Duration.parse("50ms"))
LONG = 3600.0


def cluster(*plugins: Plugin, guard: PluginGuard = SOON) -> Cluster:
    return Cluster(node("a"), node("b"), plugins=plugins, guard=guard)


def complaint(plugin: Plugin, guard: PluginGuard = SOON) -> str:
    """What an attempt with the plugin fails of; the cache is as it was."""
    with pytest.raises(PluginError) as raised:
        cluster(plugin, guard=guard).attempt(pod("web"))
    return str(raised.value)


class Sleeps(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        time.sleep(LONG)
        return None


class SleepsOverAll(Filter, frozen=True):
    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        time.sleep(LONG)
