"""Judges pods when they are bound, nominated, or found unschedulable."""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final

import msgspec

from moorage.api.pod import Pod
from moorage.app.assembly import OPTIONAL
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.explain.world import World
from moorage.scheduler.feature import Feature
from moorage.shadow.in_flight import Bound, InFlight
from moorage.shadow.judgement import Agreement, Judgement, judge, judge_preemption
from moorage.shadow.tally import Tally
from moorage.shadow.unseen import Unseen
from moorage.watch.api_resources import Resource
from moorage.watch.reflector import Change, Reflector

JudgementTold = Callable[[Judgement], None]
TRUSTED_AFTER: Final = 50
"""After so many placed pods, only configurations that agree with most of them look again."""
EXPLICABLE: Final = frozenset({Agreement.WORSE, Agreement.REFUSED, Agreement.UNPLACED})
"""The disagreements that pods in flight may explain."""


class Watcher(Feature):
    """Judges each decision just before it enters the cache; a feature of the following scheduler.

    While one of `reflectors` is not watching, decisions are not judged; `unseen` counts them.
    """

    hears: ClassVar[tuple[str, ...]] = ("pods",)
    optional: ClassVar = OPTIONAL

    def __init__(
        self,
        cache: Cache,
        clock: Clock,
        configurations: Mapping[str, Mapping[str, Profile]],
        tallies: Mapping[str, Tally],
        unseen: Unseen,
        reflectors: Callable[[], Iterable[Reflector]],
        told: JudgementTold,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._configurations = configurations
        self._tallies = tallies
        self._unseen = unseen
        self._reflectors = reflectors
        self._told = told
        self._in_flight = {name: InFlight(cache) for name in configurations}
        self._believing: Bound | None = None
        self._nominating: Bound | None = None
        self._heard: dict[str, float] = {}
        """When each pending pod was first seen, by uid."""
        self.begun = False

    def before(self, change: Change, resource: Resource) -> None:
        new, old = change.new, change.old
        self._believing = self._nominating = None
        if isinstance(old, Pod) and (new is None or (isinstance(new, Pod) and new.is_terminal)):
            self._gone(old)
        if not isinstance(new, Pod) or new.is_terminal:
            return
        if not new.spec.node_name:
            self._heard.setdefault(new.uid, self._clock.now())
        if not self.begun:
            return
        before = old if isinstance(old, Pod) else None
        if new.spec.node_name and (before is None or not before.spec.node_name):
            self._bound(before, new)
        elif not new.spec.node_name and _newly_nominated(before, new):
            self._preempting(new)
        elif not new.spec.node_name and _says_unschedulable(before, new):
            self._pending(new)

    def after(self, change: Change, resource: Resource) -> None:
        if self._believing is not None:
            for each in self._in_flight.values():
                each.believed(self._believing)
        if self._nominating is not None:
            for each in self._in_flight.values():
                each.nominated(self._nominating)

    def _gone(self, old: Pod) -> None:
        self._heard.pop(old.uid, None)
        for each in self._in_flight.values():
            each.gone(self._clock.now(), old.uid)

    def _bound(self, before: Pod | None, new: Pod) -> None:
        now, since = self._clock.now(), self._heard.pop(new.uid, 0.0)
        if before is None or not self._unseen.look(self._reflectors(), now):
            self._unseen.pods += 1
            return
        self._believing = bound = Bound(now, before, new.spec.node_name, since)
        for name in self._configurations:
            self._judge_bound(name, bound)

    def _judge_bound(self, name: str, bound: Bound) -> None:
        flying, tally = self._in_flight[name], self._tallies[name]

        def ask(pod: Pod, node: str) -> Judgement:
            return judge(self._world(name, bound.time), name, pod, node)

        def settle(first: Judgement, again: Judgement) -> None:
            tally.replace(first, again)
            self._told(again)

        judged = ask(bound.pod, bound.node)
        looks_again = tally.placed < TRUSTED_AFTER or tally.agreeing * 2 > tally.placed
        if judged.agreement in EXPLICABLE and looks_again:
            judged = flying.look_back(bound, judged, ask)
        tally.add(judged)
        if judged.agreement in EXPLICABLE and looks_again:
            flying.keep_open(bound, judged, ask, settle)
        self._told(judged)

    def _pending(self, pod: Pod) -> None:
        now = self._clock.now()
        if pod.status.nominated_node_name or not self._unseen.look(self._reflectors(), now):
            return
        for name in self._configurations:
            judged = judge(self._world(name, now), name, pod, "")
            self._tallies[name].add(judged)
            self._told(judged)

    def _preempting(self, pod: Pod) -> None:
        now, node = self._clock.now(), pod.status.nominated_node_name
        if not self._unseen.look(self._reflectors(), now):
            return
        status = msgspec.structs.replace(pod.status, nominated_node_name="")
        before = msgspec.structs.replace(pod, status=status)
        self._nominating = Bound(now, before, node, self._heard.get(pod.uid, 0.0))
        for name in self._configurations:
            with self._in_flight[name].victims_back(node, now):
                judged = judge_preemption(self._world(name, now), name, before, node)
            if judged is not None:
                self._tallies[name].add(judged)
                self._told(judged)

    def _world(self, name: str, now: float) -> World:
        return World(self._cache, self._configurations[name], now)


def _newly_nominated(old: Pod | None, new: Pod) -> bool:
    """Whether a scheduler has just nominated the pod."""
    nominated = new.status.nominated_node_name
    return bool(nominated) and (old is None or old.status.nominated_node_name != nominated)


def _says_unschedulable(old: Pod | None, new: Pod) -> bool:
    """Whether a scheduler has just found the pod unschedulable."""
    said = _unschedulable(new)
    return said is not None and (old is None or said != _unschedulable(old))


def _unschedulable(pod: Pod) -> str | None:
    for each in pod.status.conditions:
        if each.type == "PodScheduled" and each.status == "False":
            return each.message if each.reason == "Unschedulable" else None
    return None
