"""Two namespaces on nodes whose risks no scheduler is told of, minute by minute.

Spot instances cost a third and are taken away now and then; containers restart on crowded nodes.
`web` runs services for twenty minutes and wants few of them lost; `batch` runs short jobs and wants
them cheap. The real engine places every pod, by a whole configuration.
"""

import datetime
import random
from typing import Any, Final, NamedTuple

from moorage.api.pod import Pod
from moorage.app import built_in_plugins
from moorage.app.profile_builder import build_profiles
from moorage.cache.cache import Cache
from moorage.config.loader import load
from moorage.cycle import attempt
from moorage.cycle.attempt import Unschedulable
from moorage.framework.cycle import Cycle
from moorage.framework.points import Reserve
from moorage.policies.load import outcomes
from moorage.testing import PodBuilder, node, pod

KUBE: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
STRATEGIES: Final[dict[str, Any]] = {
    "web": {"performanceGoals": {"lossRate": 0.02}},
    "batch": {"performanceGoals": {"lossRate": 0.3}, "costConstraints": {"podHour": 0.03}},
}
ADAPTIVE: Final[dict[str, Any]] = {
    **KUBE,
    "profiles": [
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "AdaptiveSchedulingPlugin", "weight": 5}]},
                "score": {"disabled": [{"name": "NodeResourcesFit"}]},
            },
            "pluginConfig": [
                {"name": "AdaptiveSchedulingPlugin", "args": {"strategies": STRATEGIES}}
            ],
        }
    ],
}

_TAKEN_AWAY, _RESTARTED, _CROWDED = 0.03, 0.04, 0.75
_MINUTE = 60.0
_START = 1_767_225_600.0
_LIST_PRICE, _SPOT = 0.07, 0.35


class Kind(NamedTuple):
    """What arrives in a namespace each minute, and how many minutes it runs."""

    namespace: str
    each_minute: int
    minutes: int


KINDS: Final = (Kind("web", 3, 20), Kind("batch", 6, 5))


class Result(NamedTuple):
    """What it came to, over the minutes that were counted."""

    web_lost: float
    batch_cost: float


class World:
    """One run; `minutes` pass by `advance`."""

    def __init__(self, configuration: dict[str, Any], seed: int, nodes: int = 12) -> None:
        known = built_in_plugins.installed()
        loaded = load(configuration, known=built_in_plugins.describe_plugins(known))
        (self.profile,) = build_profiles(loaded.configuration, known).values()
        self.cache, self.random, self.now = Cache(), random.Random(seed), _START
        self.running: dict[str, tuple[PodBuilder, str, float]] = {}
        self.lost, self.placed, self.costs, self.number = 0, 0, list[float](), 0
        for at in range(nodes):
            kind = {"karpenter.sh/capacity-type": "spot" if at % 2 else "on-demand"}
            made = node(f"n{at}").labelled(**kind, **{"node.kubernetes.io/instance-type": "m5"})
            self.cache.put_node(made.offering(cpu="16", memory="64Gi", pods="110").build())

    def advance(self, minutes: int, counted: bool = True) -> Result:
        """Let time pass; what happened is counted, or only learnt from."""
        if counted:
            self.lost, self.placed, self.costs = 0, 0, []
        for _ in range(minutes):
            self.now += _MINUTE
            self._end_what_is_over()
            for kind in KINDS:
                for _ in range(kind.each_minute):
                    self._arrive(kind)
            self._let_things_happen()
        return Result(self.lost / max(self.placed, 1), sum(self.costs) / max(len(self.costs), 1))

    def _arrive(self, kind: Kind) -> None:
        self.number += 1
        made = pod(f"{kind.namespace}-{self.number}", kind.namespace).requesting(
            cpu="1", memory="2Gi"
        )
        stamp = datetime.datetime.fromtimestamp(self.now, datetime.UTC)
        made.raw["metadata"]["creationTimestamp"] = stamp.isoformat()
        if kind.namespace == "batch":
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": True}
            made.raw["metadata"]["ownerReferences"] = [{**owner, "uid": "j"}]
        self._place(made, self.now + kind.minutes * _MINUTE)

    def _place(self, made: PodBuilder, until: float) -> None:
        built = made.build()
        cycle = Cycle(
            self.cache,
            self.cache.info(built),
            now=self.now,
            shared=self.profile.shared,
        )
        decided = attempt.run(self.profile, cycle)
        if isinstance(decided, Unschedulable):
            return
        self.cache.assume(cycle.incoming, decided.node)
        chosen = self.cache.table.node(self.cache.table.row_of[decided.node])
        plugin = self.profile.plugins.get("AdaptiveSchedulingPlugin")
        if isinstance(plugin, Reserve):
            plugin.reserve(cycle, built, chosen)
        self.running[built.uid] = (made, decided.node, until)
        if built.namespace == "web":
            self.placed += 1
        else:
            self.costs.append(_LIST_PRICE * (_SPOT if self._is_spot(decided.node) else 1.0))

    def _is_spot(self, name: str) -> bool:
        found = self.cache.table.node(self.cache.table.row_of[name])
        return found.labels["karpenter.sh/capacity-type"] == "spot"

    def _end_what_is_over(self) -> None:
        for uid, (made, _, until) in list(self.running.items()):
            if until <= self.now:
                self._leave(uid, made.build(), None)

    def _let_things_happen(self) -> None:
        """Instances are taken away, and containers restart where it is crowded."""
        for uid, (made, name, _) in list(self.running.items()):
            luck = self.random.random()
            if self._is_spot(name) and luck < _TAKEN_AWAY:
                old = made.build()
                made.raw.setdefault("status", {})["phase"] = "Failed"
                self._leave(uid, old, made.build())
            elif self._crowding(name) > _CROWDED and luck > 1 - _RESTARTED:
                self._restart(made, made.build())

    def _leave(self, uid: str, old: Pod, new: Pod | None) -> None:
        del self.running[uid]
        self.cache.remove_pod(uid)
        self._tell(old, new)
        if new is not None:
            self.lost += old.namespace == "web"

    def _restart(self, made: PodBuilder, old: Pod) -> None:
        status = made.raw.setdefault("status", {})
        (before,) = status.get("containerStatuses") or [{"name": "c", "restartCount": 0}]
        again = {**before, "restartCount": before["restartCount"] + 1}
        status["containerStatuses"] = [again]
        self._tell(old, made.build())
        self.lost += old.namespace == "web"

    def _crowding(self, name: str) -> float:
        row = self.cache.table.row_of[name]
        return float(self.cache.table.requested[0, row] / self.cache.table.allocatable[0, row])

    def _tell(self, old: Pod, new: Pod | None) -> None:
        outcomes.outcomes(self.profile.shared).see(old, new)
