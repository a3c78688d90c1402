"""A hint that says Skip is justified: what it slept through let nobody through.

A pod that one plugin refuses waits in the queue; then one thing in its cluster changes, by the
same way as changes come from an API server. Where the queue lets the pod sleep, the plugin must
accept no node that it did not accept before.
"""

import copy
import os
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from moorage.api.decode import decode_object
from moorage.api.meta import KubeObject
from moorage.app import built_in_plugins
from moorage.bind.permits import WaitingPods
from moorage.cache.cache import Cache
from moorage.cycle import filtering
from moorage.cycle.profile import Profile
from moorage.explain import evaluator
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import give_handles
from moorage.framework.queued_pod import State
from moorage.framework.verdicts import PluginError
from moorage.queue.backoff import Backoff
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.event_handlers import EventHandlers
from moorage.scheduler.queue_order import queue_for
from moorage.watch.reflector import Change, ChangeType
from tests.differential.dice import Dice
from tests.differential.features import FEATURES
from tests.differential.generating import make
from tests.differential.words import Json

CASES = int(os.environ.get("HINT_CASES", "60"))
AT_ONCE = 5
"""How many changes a cluster is tried with, each by itself."""
NAME = "default-scheduler"
KINDS = {"nodes": "Node", "pods": "Pod", **evaluator.KINDS}
VOLUMES = (
    "persistentVolumes",
    "persistentVolumeClaims",
    "storageClasses",
    "csiNodes",
    "csiDrivers",
    "csiStorageCapacities",
    "volumeAttachments",
)

THEMES: dict[str, tuple[str, ...]] = {
    "InterPodAffinity": ("interpod", "namespaces"),
    "NodeAffinity": ("nodeaffinity", "nodeselector"),
    "NodeDeclaredFeatures": ("declared",),
    "NodePorts": ("ports",),
    "NodeResourcesFit": ("starved", "extended"),
    "NodeUnschedulable": ("unschedulable", "taints"),
    "NodeVolumeLimits": ("limits", "volumes"),
    "PodTopologySpread": ("spread", "taints", "nodeselector"),
    "TaintToleration": ("taints",),
    "VolumeBinding": ("volumes",),
    "VolumeRestrictions": ("disks", "volumes"),
    "VolumeZone": ("volumes",),
}
"""The plugins that refuse nodes, and what makes them do so. A pod that NodeName refuses has its
node already, and never waits here."""

Found = frozenset[str]
OneChange = tuple[KubeObject | None, KubeObject | None]
Disturbance = list[OneChange]


class World:
    """A cluster, the plugin that refuses the pod, and the queue it waits in."""

    def __init__(self, case: Json, profile: Profile) -> None:
        self.cache: Cache = evaluator.cache_from_case(case)
        self.profile = profile
        profile.shared.clear()
        profile.handles = give_handles(profile.plugins, self.cache, profile.shared)
        self.queue: SchedulingQueue = queue_for([profile], lambda: 0.0, Backoff())
        self.handler = EventHandlers(self.cache, self.queue, {NAME}, WaitingPods(), lambda: 0.0)
        self.pod = decode(case["pod"], "pods")
        self.change(None, self.pod)

    def change(self, old: KubeObject | None, new: KubeObject | None) -> None:
        kind: ChangeType = "added" if old is None else "deleted" if new is None else "updated"
        self.handler.apply(Change(kind, old, new))

    def accepted(self) -> tuple[Found, bool]:
        """The nodes that the plugin accepts for the pod as it is, and whether it refuses any."""
        queued = self.queue.find(self.pod.uid)
        assert queued is not None
        cycle = Cycle(self.cache, queued.info, shared=self.profile.shared)
        found = filtering.run(self.profile, cycle)
        refused = filtering.diagnose(self.profile, cycle, found).unschedulable_plugins
        rows = self.cache.table.row_of
        return frozenset(n for n, row in rows.items() if found.feasible[row]), bool(refused)


def decode(raw: Json, field: str) -> KubeObject:
    return decode_object(raw, KINDS[field])


def alone(plugin: str) -> Profile:
    """A profile in which nobody else has a say."""
    enabled = [{"name": name} for name in (plugin, "PrioritySort", "DefaultBinder")]
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"plugins": {"multiPoint": {"disabled": [{"name": "*"}], "enabled": enabled}}}
        ],
    }
    return evaluator._profile(config, built_in_plugins.built_in(), NAME)


def draw(plugin: str, number: int, twin: str = "") -> tuple[Json, Dice]:
    dice = Dice(f"hints/{plugin}/{number}{twin}", small=True)
    dice.oddness = 0.0
    features = [name for name in FEATURES if name in THEMES[plugin]]
    case = make(dice, str(number), features)
    for pod in case["pods"]:
        pod["spec"]["schedulerName"] = "others"
    return case, dice


def disturbances(case: Json, other: Json, dice: Dice) -> Iterator[Disturbance]:
    """Changes that an API server could report, made of parts of another case."""
    fields = ("nodes", "pods", *(f for f in VOLUMES if case.get(f) or other.get(f)))
    for field in dice.some(fields, len(fields), len(fields)):
        here = {raw["metadata"]["name"]: raw for raw in case.get(field) or ()}
        there = {raw["metadata"]["name"]: raw for raw in other.get(field) or ()}
        for raw in dice.some(list(there.values()), 0, 1):
            yield [(None, decode(renamed(raw, case, dice), field))]
        for raw in dice.some(list(here.values()), 0, 1):
            yield [(decode(raw, field), None), *left_behind(raw, field, case)]
        for name in dice.some(sorted(here.keys() & there.keys()), 0, 2):
            new = UPDATES.get(field, replaced)(here[name], there[name], dice)
            yield [(decode(here[name], field), decode(new, field))]
    mine = case["pod"]
    yield [(decode(mine, "pods"), decode(own_update(mine, other["pod"], dice), "pods"))]


