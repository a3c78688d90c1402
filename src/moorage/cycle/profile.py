"""A profile: which plugins run at which extension point."""

import copy
import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self, TypeVar

import msgspec
import numpy as np

from moorage.cache.column_cache import ColumnCache, Compute, Depends, Rule
from moorage.cache.podinfo import Feature, PodInfo
from moorage.config.durations import decode_hook
from moorage.config.resolved_profile import ResolvedProfile
from moorage.framework import points
from moorage.framework.cycle import Listener
from moorage.framework.handle import Handle
from moorage.framework.plugin import Plugin
from moorage.framework.plugin_guards import NO_GUARDS, PluginGuards
from moorage.framework.points import is_vector

P = TypeVar("P", bound=Plugin)

POINT_DISABLED: Final = "its {} is disabled, and without it there is nothing to go by: enable both"


class FilterEntry(NamedTuple):
    """One Filter plugin in its configured place; `rule` where its codes may be kept.

    An `unprepared` one needs a point that the profile disables. One that `foresees` may
    tell in advance that it refuses nobody.
    """

    name: str
    plugin: points.Filter
    vector: bool
    rule: Rule | None
    unprepared: bool = False
    foresees: bool = False


class ScoreEntry(NamedTuple):
    """One Score plugin with its weight; `rule` where its scores may be kept, `plain_rule` where
    they are scores as they are, too.

    `normalizes` and `checked` tell whether it normalises, and whether its scores are to be checked.
    `levels` remembers what a score that all nodes share comes to; None where that may change.
    """

    name: str
    plugin: points.Score
    weight: int
    vector: bool
    rule: Rule | None
    normalizes: bool
    checked: bool
    plain_rule: Rule | None = None
    levels: dict[int, int] | None = None


class Plan(NamedTuple):
    """The plugins that have a say about pods with the same features."""

    pre_filter: list[tuple[str, points.PreFilter]]
    filter: list[FilterEntry]
    pre_score: list[tuple[str, points.PreScore]]
    score: list[ScoreEntry]
    reserve: list[tuple[str, points.Reserve]]
    listeners: list[tuple[str, Listener]]


class Profile:
    """Plugins of one schedulerName, ready to run, and what was computed with them."""

    def __init__(
        self,
        resolved: ResolvedProfile,
        plugins: Mapping[str, Plugin],
        percentage: int | None = None,
        guards: PluginGuards = NO_GUARDS,
        version: str = "",
    ) -> None:
        self.resolved = resolved
        self.scheduler_name = resolved.scheduler_name
        self.version = version
        """Which of several versions this is, if it is not the stable one."""
        self.percentage_of_nodes_to_score = percentage
        self.plugins = dict(plugins)
        self.columns = ColumnCache()
        self.shared: dict[str, Any] = {}
        self.handles: dict[str, Handle] = {}
        """What plugins see of the scheduler that runs this profile, by their name."""
        self.next_start = 0
        self.runners_up_told = -math.inf
        """When the nodes beside a chosen one were last told of."""
        self.guards = guards
        at = resolved.points

        def listed(point: str, kind: type[P]) -> list[tuple[str, P]]:
            named = [(ref.name, plugins.get(ref.name)) for ref in at.get(point, ())]
            return [(name, plugin) for name, plugin in named if isinstance(plugin, kind)]

        self.pre_enqueue = listed("preEnqueue", points.PreEnqueue)
        self.queue_sort = listed("queueSort", points.QueueSort)
        self.pre_filter = listed("preFilter", points.PreFilter)
        self.filter = [
            FilterEntry(
                name,
                plugin,
                is_vector(plugin, "filter_all"),
                _rule("filter", name, plugin, plugin.filter_all, np.int32),
                _lacking(resolved, name, plugin, "filter") is not None,
                type(plugin).admits_all is not points.Filter.admits_all,
            )
            for name, plugin in listed("filter", points.Filter)
        ]
        self.post_filter = listed("postFilter", points.PostFilter)
        self.pre_score = listed("preScore", points.PreScore)
        weights = {ref.name: ref.weight or 1 for ref in at.get("score", ())}
        self.score = [
            _score_entry(name, plugin, weights[name])
            for name, plugin in listed("score", points.Score)
        ]
        self.unscorable = self._find_unscorable()
        """The first plugin that cannot score, and the point it lacks; None where all can."""
        self.reserve = listed("reserve", points.Reserve)
        self.permit = listed("permit", points.Permit)
        self.pre_bind = listed("preBind", points.PreBind)
        self.bind = listed("bind", points.Bind)
        self.post_bind = listed("postBind", points.PostBind)
        self._concerns = {name: plugin.concerns() for name, plugin in self.plugins.items()}
        self._plans: dict[int, Plan] = {}

    def without_post_filter(self) -> Self:
        """The same, with everything it has computed, but a pod that does not fit makes no room."""
        variant = copy.copy(self)
        variant.post_filter = []
        return variant

    def named(self, scheduler_name: str) -> Self:
        """The same, with everything it has computed, for the pods of another schedulerName."""
        variant = copy.copy(self)
        variant.scheduler_name, variant.version = scheduler_name, ""
        return variant

    def _find_unscorable(self) -> tuple[str, str] | None:
        asked: list[tuple[str, str, Plugin]] = [
            *(("preScore", name, plugin) for name, plugin in self.pre_score),
            *(("score", entry.name, entry.plugin) for entry in self.score),
        ]
        for point, name, plugin in asked:
            lacking = _lacking(self.resolved, name, plugin, point)
            if lacking is not None:
                return name, points.POINTS[lacking].__name__
        return None

    def plan(self, pod: PodInfo) -> Plan:
        """Who has a say about a pod; the same for all pods with the same features."""
        features = pod.cls.features
        if pod.pod.spec.node_name:
            features |= Feature.NODE_NAME
        found = self._plans.get(features)
        if found is None:
            found = self._plans[features] = self._plan(features)
        return found

    def _plan(self, features: int) -> Plan:
        def concerned(name: str) -> bool:
            wanted = self._concerns[name]
            return wanted == Feature.ANYTHING or bool(wanted & features)

        return Plan(
            [entry for entry in self.pre_filter if concerned(entry[0])],
            [entry for entry in self.filter if entry.unprepared or concerned(entry.name)],
            [entry for entry in self.pre_score if concerned(entry[0])],
            [entry for entry in self.score if concerned(entry.name)],
            [entry for entry in self.reserve if concerned(entry[0])],
            [(name, plugin) for name, plugin in self.pre_filter if _listens(plugin)],
        )


