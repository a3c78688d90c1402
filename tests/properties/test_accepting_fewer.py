"""A filter that promises to accept fewer pods keeps the promise.

Wherever a plugin accepts a node and promises to accept it whoever leaves, pods leave it and some of
them come back, in a trial; then the plugin is asked about the node again.
"""

from collections import Counter

import pytest

from moorage.cycle import filtering
from moorage.cycle.filtering import Filtering, RowFilters
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import PluginError
from tests.differential.dice import Dice
from tests.properties.test_hints import CASES, THEMES, World, alone, draw

PROMISING = (
    "InterPodAffinity",
    "NodePorts",
    "NodeVolumeLimits",
    "PodTopologySpread",
    "VolumeBinding",
    "VolumeRestrictions",
)
TRIALS = 3


@pytest.mark.parametrize("plugin", PROMISING)
def test_nobody_is_refused_for_pods_that_left(plugin: str) -> None:
    seen: Counter[str] = Counter()
    profile = alone(plugin)
    assert plugin in THEMES
    for number in range(3 * CASES):
        case, dice = draw(plugin, number)
        seen.update(outcomes(World(case, profile), profile, dice))

    assert seen["refused"] == 0
    assert seen["accepted"] >= 20


def outcomes(world: World, profile: Profile, dice: Dice) -> list[str]:
    """What the plugin says of nodes it accepted, once pods have left."""
    queued = world.queue.find(world.pod.uid)
    assert queued is not None
    cycle = Cycle(world.cache, queued.info, shared=profile.shared)
    try:
        found = filtering.run(profile, cycle)
        promises = [entry.plugin.accepts_fewer(cycle, cycle.pod) for entry in found.active]
    except PluginError:
        return []
    if not promises or not all(promises):
        return []
    return [
        after_some_left(cycle, found, row, dice)
        for row, pods in enumerate(world.cache.table.pods)
        if pods and row < len(found.feasible) and found.feasible[row]
        for _ in range(TRIALS)
    ]


def after_some_left(cycle: Cycle, found: Filtering, row: int, dice: Dice) -> str:
    refuses = RowFilters(cycle, found.active)
    pods = list(cycle.table.pods[row].values())
    gone = dice.some(pods, 1, len(pods))
    with cycle.trial():
        for info in gone:
            cycle.displace(row, info)
        answers = [refuses(row)]
        for info in dice.some(gone, 0, len(gone)):
            cycle.place(row, info)
            answers.append(refuses(row))
    return "accepted" if answers == [None] * len(answers) else "refused"
