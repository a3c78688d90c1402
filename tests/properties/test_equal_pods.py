"""A plugin that promises to say the same of equal pods keeps the promise.

What it says of a pod, and of one that differs in name, uid and annotations, and in those labels
that it says it does not go by.
"""

from collections import Counter
from collections.abc import Collection, Mapping

import msgspec
import numpy as np
import pytest

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.cycle import filtering
from moorage.cycle.profile import FilterEntry, Profile
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import Plugin
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
    seen: Counter[str] = Counter()
    profile = alone(plugin)
    for number in range(CASES):
        case, _ = draw(plugin, number)
        other, _ = draw(plugin, number, "twin")
        world = World(case, profile)
        assert isinstance(world.pod, Pod)
        twin = _twin(world, decode(other["pod"], "pods"), profile.plugins[plugin], profile)
        mine, its = _verdicts(world, profile, world.pod), _verdicts(world, profile, twin)
        assert mine == its, f"case {number}"
        seen["refused"] += mine is not None and any(mine)
        seen["other labels"] += twin.labels != world.pod.labels

    assert seen["refused"] >= 5
    assert seen["other labels"] >= 5


def _twin(world: World, other: KubeObject, plugin: Plugin, profile: Profile) -> Pod:
    """Another pod, with the labels that count."""
    assert isinstance(other, Pod)
    assert isinstance(world.pod, Pod)
    twin, labels = twin_of(world.pod, other), dict(other.labels)
    if plugin.reads_labels:
        keys = _label_keys(world, plugin, profile)
        counting = world.pod.labels if keys is None else _restricted(world.pod.labels, keys)
        others = {} if keys is None else {k: v for k, v in labels.items() if k not in keys}
        labels = {**others, **counting}
    metadata = msgspec.structs.replace(twin.metadata, labels=labels)
    return msgspec.structs.replace(twin, metadata=metadata)


def _restricted(labels: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key in keys}


def _label_keys(world: World, plugin: Plugin, profile: Profile) -> frozenset[str] | None:
    assert isinstance(world.pod, Pod)
    cycle = _cycle(world, profile, world.pod)
    try:
        if plugin.plugin_name() not in {entry.name for entry in _active(profile, cycle)}:
            return None
    except PluginError:
        return None
    keys = plugin.label_keys(cycle)
    return None if keys is None else frozenset(keys)


def _active(profile: Profile, cycle: Cycle) -> list[FilterEntry]:
    outcome = filtering.Filtering(cycle)
    filtering.pre_filter(profile, cycle, outcome)
    return outcome.active


def _cycle(world: World, profile: Profile, pod: Pod) -> Cycle:
    info = world.cache.info(pod)
    return Cycle(world.cache, info, shared=profile.shared)


def _verdicts(world: World, profile: Profile, pod: Pod) -> list[str] | None:
    """What is said of each node; None where the attempt fails."""
    cycle = _cycle(world, profile, pod)
    try:
        found = filtering.run(profile, cycle)
        diagnosis = filtering.diagnose(profile, cycle, found)
    except PluginError:
        return None
    if diagnosis.pre_filter is not None:
        return [diagnosis.pre_filter.message]
    rows = np.flatnonzero(world.cache.table.alive[: world.cache.table.rows]).tolist()
    return [why.message if (why := diagnosis.rejection(row)) else "" for row in rows]
