"""A plugin with several names is one plugin: a profile is read as if it used the plugin's own.

So it runs once however it is named, is disabled by any of its names, and finds its arguments
under any of them; naming it twice in one list is naming it twice.
"""

import msgspec

from moorage.config.known import Catalogue
from moorage.config.types import MULTI_POINT, POINTS, PluginRef, Plugins, PluginSet, Profile


def by_own_names(profile: Profile, catalogue: Catalogue) -> Profile:
    """The profile with every plugin under its own name."""
    configs = tuple(
        msgspec.structs.replace(config, name=catalogue.own_name(config.name))
        for config in profile.plugin_config
    )
    plugins = _plugins(profile.plugins, catalogue)
    return msgspec.structs.replace(profile, plugins=plugins, plugin_config=configs)


def _plugins(plugins: Plugins, catalogue: Catalogue) -> Plugins:
    points = (MULTI_POINT, *POINTS)
    return plugins.replace(**{at: _set(plugins.at(at), catalogue) for at in points})


def _set(plugins: PluginSet, catalogue: Catalogue) -> PluginSet:
    return PluginSet(_refs(plugins.enabled, catalogue), _refs(plugins.disabled, catalogue))


def _refs(refs: tuple[PluginRef, ...], catalogue: Catalogue) -> tuple[PluginRef, ...]:
    return tuple(PluginRef(catalogue.own_name(ref.name), ref.weight) for ref in refs)
