"""parallelism changes no decision; percentageOfNodesToScore changes how many nodes are scored."""

from typing import Any

import pytest

from moorage.app import built_in_plugins
from moorage.app.profile_builder import build_profiles
from moorage.cache.cache import Cache
from moorage.config.loader import load
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision
from moorage.framework.cycle import Cycle
from moorage.testing import node, pod


def decide(**settings: Any) -> Decision:
    """One attempt at 300 nodes, by a whole configuration."""
    raw = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    known = built_in_plugins.installed()
    loaded = load({**raw, **settings}, known=built_in_plugins.describe_plugins(known))
    (profile,) = build_profiles(loaded.configuration, known).values()
    cache = Cache()
    for index in range(300):
        cache.put_node(node(f"n{index:03}").offering(cpu=str(4 + index % 7)).build())
    asking = cache.info(pod("web").requesting(cpu="1").build())
    decided = attempt.run(profile, Cycle(cache, asking), keep_scores=True)
    assert isinstance(decided, Decision)
    return decided


@pytest.mark.parametrize("parallelism", [1, 16, 64])
def test_parallelism_changes_no_decision(parallelism: int) -> None:
    assert decide(parallelism=parallelism).node == decide().node


@pytest.mark.parametrize(
    ("settings", "scored"),
    [
        pytest.param({}, 300, id="all nodes, unless told otherwise"),
        pytest.param({"percentageOfNodesToScore": 50}, 150, id="half of them"),
        pytest.param({"percentageOfNodesToScore": 0}, 144, id="as kube-scheduler chooses"),
        pytest.param(
            {"profiles": [{"percentageOfNodesToScore": 50}]}, 150, id="by the profile's own word"
        ),
    ],
)
def test_how_many_nodes_are_scored(settings: dict[str, Any], scored: int) -> None:
    found = decide(**settings).scoring

    assert found is not None
    assert found.nodes.count == scored
