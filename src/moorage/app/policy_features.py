"""Features that policies need: the outcomes of their pods, and hints for an autoscaler."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.follower import Follower
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.observe import catalogue
from moorage.observe.metric_families import Family, gauge
from moorage.observe.records import Attempt
from moorage.policies.load import adaptive_scheduling, outcomes, scaling_hints
from moorage.policies.load.scaling_hints import NodeShape, ScalingHint
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.feature import Feature
from moorage.scheduler.report import Reporter
from moorage.watch.api_resources import Resource
from moorage.watch.reflector import Change

REASON: Final = "ScalingHint"
_REMEMBERED: Final = 10_000
_MOST_LOOKED_AT: Final = 2_000
"""The most waiting pods that a scrape looks at."""


class ScalingHints(Feature):
    """Records one event per owner and hint; the metric is computed at each scrape."""

    def __init__(self, cache: Cache, queue: SchedulingQueue, reporter: Reporter) -> None:
        self._cache = cache
        self._queue = queue
        self._reporter = reporter
        self._nodes: Follower[int] = Follower()
        self._shapes: list[NodeShape] = []
        self._told: OrderedDict[str, ScalingHint] = OrderedDict()

    def put_back(self, cycle: Cycle) -> None:
        """Report which node would take a pod that was refused, if it lacks room."""
        if not cycle.incoming.requests or not scaling_hints.lacks_room(cycle.incoming, cycle.table):
            return
        hint = scaling_hints.scaling_hint(self._cache, cycle.incoming, self._known_shapes())
        owner = cycle.pod.owner
        key = cycle.pod.uid if owner is None else owner.uid
        if self._told.get(key) != hint:
            self._told[key] = hint
            if len(self._told) > _REMEMBERED:
                self._told.popitem(last=False)
            self._reporter.event(cycle.pod, "Normal", REASON, "Scaling", hint.words, cycle)

    def families(self) -> Iterable[Family]:
        """The number of nodes to add, by type and zone."""
        waiting = []
        for queued in self._queue:
            if "NodeResourcesFit" in queued.unschedulable_plugins:
                if scaling_hints.lacks_room(queued.info, self._cache.table):
                    waiting.append(queued.info)
                if len(waiting) >= _MOST_LOOKED_AT:
                    break
        found = scaling_hints.nodes_to_add(self._cache, waiting, self._known_shapes())
        yield gauge(
            catalogue.SCALING_HINT, [(key, float(count)) for key, count in sorted(found.items())]
        )

    def _known_shapes(self) -> list[NodeShape]:
        table = self._cache.table
        if self._nodes.is_behind(table.node_log):
            self._shapes = scaling_hints.node_shapes(table)
            self._nodes.skip(table.node_log)
        return self._shapes


class PlacementOutcomes(Feature):
    """Every attempt, and every change of a pod, reaches the outcomes of profiles that keep them."""

    hears = ("pods",)

    def __init__(self, profiles: Iterable[Profile]) -> None:
        self._profiles = profiles

    def attempted(self, attempt: Attempt) -> None:
        """Heard as an observer: of what is decided about pods, and not of what is only asked."""
        namespace = attempt.pod.partition("/")[0]
        keepers = {
            id(found): found
            for each in self._profiles
            if each.scheduler_name == attempt.profile and adaptive_scheduling.NAME in each.plugins
            for found in (outcomes.outcomes(each.shared),)
        }
        for kept in keepers.values():
            kept.attempted(namespace)

    def after(self, change: Change, resource: Resource) -> None:
        keepers = [
            found
            for each in self._profiles
            if (found := each.shared.get(outcomes.OUTCOMES)) is not None
        ]
        old, new = change.old, change.new
        for kept in {id(found): found for found in keepers}.values() if keepers else ():
            kept.see(old if isinstance(old, Pod) else None, new if isinstance(new, Pod) else None)
