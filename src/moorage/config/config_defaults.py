"""Default values of the configuration as a whole, filled in as kube-scheduler does."""

from typing import Any, TypeVar

import msgspec

from moorage.config import default_plugins, lease_config, standin_config
from moorage.config.resolved_profile import Enabled
from moorage.config.types import (
    ALL,
    MULTI_POINT,
    POINTS,
    Extender,
    PluginConfig,
    PluginRef,
    PluginSet,
    Profile,
    SchedulerConfiguration,
)

T = TypeVar("T", bound=msgspec.Struct)


def complete_configuration(given: SchedulerConfiguration) -> SchedulerConfiguration:
    """Fill in everything but the plugins and their arguments."""
    percentage, contention = given.percentage_of_nodes_to_score, given.enable_contention_profiling
    profiles = _named(given.profiles)
    return msgspec.structs.replace(
        given,
        leader_election=lease_config.complete_election(
            _without_zeros(given.leader_election), profiles[0].scheduler_name
        ),
        client_connection=_without_zeros(given.client_connection),
        enable_contention_profiling=given.enable_profiling if contention is None else contention,
        percentage_of_nodes_to_score=(
            default_plugins.PERCENTAGE_OF_NODES_TO_SCORE if percentage is None else percentage
        ),
        profiles=tuple(map(standin_config.complete_standins, profiles)),
        extenders=tuple(_extender(extender) for extender in given.extenders),
    )


def write_out_points(profile: Profile, points: dict[str, tuple[Enabled, ...]]) -> Profile:
    """Write out what runs at each point, so that multiPoint has no effect any more.

    If it is loaded again, also by kube-scheduler, such a profile gives the same plugins.
    """
    sets = {
        point: PluginSet(tuple(PluginRef(name, weight) for name, weight in points[point]))
        for point in POINTS
    }
    sets[MULTI_POINT] = PluginSet(disabled=(PluginRef(ALL),))
    return msgspec.structs.replace(profile, plugins=profile.plugins.replace(**sets))


def ignore_resources(configs: list[PluginConfig], ignored: list[str]) -> list[PluginConfig]:
    """Let NodeResourcesFit ignore extenders' resources; they take precedence over its args."""
    if not ignored:
        return configs
    return [
        PluginConfig(config.name, {**config.args, "ignoredResources": ignored})
        if config.name == "NodeResourcesFit"
        else config
        for config in configs
    ]


def ignored_resources(extenders: tuple[Extender, ...]) -> list[str]:
    """Return the resources that extenders manage and that the scheduler must ignore."""
    return [r.name for e in extenders for r in e.managed_resources if r.ignored_by_scheduler]


def _named(profiles: tuple[Profile, ...]) -> tuple[Profile, ...]:
    """Give a single profile the default name; several must have names of their own."""
    profiles = profiles or (Profile(),)
    if len(profiles) > 1 or profiles[0].scheduler_name:
        return profiles
    return (msgspec.structs.replace(profiles[0], scheduler_name=default_plugins.SCHEDULER_NAME),)


def _extender(extender: Extender) -> Extender:
    if extender.http_timeout:
        return extender
    return msgspec.structs.replace(extender, http_timeout=Extender().http_timeout)


def _without_zeros(struct: T) -> T:
    """Replace zeros and empty text, which stand for nothing given, by defaults."""
    default = type(struct)()
    changes: dict[str, Any] = {
        field: getattr(default, field)
        for field in struct.__struct_fields__
        if not getattr(struct, field) and not isinstance(getattr(struct, field), bool)
    }
    return msgspec.structs.replace(struct, **changes)