def _lacking(resolved: ResolvedProfile, name: str, plugin: Plugin, point: str) -> str | None:
    """The point that a plugin needs at another one, where the profile does not enable it."""
    needed = plugin.needs.get(point)
    if needed is None or any(ref.name == name for ref in resolved.points.get(needed, ())):
        return None
    return needed


def _listens(plugin: points.PreFilter) -> bool:
    """Whether a plugin brings state up to date when a trial adds or removes pods."""
    own, base = type(plugin), points.PreFilter
    return own.add_pod is not base.add_pod or own.remove_pod is not base.remove_pod


def _score_entry(name: str, plugin: points.Score, weight: int) -> ScoreEntry:
    rule = _rule("score", name, plugin, plugin.score_all, np.int64)
    normalizes = type(plugin).normalize is not points.Score.normalize
    checked = not plugin.scores_in_range
    return ScoreEntry(
        name,
        plugin,
        weight,
        is_vector(plugin, "score_all"),
        rule,
        normalizes,
        checked,
        None if normalizes or checked else rule,
        {} if plugin.reads_scores_only else None,
    )


def _rule(
    kind: str, name: str, plugin: Plugin, compute: Compute, dtype: type[np.generic]
) -> Rule | None:
    if type(plugin).sign is Plugin.sign or plugin.depends & Depends.EVERYTHING:
        return None
    return Rule(f"{kind}/{name}", dtype, bool(plugin.depends & Depends.USAGE), compute)


def build(
    resolved: ResolvedProfile,
    known: Mapping[str, type[Plugin]],
    percentage: int | None = None,
    guards: PluginGuards = NO_GUARDS,
    version: str = "",
) -> Profile:
    """A profile from its configuration: every named plugin made from its arguments.

    Each is made of the class that `guards` give in its place.
    """
    names = {ref.name for refs in resolved.points.values() for ref in refs}
    plugins = {
        name: msgspec.convert(
            resolved.args.get(name, {}), guards.wrap(known[name]), dec_hook=decode_hook
        )
        for name in sorted(names)
        if name in known
    }
    return Profile(resolved, plugins, percentage, guards, version)
