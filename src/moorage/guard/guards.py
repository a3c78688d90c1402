"""Wraps the custom plugins of a profile in subclasses whose hooks go through a guard."""

import asyncio
import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any

from moorage.config.moorage_configuration import PluginGuard
from moorage.framework import points
from moorage.framework.plugin import Plugin
from moorage.framework.plugin_guards import Now, Sleep, Tell
from moorage.framework.verdicts import SKIP
from moorage.guard import async_hooks, hook_wrappers, node_hooks, queueing_hooks
from moorage.guard.breaker_events import (
    BreakerListener,
    SwitchedOff,
    SwitchedOn,
    ignore_breaker_event,
)
from moorage.guard.hook_wrappers import Function, Wrapper
from moorage.guard.plugin_guard import BINDING, Guard

WRAPPERS: dict[str, Wrapper] = {
    "pre_enqueue": hook_wrappers.pre_enqueue,
    "sort_key": queueing_hooks.sort_key,
    "begin_sort": queueing_hooks.begin_sort,
    "pre_filter": hook_wrappers.wrap_hook("PreFilter"),
    "add_pod": hook_wrappers.wrap_hook("PreFilter"),
    "remove_pod": hook_wrappers.wrap_hook("PreFilter"),
    "filter": hook_wrappers.wrap_hook("Filter"),
    "filter_all": node_hooks.filter_all,
    "admits_all": hook_wrappers.wrap_promise,
    "accepts_fewer": hook_wrappers.wrap_promise,
    "rejection": hook_wrappers.wrap_rejection,
    "post_filter": hook_wrappers.wrap_hook("PostFilter"),
    "pod_group_post_filter": hook_wrappers.wrap_hook("PodGroupPostFilter"),
    "pre_score": hook_wrappers.wrap_hook("PreScore"),
    "score": hook_wrappers.wrap_score,
    "score_all": node_hooks.score_all,
    "normalize": node_hooks.normalize,
    "reserve": hook_wrappers.wrap_hook("Reserve"),
    "unreserve": hook_wrappers.wrap_unreserve,
    "permit": hook_wrappers.wrap_hook("Permit"),
    "pre_bind_pre_flight": hook_wrappers.wrap_hook("PreBindPreFlight", BINDING, SKIP),
    "pre_bind": async_hooks.wrap_async_hook("PreBind", None),
    "bind": async_hooks.wrap_async_hook("Bind", SKIP),
    "post_bind": hook_wrappers.wrap_hook("PostBind", BINDING),
    "sign": hook_wrappers.wrap_sign,
    "label_keys": hook_wrappers.wrap_label_keys,
    "volumes_sign": hook_wrappers.wrap_sign,
    "refusal_sign": hook_wrappers.wrap_sign,
    "events": queueing_hooks.wrap_events,
    "concerns": queueing_hooks.concerns,
    "inherit": queueing_hooks.wrap_inherit,
}


def guarded_class(plugin: type[Plugin], guard: Guard) -> type[Plugin]:
    """A subclass of a plugin class whose hooks go through the guard."""
    own = {name: hook for name in WRAPPERS if (hook := implemented_hook(plugin, name)) is not None}
    guard.normalizes = "normalize" in own
    body: dict[str, Any] = {
        name: functools.wraps(hook)(WRAPPERS[name](guard, hook)) for name, hook in own.items()
    }
    if "filter" in own:
        body["filter_each"] = node_hooks.filter_each(guard, own["filter"])
    if "score" in own:
        body["score_each"] = node_hooks.score_each(guard, own["score"])
    body["origin"] = classmethod(lambda cls: plugin)
    body |= {"__module__": plugin.__module__, "__doc__": plugin.__doc__}
    return types.new_class(
        plugin.__name__, (plugin,), {"frozen": True}, lambda namespace: namespace.update(body)
    )


def implemented_hook(plugin: type[Plugin], name: str) -> Function | None:
    """The hook of this name, if the plugin overrides it; else None."""
    hook: Function | None = getattr(plugin, name, None)
    for base in (Plugin, *points.POINTS.values()):
        if hook is getattr(base, name, None):
            return None
    own = inspect.getattr_static(plugin, name, None)
    return hook if hook is None or inspect.isfunction(own) else _without_self(hook)


def _without_self(hook: Function) -> Function:
    """A static method, or one of the class, called as one of the plugin."""

    @functools.wraps(hook)
    def call(self: Any, *args: Any) -> Any:
        return hook(*args)

    return call


def is_custom(plugin: type[Plugin]) -> bool:
    """Whether a plugin is not one of Moorage's own."""
    return plugin.__module__.partition(".")[0] != "moorage"


class Guards:
    """Wraps the custom plugins of one profile, and keeps their guards."""

    def __init__(self, settings: PluginGuard, profile: str) -> None:
        self.settings = settings
        self._profile = profile
        self.guards: dict[str, Guard] = {}
        self._time: Now = float
        self._pass_time: Sleep = asyncio.sleep
        self._tell: BreakerListener = ignore_breaker_event

    def attach(self, now: Now, sleep: Sleep | None = None, tell: Tell | None = None) -> None:
        """Set the clock (`now`, `sleep`), and `tell`, which is called when a plugin is switched off
        or on."""
        self._time = now
        self._pass_time = self._pass_time if sleep is None else sleep
        self._tell = self._tell if tell is None else tell

    def wrap(self, plugin: type[Plugin]) -> type[Plugin]:
        """The class to instantiate: a guarded subclass of a custom plugin, others as they are."""
        if not is_custom(plugin):
            return plugin
        name = plugin.plugin_name()
        terms = self.settings.of((name, *plugin.aliases))
        guard = Guard(
            name, self._profile, terms, plugin.__module__, self._now, self._told, self._sleep
        )
        self.guards[name] = guard
        return guarded_class(plugin, guard)

    def rewrap(self, plugin: Plugin) -> Plugin:
        """A guarded copy of a plugin instance; others as they are."""
        made = self.wrap(type(plugin))
        fields = {name: getattr(plugin, name) for name in plugin.__struct_fields__}
        return plugin if made is type(plugin) else made(**fields)

    def _now(self) -> float:
        return self._time()

    async def _sleep(self, seconds: float) -> None:
        await self._pass_time(seconds)

    def _told(self, change: SwitchedOff | SwitchedOn) -> None:
        self._tell(change)

    def __iter__(self) -> Iterator[Guard]:
        return iter(self.guards.values())
