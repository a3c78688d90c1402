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
    """One Filter plugin in its configured place.

    `rule` is set if its codes may be kept between attempts. `unprepared`: the plugin needs another
    point that the profile disables. `foresees`: the plugin implements `admits_all`, so it may say
    in advance that it refuses no node.
    """

    name: str
    plugin: points.Filter
    vector: bool
    rule: Rule | None
    unprepared: bool = False
    foresees: bool = False


class ScoreEntry(NamedTuple):
    """One Score plugin with its weight.

    `rule` is set if its scores may be kept between attempts; `plain_rule` if, besides, they need
    neither normalisation nor a range check. `normalizes`: it implements `normalize`. `checked`: its
    scores must be checked against the range. `levels` maps a raw score that all nodes share to the
    weighted score after normalisation; None if that may change between attempts.
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
    """The plugins that are concerned with pods of the same features."""

    pre_filter: list[tuple[str, points.PreFilter]]
    filter: list[FilterEntry]
    pre_score: list[tuple[str, points.PreScore]]
    score: list[ScoreEntry]
    reserve: list[tuple[str, points.Reserve]]
    listeners: list[tuple[str, Listener]]


class Progress(msgspec.Struct):
    """Where the attempts with a profile have got to; its variants share one."""

    next_start: int = 0
    """Where the next walk over a sample of the nodes begins."""
    runners_up_told: float = -math.inf
    """When an attempt last reported runners-up."""


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
        """The name of this version of the profile; empty for the stable one."""
        self.percentage_of_nodes_to_score = percentage
        self.plugins = dict(plugins)
        self.columns = ColumnCache()
        self.shared: dict[str, Any] = {}
        self.handles: dict[str, Handle] = {}
        """Plugin name -> what that plugin may see of the scheduler that runs this profile."""
        self.progress = Progress()
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
        """The first plugin that cannot score, and the point it lacks; None if all can score."""
        self.reserve = listed("reserve", points.Reserve)
        self.permit = listed("permit", points.Permit)
        self.pre_bind = listed("preBind", points.PreBind)
        self.bind = listed("bind", points.Bind)
        self.post_bind = listed("postBind", points.PostBind)
        self._concerns = {name: plugin.concerns() for name, plugin in self.plugins.items()}
        self._plans: dict[int, Plan] = {}

    def without_post_filter(self) -> Self:
        """A variant without PostFilter, so without preemption; it shares all state."""
        variant = copy.copy(self)
        variant.post_filter = []
        return variant

    def named(self, scheduler_name: str) -> Self:
        """A variant for the pods of another schedulerName; it shares all state."""
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
        """The plugins to run for a pod; pods with the same features share one plan."""
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
    """The point that a plugin needs in order to run at `point`, if the profile disables it."""
    needed = plugin.needs.get(point)
    if needed is None or any(ref.name == name for ref in resolved.points.get(needed, ())):
        return None
    return needed


def _listens(plugin: points.PreFilter) -> bool:
    """Whether a plugin updates its cycle state when a trial adds or removes pods."""
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
    """A profile from its configuration: each known plugin it names, made from its arguments.

    `guards.wrap` decides which class is instantiated in place of the plugin's own.
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
