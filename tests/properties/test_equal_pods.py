"""A plugin that promises to say the same of equal pods keeps the promise.

What it says of a pod, and of one that differs in name, uid and annotations and, where it does not
read labels, in labels, too.
"""

import random
from collections import Counter

import msgspec
import numpy as np
import pytest

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.cycle import filtering
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import PluginError
from tests.properties.test_hints import CASES, THEMES, World, alone, decode, draw
from tests.properties.test_shared_hints import twin_of

PROMISING = sorted(name for name in THEMES if alone(name).plugins[name].same_for_equal_pods)


def test_those_that_refuse_most_pods_promise() -> None:
    assert {"InterPodAffinity", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread"} <= set(
        PROMISING
    )
    assert "VolumeBinding" not in PROMISING  # it goes by what is being bound


@pytest.mark.parametrize("plugin", PROMISING)
def test_equal_pods_are_refused_alike(plugin: str) -> None:
    seen: Counter[bool] = Counter()
    profile = alone(plugin)
    for number in range(CASES):
        case, _ = draw(plugin, number)
        other, _ = draw(plugin, number, "twin")
        world = World(case, profile)
        assert isinstance(world.pod, Pod)
        twin = _twin(world.pod, decode(other["pod"], "pods"), plugin, profile)
        mine, its = _verdicts(world, profile, world.pod), _verdicts(world, profile, twin)
        assert mine == its, f"case {number}"
        seen[mine is not None and any(mine)] += 1

    assert seen[True] >= 5


def _twin(pod: Pod, other: KubeObject, plugin: str, profile: Profile) -> Pod:
    assert isinstance(other, Pod)
    twin = twin_of(pod, other)
    if profile.plugins[plugin].reads_labels:
        metadata = msgspec.structs.replace(twin.metadata, labels=pod.labels)
        twin = msgspec.structs.replace(twin, metadata=metadata)
    return twin


def _verdicts(world: World, profile: Profile, pod: Pod) -> list[str] | None:
    """What is said of each node; None where the attempt fails."""
    cycle = Cycle(
        world.cache, world.cache.info(pod), random=random.Random(0), shared=profile.shared
    )
    try:
        found = filtering.run(profile, cycle)
        diagnosis = filtering.diagnose(profile, cycle, found)
    except PluginError:
        return None
    if diagnosis.pre_filter is not None:
        return [diagnosis.pre_filter.message]
    rows = np.flatnonzero(world.cache.table.alive[: world.cache.table.rows]).tolist()
    return [why.message if (why := diagnosis.rejection(row)) else "" for row in rows]
