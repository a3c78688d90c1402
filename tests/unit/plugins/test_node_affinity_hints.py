"""NodeAffinity: which changes of nodes let a refused pod try again."""

import msgspec
import pytest

from moorage.api.affinity import NodeAffinity as NodeAffinitySpec
from moorage.api.node import Node
from moorage.framework.events import Hint
from moorage.plugins.node_affinity import NodeAffinity
from moorage.testing import node, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
POOL = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]}
ENFORCING = NodeAffinity(
    added_affinity=msgspec.convert({REQUIRED: {"nodeSelectorTerms": [POOL]}}, NodeAffinitySpec)
)


def labelled(**labels: str) -> Node:
    return node("n").labelled(labels).build()


@pytest.mark.parametrize(
    ("plugin", "selector", "old", "new", "want"),
    [
        pytest.param(
            NodeAffinity(), {"disk": "ssd"}, labelled(), labelled(disk="ssd"), Hint.QUEUE,
            id="the node is one that the pod asks for, by now",
        ),
        pytest.param(
            NodeAffinity(), {"disk": "ssd"}, labelled(disk="ssd"), labelled(disk="ssd", a="b"),
            Hint.SKIP, id="the node was one before",
        ),
        pytest.param(
            ENFORCING, {}, labelled(), labelled(pool="x"), Hint.QUEUE,
            id="the node is one that the profile asks for, by now",
        ),
        pytest.param(
            ENFORCING, {"disk": "ssd"}, labelled(disk="ssd"), labelled(disk="ssd", pool="x"),
            Hint.QUEUE, id="only the profile asked for more",
        ),
        pytest.param(
            ENFORCING, {}, labelled(pool="x"), labelled(pool="x", a="b"), Hint.SKIP,
            id="nobody asked for more",
        ),
        pytest.param(
            ENFORCING, {}, None, labelled(), Hint.SKIP, id="a new node that is not for the profile"
        ),
    ],
)  # fmt: skip
def test_a_node_that_comes_or_is_labelled(
    plugin: NodeAffinity, selector: dict[str, str], old: Node | None, new: Node, want: Hint
) -> None:
    (registered,) = plugin.events()
    refused = pod("p").with_spec(nodeSelector=selector).build()

    assert registered.hint is not None
    assert registered.hint(refused, old, new) is want
