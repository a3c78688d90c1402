"""From a configuration that was found right to profiles that are ready to take over."""

from collections.abc import Mapping

import msgspec

from moorage.config.canary import ProfileCanary
from moorage.config.guarding import PluginGuard
from moorage.config.types import SchedulerConfiguration
from moorage.framework.plugin import Plugin
from moorage.queue.backoff import Backoff
from moorage.reload.whole import Whole
from moorage.scheduler.canary import Canary
from moorage.scheduler.reconfiguring import Version
from moorage.scheduler.stand_in import stand_ins
from moorage.simulate.running import build_profiles


def version(
    found: Whole, known: Mapping[str, type[Plugin]], generation: int, digest: str
) -> Version:
    """A whole configuration, made ready; nothing of it is in force yet."""
    configuration, guard = found.configuration, found.loaded.moorage.plugin_guard
    return Version(
        generation,
        digest,
        build_profiles(configuration, known, guard),
        backoff_of(configuration),
        {
            each.spec.scheduler_name: _canary(each, configuration, known, guard)
            for each in found.canaries
        },
        stand_ins=stand_ins(configuration),
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
    return Canary(given, build_profiles(alone, known, guard)[given.spec.scheduler_name])
