"""Plugins that run in every profile, whether it names them or not.

They concern no pod that does not ask for them, so that a profile means what it means to
kube-scheduler. A profile that names one, or disables it by its arguments, has the say.
"""

from collections.abc import Mapping

import msgspec

from moorage.config.resolved_profile import Enabled, ResolvedProfile
from moorage.framework.plugin import Plugin
from moorage.framework.points import points_of
from moorage.gang.plugin import GangScheduling

ALWAYS_ON: tuple[type[Plugin], ...] = (GangScheduling,)


def enable_always_on(
    resolved: ResolvedProfile, known: Mapping[str, type[Plugin]]
) -> ResolvedProfile:
    """The profile, with each of these plugins at every point that it implements."""
    points = dict(resolved.points)
    for plugin in ALWAYS_ON:
        if any(issubclass(known.get(name, Plugin), plugin) for name in resolved.plugins):
            continue
        for point in sorted(points_of(plugin)):
            points[point] = (*points.get(point, ()), Enabled(plugin.plugin_name(), 0))
    return msgspec.structs.replace(resolved, points=points)


def with_always_on(known: Mapping[str, type[Plugin]]) -> dict[str, type[Plugin]]:
    """Every plugin that a profile may be made of."""
    return {**{plugin.plugin_name(): plugin for plugin in ALWAYS_ON}, **known}
