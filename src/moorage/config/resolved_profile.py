"""A resolved profile: the plugins at each extension point, their order, weights and arguments.

Precedence, as in kube-scheduler: the extension point's own settings, then multiPoint's, then the
defaults, which are themselves enabled through multiPoint. At each point these run, in this order:

1. the plugins the point enables that multiPoint enables too, in the point's order;
2. the other plugins that multiPoint enables and that implement the point, in multiPoint's order;
3. the other plugins the point enables, in the point's order.

A plugin that the point disables is not taken from multiPoint (so it runs in part 3 if the point
enables it as well). `*` at a point takes nothing from multiPoint.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.config.plugin_catalogue import PluginCatalogue, PluginInfo
from moorage.config.types import ALL, POINTS, WEIGHTED, PluginRef, Plugins, PluginSet, Profile


class Enabled(NamedTuple):
    """A plugin that runs at a point; the weight is 0 where weights do not count."""

    name: str
    weight: int


class ResolvedProfile(msgspec.Struct, frozen=True):
    """A profile with nothing left to decide.

    `points` has every extension point by config name. `args` are plain values, ready to be
    decoded by the plugin; a plugin without arguments is absent.
    """

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    points: dict[str, tuple[Enabled, ...]]
    args: dict[str, dict[str, Any]]

    @property
    def plugins(self) -> tuple[str, ...]:
        """The names of all plugins that run somewhere, each once."""
        return tuple({e.name: None for at in self.points.values() for e in at})


def resolve(profile: Profile, known: Mapping[str, PluginInfo] | None = None) -> ResolvedProfile:
    """Resolve a completed profile.

    A profile that was loaded with the plugins known needs no `known` again: its points are final.
    """
    return ResolvedProfile(
        scheduler_name=profile.scheduler_name,
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        points=expand_multi_point(profile.plugins, PluginCatalogue(known)),
        args={config.name: config.args for config in profile.plugin_config if config.args},
    )


def expand_multi_point(
    plugins: Plugins, catalogue: PluginCatalogue
) -> dict[str, tuple[Enabled, ...]]:
    """Return what runs at each point."""
    return {point: _at(point, plugins, catalogue) for point in POINTS}


def _at(point: str, plugins: Plugins, catalogue: PluginCatalogue) -> tuple[Enabled, ...]:
    names = _order(point, plugins.at(point), plugins.multi_point, catalogue)
    if point not in WEIGHTED:
        return tuple(Enabled(name, 0) for name in names)
    weights = _weights((*plugins.at(point).enabled, *plugins.multi_point.enabled))
    return tuple(Enabled(name, weights[name]) for name in names)


def _order(
    point: str, own: PluginSet, multi_point: PluginSet, catalogue: PluginCatalogue
) -> list[str]:
    explicit = [ref.name for ref in own.enabled]
    disabled = {ref.name for ref in own.disabled}
    if ALL in disabled:
        return explicit
    brought = [
        ref.name
        for ref in multi_point.enabled
        if ref.name not in disabled and point in (catalogue.points(ref.name) or ())
    ]
    overriding = [name for name in explicit if name in brought]
    return [
        *overriding,
        *(name for name in brought if name not in explicit),
        *(name for name in explicit if name not in brought),
    ]


def _weights(refs: tuple[PluginRef, ...]) -> dict[str, int]:
    """Return weights by plugin; the first entry of a plugin counts, and 0 becomes 1."""
    weights: dict[str, int] = {}
    for ref in refs:
        weights.setdefault(ref.name, ref.weight or 1)
    return weights