def left_behind(raw: Json, field: str, case: Json) -> Iterator[OneChange]:
    """The pods of a node that was deleted, which are deleted after it."""
    if field == "nodes":
        for pod in case["pods"]:
            if pod["spec"]["nodeName"] == raw["metadata"]["name"]:
                yield decode(pod, "pods"), None


def renamed(raw: Json, case: Json, dice: Dice) -> Json:
    """An object of the other case as a new one of this."""
    made = copy.deepcopy(raw)
    made["metadata"]["name"] += "-new"
    made["metadata"]["uid"] = made["metadata"]["name"]
    if "nodeName" in made.get("spec", {}):
        made["spec"]["nodeName"] = dice.pick(case["nodes"])["metadata"]["name"]
    return made


def node_update(here: Json, there: Json, dice: Dice) -> Json:
    """Of a node, everything may change but its name."""
    made = copy.deepcopy(here)
    hostname = {k: v for k, v in here["metadata"]["labels"].items() if k.endswith("hostname")}
    if dice.chance(0.5):
        made["metadata"]["labels"] = {**there["metadata"]["labels"], **hostname}
    for key in ("taints", "unschedulable"):
        if dice.chance(0.5):
            made["spec"].pop(key, None)
            made["spec"] |= {k: v for k, v in there["spec"].items() if k == key}
    for key in ("allocatable", "declaredFeatures"):
        if dice.chance(0.5) and key in there["status"]:
            made["status"][key] = there["status"][key]
    return made


def pod_update(here: Json, there: Json, dice: Dice) -> Json:
    """Of a pod that runs, the labels may change."""
    return {**here, "metadata": {**here["metadata"], "labels": there["metadata"]["labels"]}}


def own_update(here: Json, there: Json, dice: Dice) -> Json:
    """Of a pod that waits, labels may change, tolerations and node selectors be added."""
    made = copy.deepcopy(here)
    if dice.chance(0.5):
        made["metadata"]["labels"] = there["metadata"]["labels"]
    if dice.chance(0.5):
        more = there["spec"].get("tolerations", [])
        made["spec"]["tolerations"] = [*made["spec"].get("tolerations", []), *more]
    return made


def volume_update(here: Json, there: Json, dice: Dice) -> Json:
    """Of a volume, only whose it is and how it is may change."""
    made = copy.deepcopy(here)
    made["metadata"]["labels"] = there["metadata"].get("labels", {})
    made["spec"].pop("claimRef", None)
    made["spec"] |= {key: value for key, value in there["spec"].items() if key == "claimRef"}
    return {**made, "status": there.get("status", {})}


def capacity_update(here: Json, there: Json, dice: Dice) -> Json:
    """Of a pool of storage, only how much is left may change."""
    sizes = ("capacity", "maximumVolumeSize")
    kept = {key: value for key, value in here.items() if key not in sizes}
    return {**kept, **{key: there[key] for key in sizes if key in there}}


def replaced(here: Json, there: Json, dice: Dice) -> Json:
    made = copy.deepcopy(there)
    made["metadata"] = {**there["metadata"], "name": here["metadata"]["name"]}
    if "uid" in here["metadata"]:
        made["metadata"]["uid"] = here["metadata"]["uid"]
    return made


UPDATES: dict[str, Callable[[Json, Json, Dice], Json]] = {
    "nodes": node_update,
    "pods": pod_update,
    "persistentVolumes": volume_update,
    "csiStorageCapacities": capacity_update,
}


@pytest.mark.parametrize("plugin", THEMES)
def test_what_a_hint_sleeps_through_lets_nobody_through(plugin: str) -> None:
    seen: Counter[str] = Counter()
    wrong, profile = [], alone(plugin)
    for number in range(CASES):
        case, dice = draw(plugin, number)
        other, _ = draw(plugin, number, "twin")
        for changes in dice.some(list(disturbances(case, other, dice)), AT_ONCE, AT_ONCE):
            verdict = judge(World(case, profile), plugin, changes)
            seen[verdict.partition(":")[0]] += 1
            if verdict.startswith("wrong"):
                wrong.append(f"{number}: {verdict} {changes}")
    assert wrong == []
    assert seen["slept"] >= 20
    assert seen["woken"] >= 5


def judge(world: World, plugin: str, changes: Disturbance) -> str:
    queued = world.queue.pop(0.0)
    if queued is None or not len(world.cache.table):
        return "gated"
    try:
        before, refuses = world.accepted()
    except PluginError:
        return "failed"
    if not refuses:
        return "nothing to wait for"
    world.queue.put_back(queued, {plugin}, (), False, 0.0)
    for old, new in changes:
        world.change(old, new)
    if queued.state is not State.UNSCHEDULABLE:
        return "woken"
    try:
        gained = world.accepted()[0] - before
    except PluginError:
        return "failed"
    return f"wrong: slept, and gained {sorted(gained)}" if gained else "slept"
