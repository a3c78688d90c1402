"""The plugins a configuration may name: their points, arguments and aliases, and similar names.

Plugins are described to this package (`PluginInfo`), so that it never imports one.
"""

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from moorage.config import default_plugins
from moorage.config.types import MULTI_POINT, POINTS, PluginRef, Plugins, PluginSet, Profile


class PluginInfo(msgspec.Struct, frozen=True):
    """What a configuration needs to know of a plugin, which may have several names.

    `points` are config names (`filter`, `preScore`, ...). `args` is the struct that decodes its
    `pluginConfig` args, None if it takes none. `needs` are the points that go by what another has
    noted: `{"score": "preScore"}`. `faults` keep it from running.
    """

    name: str
    points: frozenset[str]
    args: type[msgspec.Struct] | None = None
    needs: Mapping[str, str] = MappingProxyType({})
    faults: tuple[str, ...] = ()


class PluginCatalogue:
    """The plugins that a configuration may name: kube-scheduler's own, and those described.

    Without descriptions (`known` is None) any name is accepted, because nothing is known of it.
    """

    def __init__(self, known: Mapping[str, PluginInfo] | None) -> None:
        self._described: Mapping[str, PluginInfo] = (
            known if known is not None else MappingProxyType({})
        )
        self.is_open = known is None

    def __contains__(self, name: object) -> bool:
        """Whether the plugin is known."""
        return name in self._described or name in default_plugins.POINTS_OF

    def points(self, name: str) -> frozenset[str] | None:
        """Return the points a plugin implements, None if nothing is known of it.

        For one of kube-scheduler's own these are its points there, and those described.
        """
        if name not in self:
            return None
        described = self._described.get(name)
        own = default_plugins.POINTS_OF.get(name, frozenset())
        return own | described.points if described else own

    def args(self, name: str) -> type[msgspec.Struct] | None:
        """Return the struct that decodes the arguments of a described plugin."""
        described = self._described.get(name)
        return described.args if described else None

    def needs(self, name: str) -> Mapping[str, str]:
        """Return which points of a described plugin need which others."""
        described = self._described.get(name)
        return described.needs if described else MappingProxyType({})

    def faults(self, name: str) -> tuple[str, ...]:
        """Return what keeps a described plugin from running."""
        described = self._described.get(name)
        return described.faults if described else ()

    def own_name(self, name: str) -> str:
        """The own name of a plugin, given any of its names."""
        described = self._described.get(name)
        return described.name if described else name

    def others(self, name: str) -> list[str]:
        """The other names of a plugin."""
        return [
            other
            for other, described in self._described.items()
            if described.name == name and other != name
        ]

    def similar(self, name: str) -> str | None:
        """Return the known name that looks most like this one."""
        return closest_name(
            name.removesuffix("Plugin"), {*self._described, *default_plugins.POINTS_OF}
        )


def closest_name(name: str, choices: Iterable[str]) -> str | None:
    """Return the choice that looks most like `name`, or begins with it, whatever their case."""
    by_lower = {choice.lower(): choice for choice in sorted(choices)}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    if not found and len(name) > 3:
        found = [choice for choice in by_lower if choice.startswith(name.lower())]
    return by_lower[found[0]] if found else None


def did_you_mean(found: str | None) -> str:
    """Word a suggestion, if there is one."""
    return f'; did you mean "{found}"?' if found else ""


def with_own_plugin_names(profile: Profile, catalogue: PluginCatalogue) -> Profile:
    """The profile with every plugin under its own name."""
    configs = tuple(
        msgspec.structs.replace(config, name=catalogue.own_name(config.name))
        for config in profile.plugin_config
    )
    plugins = _plugins(profile.plugins, catalogue)
    return msgspec.structs.replace(profile, plugins=plugins, plugin_config=configs)


def _plugins(plugins: Plugins, catalogue: PluginCatalogue) -> Plugins:
    points = (MULTI_POINT, *POINTS)
    return plugins.replace(**{at: _set(plugins.at(at), catalogue) for at in points})


def _set(plugins: PluginSet, catalogue: PluginCatalogue) -> PluginSet:
    return PluginSet(_refs(plugins.enabled, catalogue), _refs(plugins.disabled, catalogue))


def _refs(refs: tuple[PluginRef, ...], catalogue: PluginCatalogue) -> tuple[PluginRef, ...]:
    return tuple(PluginRef(catalogue.own_name(ref.name), ref.weight) for ref in refs)
