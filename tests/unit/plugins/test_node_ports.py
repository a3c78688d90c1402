"""NodePorts: a few rows are looked up one by one, many at once, with the same verdicts."""

from collections.abc import Callable

import numpy as np
import pytest

from moorage.cache.node_view import Nodes
from moorage.plugins.node_ports import FEW_ROWS, NodePorts
from moorage.testing import Cluster, PodBuilder, node, pod

NODES = 2 * FEW_ROWS


def crowded() -> Cluster:
    """Every third node has a port taken, every fifth another one on an address of its own."""
    names = [f"n{number}" for number in range(NODES)]
    web = [pod(f"web-{name}").listening(80).on(name) for name in names[::3]]
    dns = [pod(f"dns-{name}").listening(53, "UDP", "10.0.0.1").on(name) for name in names[::5]]
    return Cluster(*map(node, names), *web, *dns)


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        pytest.param(pod("p").listening(80), lambda row: row % 3 == 0, id="one port"),
        pytest.param(pod("p").listening(53, "UDP"), lambda row: row % 5 == 0, id="any address"),
        pytest.param(pod("p").listening(53, "UDP", "10.0.0.2"), lambda row: False, id="another"),
        pytest.param(
            pod("p").listening(80).listening(53, "UDP"),
            lambda row: row % 3 == 0 or row % 5 == 0,
            id="either of two",
        ),
    ],
)
def test_few_rows_get_the_verdicts_of_many(
    asked: PodBuilder, refused: Callable[[int], bool]
) -> None:
    cluster = crowded()
    cycle = cluster.cycle(asked)
    table = cycle.table
    many = np.zeros(table.rows, dtype=np.int32)
    NodePorts().filter_all(cycle, cycle.pod, Nodes.all(table), many)

    few = np.zeros(table.rows, dtype=np.int32)
    for rows in np.array_split(np.arange(table.rows), table.rows // FEW_ROWS + 1):
        part = np.zeros(len(rows), dtype=np.int32)
        NodePorts().filter_all(cycle, cycle.pod, Nodes.some(table, rows.tolist()), part)
        few[rows] = part

    wanted = [int(refused(int(table.node(row).name[1:]))) for row in range(table.rows)]
    assert few.tolist() == many.tolist() == wanted
