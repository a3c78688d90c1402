"""What one policy says of every node, asked of its hooks directly.

Every answer is asked for three times, about all nodes at once, about some and about each alone: a
rule must say the same of a node however many others it is asked about.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.node_view import Nodes
from moorage.config import strict_decoder
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import Plugin
from moorage.framework.points import Filter, Score
from moorage.testing import Cluster, PodBuilder

Asking = Pod | PodBuilder


def faults(policy: type[Plugin], **given: Any) -> list[str]:
    """What a policy says is wrong with arguments, all others being left out."""
    whole = strict_decoder.encode(policy())
    for name, value in given.items():
        nested = isinstance(value, dict) and isinstance(whole[name], dict)
        whole[name] = {**whole[name], **value} if nested else value
    return policy.check(whole)


def world(plugin: Plugin, *objects: Any) -> Cluster:
    """A cluster whose only rule is the plugin's."""
    return Cluster(*objects, plugins=[plugin], alone=True)


def plugin_of(cluster: Cluster) -> Any:
    (plugin,) = [p for p in cluster.profile.plugins.values() if "policies" in type(p).__module__]
    return plugin


def scores(cluster: Cluster, pod: Asking, now: float = 0.0) -> dict[str, int]:
    """Every node's score, feasible or not."""
    cycle = at(cluster, pod, now)
    plugin: Score = plugin_of(cluster)
    out = _consistent(cycle, plugin.score_all, np.int64)
    plugin.normalize(cycle, cycle.pod, Nodes.all(cycle.table), out)
    return _named(cycle, out)


def refusals(cluster: Cluster, pod: Asking, now: float = 0.0) -> dict[str, str]:
    """The reasons of the nodes that are refused."""
    cycle = at(cluster, pod, now)
    plugin: Filter = plugin_of(cluster)
    codes = _consistent(cycle, plugin.filter_all, np.int32)
    return {
        name: plugin.rejection(cycle, cycle.pod, code).message
        for name, code in _named(cycle, codes).items()
        if code
    }


def at(cluster: Cluster, pod: Asking, now: float) -> Cycle:
    """A cycle at a point in time."""
    cycle = cluster.cycle(pod)
    cycle.now = now
    return cycle


def _consistent(cycle: Cycle, hook: Any, dtype: type[np.generic]) -> NDArray[Any]:
    table = cycle.table
    out: NDArray[Any] = np.zeros(table.rows, dtype=dtype)
    hook(cycle, cycle.pod, Nodes.all(table), out)
    views = [[row] for row in range(table.rows)] + [list(range(table.rows))[::-2]]
    for rows in views:
        part: NDArray[Any] = np.zeros(len(rows), dtype=dtype)
        hook(cycle, cycle.pod, Nodes.some(table, rows), part)
        assert part.tolist() == out[rows].tolist()
    return out


def _named(cycle: Cycle, values: NDArray[Any]) -> dict[str, int]:
    return {name: int(values[row]) for name, row in sorted(cycle.table.row_of.items())}
