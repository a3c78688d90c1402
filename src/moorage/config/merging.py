"""Merging a profile's plugin sets into the default ones, as kube-scheduler does.

A default plugin that is enabled again is replaced in place, so it keeps its turn; other enabled
plugins follow the defaults. A disabled plugin is a default one left out, and `*` leaves out all.
"""

from moorage.config.types import ALL, MULTI_POINT, POINTS, PluginRef, Plugins, PluginSet


def merge(default: Plugins, custom: Plugins) -> Plugins:
    """Merge the plugins of a profile into the default ones."""
    points = (MULTI_POINT, *POINTS)
    return custom.replace(**{at: merge_set(default.at(at), custom.at(at)) for at in points})


def merge_set(default: PluginSet, custom: PluginSet) -> PluginSet:
    """Merge one plugin set into the default one of the same point."""
    disabled = tuple(PluginRef(ref.name) for ref in (*custom.disabled, *default.disabled))
    left_out = {ref.name for ref in disabled}
    last = {ref.name: i for i, ref in enumerate(custom.enabled)}
    enabled: list[PluginRef] = []
    replacing: set[int] = set()
    for ref in default.enabled if ALL not in left_out else ():
        if ref.name in left_out:
            continue
        if ref.name in last:
            replacing.add(last[ref.name])
            ref = custom.enabled[last[ref.name]]
        enabled.append(ref)
    enabled += [ref for i, ref in enumerate(custom.enabled) if i not in replacing]
    return PluginSet(tuple(enabled), disabled)
