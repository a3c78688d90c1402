"""A plugin that says what it goes by of a pod's volumes goes by nothing else of them.

What it says of a pod, and of one with claims of its own: the same as the other's under other names,
bound to volumes of their own, which are sometimes the same disk, and sometimes elsewhere. Where the
signs of both are equal so are the verdicts.
"""

import copy
from collections import Counter

import pytest

from moorage.api.pod import Pod
from moorage.cache.podinfo import like_but_claims
from moorage.framework.verdicts import PluginError
from tests.differential.dice import Dice
from tests.differential.words import Json
from tests.properties.test_equal_pods import _cycle, _verdicts
from tests.properties.test_hints import CASES, World, alone, decode, draw

PLUGINS = ("NodeVolumeLimits", "VolumeBinding", "VolumeRestrictions", "VolumeZone")
OWN = "-own"


def with_own_claims(case: Json, dice: Dice) -> Json:
    """A twin of the case's pod; its claims and volumes are added to the case."""
    twin: Json = copy.deepcopy(case["pod"])
    twin["metadata"] |= {"name": "twin", "uid": "twin"}
    wanted = set[str]()
    for volume in twin["spec"].get("volumes", ()):
        source = volume.get("persistentVolumeClaim")
        if source and dice.chance(0.9):
            wanted.add(source["claimName"])
            source["claimName"] += OWN
    volumes = set[str]()
    for claim in list(case.get("persistentVolumeClaims") or ()):
        if claim["metadata"]["name"] in wanted:
            made = _own(claim)
            if dice.chance(0.3):
                modes = dice.pick(case["persistentVolumeClaims"])["spec"]["accessModes"]
                made["spec"]["accessModes"] = modes
            if made["spec"].get("volumeName"):
                volumes.add(made["spec"]["volumeName"])
                made["spec"]["volumeName"] += OWN
            case["persistentVolumeClaims"].append(made)
    for volume in list(case.get("persistentVolumes") or ()):
        if volume["metadata"]["name"] in volumes:
            like = dice.pick(case["persistentVolumes"]) if dice.chance(0.3) else volume
            case["persistentVolumes"].append(_own_volume(volume, like, dice))
    return twin


def _own_volume(volume: Json, like: Json, dice: Dice) -> Json:
    """One that is bound like the first, and where the second is."""
    made = _own(volume)
    made["metadata"]["labels"] = like["metadata"].get("labels", {})
    made["spec"].pop("nodeAffinity", None)
    made["spec"] |= {k: v for k, v in like["spec"].items() if k == "nodeAffinity"}
    reference = made["spec"].get("claimRef")
    if reference:
        reference["name"] += OWN
    if "csi" in made["spec"]:
        made["spec"]["csi"]["driver"] = like["spec"].get("csi", made["spec"]["csi"])["driver"]
        made["spec"]["csi"]["volumeHandle"] += OWN if dice.chance(0.8) else ""
    return made


def _own(raw: Json) -> Json:
    made = copy.deepcopy(raw)
    made["metadata"]["name"] += OWN
    made["metadata"]["uid"] = made["metadata"]["name"]
    return made


@pytest.mark.parametrize("plugin", PLUGINS)
def test_pods_with_equal_signs_are_refused_alike(plugin: str) -> None:
    seen: Counter[str] = Counter()
    profile = alone(plugin)
    for number in range(2 * CASES):
        case, dice = draw(plugin, number)
        raw = with_own_claims(case, dice)
        world = World(case, profile)
        twin = decode(raw, "pods")
        assert isinstance(world.pod, Pod)
        assert isinstance(twin, Pod)
        mine, its = _verdicts(world, profile, world.pod), _verdicts(world, profile, twin)
        cycles = [_cycle(world, profile, pod) for pod in (world.pod, twin)]
        try:
            signs = [profile.plugins[plugin].volumes_sign(cycle) for cycle in cycles]
        except PluginError:
            continue
        specs = [like_but_claims(cycle.incoming.cls) for cycle in cycles]
        if world.pod.spec.volumes == twin.spec.volumes or signs[0] is None:
            continue
        assert specs[0] == specs[1]
        seen["other claims"] += 1
        if signs[0] == signs[1]:
            assert mine == its, f"case {number}"
            seen["alike"] += 1
            seen["refused"] += mine is not None and any(mine)

    assert seen["alike"] >= 10, seen
    assert seen["refused"] >= 3, seen
