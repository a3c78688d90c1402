"""Builds the profiles, canaries and backoff of a configuration, ready to take over."""

from collections.abc import Mapping

import msgspec

from moorage.app.built_in_plugins import describe_plugins
from moorage.app.config_bundle import ConfigBundle
from moorage.app.plugin_construction import plugin_construction
from moorage.config.field_errors import InputError
from moorage.config.moorage_configuration import DEFAULT_GUARD, PluginGuard
from moorage.config.profile_canary import ProfileCanary
from moorage.config.resolved_profile import Enabled, ResolvedProfile, resolve
from moorage.config.types import SchedulerConfiguration
from moorage.cycle import profile
from moorage.cycle.profile import Profile
from moorage.framework.plugin import Plugin
from moorage.framework.points import points_of
from moorage.framework.verdicts import PluginError
from moorage.gang.plugin import GangScheduling
from moorage.guard.guards import Guards
from moorage.queue.backoff import Backoff
from moorage.rollout.canary import Canary
from moorage.rollout.lease_sight import stand_ins
from moorage.rollout.precedence import GoesFirst, Precedence
from moorage.rollout.rollback import Canaries
from moorage.rollout.standin import StandIns
from moorage.scheduler.kubelet_rejections import KubeletRejections
from moorage.scheduler.version import Version

ALWAYS_ON: tuple[type[Plugin], ...] = (GangScheduling,)
"""Plugins that run in every profile, whether it names them or not.

They do not affect pods that do not ask for them, so that a profile means the same as in
kube-scheduler. A profile that names such a plugin itself takes precedence, and may disable it by
arguments.
"""


def build_version(
    found: ConfigBundle, known: Mapping[str, type[Plugin]], generation: int, digest: str
) -> Version:
    """Build a whole configuration; nothing of it is in force yet."""
    configuration, guard = found.configuration, found.loaded.moorage.plugin_guard
    return Version(
        generation,
        digest,
        build_profiles(configuration, known, guard),
        backoff_of(configuration),
        features={
            Canaries: {
                each.spec.scheduler_name: _canary(each, configuration, known, guard)
                for each in found.canaries
            },
            StandIns: stand_ins(configuration),
            KubeletRejections: found.loaded.moorage.node_cooldown.seconds,
            Precedence: tuple(
                GoesFirst(each.scheduler_name, each.patience.seconds)
                for each in found.loaded.moorage.yields_to
            ),
        },
    )


def backoff_of(configuration: SchedulerConfiguration) -> Backoff:
    """How long pods wait after failures."""
    initial, most = configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds
    return Backoff(float(initial), float(most))


def _canary(
    given: ProfileCanary,
    configuration: SchedulerConfiguration,
    known: Mapping[str, type[Plugin]],
    guard: PluginGuard,
) -> Canary:
    alone = msgspec.structs.replace(configuration, profiles=(given.spec.profile,))
    made = build_profiles(alone, known, guard, version=given.name)
    return Canary(given, made[given.spec.scheduler_name])


def build_profiles(
    configuration: SchedulerConfiguration,
    known: Mapping[str, type[Plugin]],
    guard: PluginGuard = DEFAULT_GUARD,
    version: str = "",
) -> dict[str, Profile]:
    """Every profile of a configuration, ready to run; custom plugins are guarded."""
    known = {**{plugin.plugin_name(): plugin for plugin in ALWAYS_ON}, **known}
    described = describe_plugins(known)
    try:
        with plugin_construction():
            return {
                configured.scheduler_name: profile.build(
                    enable_always_on(resolve(configured, described), known),
                    known,
                    _percentage(configuration.percentage_of_nodes_to_score)
                    if configured.percentage_of_nodes_to_score is None
                    else _percentage(configured.percentage_of_nodes_to_score),
                    Guards(guard, configured.scheduler_name),
                    version,
                )
                for configured in configuration.profiles
            }
    except InputError:
        raise
    except PluginError as error:
        raise InputError([f"a profile cannot be built: {error}"]) from error
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) and type(error) is not KeyboardInterrupt:
            raise
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise InputError([f"a plugin cannot be made of its arguments: {said}"]) from error


def _percentage(given: int | None) -> int | None:
    """The percentage to use: None for all nodes; 0 for kube's own formula."""
    return None if given is None or given >= 100 else given


def enable_always_on(
    resolved: ResolvedProfile, known: Mapping[str, type[Plugin]]
) -> ResolvedProfile:
    """The profile with each always-on plugin added at every point that it implements."""
    points = dict(resolved.points)
    for plugin in ALWAYS_ON:
        if any(issubclass(known.get(name, Plugin), plugin) for name in resolved.plugins):
            continue
        for point in sorted(points_of(plugin)):
            points[point] = (*points.get(point, ()), Enabled(plugin.plugin_name(), 0))
    return msgspec.structs.replace(resolved, points=points)
