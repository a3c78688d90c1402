"""The subclass of a custom plugin whose hooks go through its guard.

Only hooks that the plugin itself implements are wrapped, so the engine still sees which form of a
point it has.
"""

import functools
import types
from typing import Any

from moorage.framework import points
from moorage.framework.plugin import Plugin
from moorage.framework.verdicts import SKIP
from moorage.guard import asking, binding, describing, ordering, rows
from moorage.guard.asking import Function, Wrapper
from moorage.guard.calling import BINDING, Guard

WRAPPERS: dict[str, Wrapper] = {
    "pre_enqueue": asking.pre_enqueue,
    "sort_key": ordering.sort_key,
    "pre_filter": asking.asked("PreFilter"),
    "add_pod": asking.asked("PreFilter"),
    "remove_pod": asking.asked("PreFilter"),
    "filter": asking.asked("Filter"),
    "filter_all": rows.filter_all,
    "admits_all": asking.foreseeing,
    "rejection": asking.explaining,
    "post_filter": asking.asked("PostFilter"),
    "pre_score": asking.asked("PreScore"),
    "score": asking.scoring,
    "score_all": rows.score_all,
    "normalize": rows.normalize,
    "reserve": asking.asked("Reserve"),
    "unreserve": asking.undoing,
    "permit": asking.asked("Permit"),
    "pre_bind_pre_flight": asking.asked("PreBindPreFlight", BINDING, SKIP),
    "pre_bind": binding.step("PreBind", None),
    "bind": binding.step("Bind", SKIP),
    "post_bind": asking.asked("PostBind", BINDING),
    "sign": asking.signing,
    "events": describing.hinting,
    "concerns": describing.concerns,
    "inherit": describing.inheriting,
}


def guarded(plugin: type[Plugin], guard: Guard) -> type[Plugin]:
    """A plugin class that behaves as the given one, and does no harm."""
    own = {name: hook for name in WRAPPERS if (hook := implemented(plugin, name)) is not None}
    guard.normalizes = "normalize" in own
    body: dict[str, Any] = {
        name: functools.wraps(hook)(WRAPPERS[name](guard, hook)) for name, hook in own.items()
    }
    if "filter" in own:
        body["filter_each"] = rows.filter_each(guard, own["filter"])
    if "score" in own:
        body["score_each"] = rows.score_each(guard, own["score"])
    body["origin"] = classmethod(lambda cls: plugin)
    body |= {"__module__": plugin.__module__, "__doc__": plugin.__doc__}
    return types.new_class(
        plugin.__name__, (plugin,), {"frozen": True}, lambda namespace: namespace.update(body)
    )


def implemented(plugin: type[Plugin], name: str) -> Function | None:
    """The hook, where it is not the one that every plugin has."""
    hook: Function | None = getattr(plugin, name, None)
    for base in (Plugin, *points.POINTS.values()):
        if hook is getattr(base, name, None):
            return None
    return hook
