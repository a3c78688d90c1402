"""The profile that answers for an extender, and the plugins of it that do."""

import time
from typing import NamedTuple

from moorage.cli.configuration import configuration
from moorage.cli.extender_options import Options
from moorage.config import loading
from moorage.config.known import PluginInfo
from moorage.config.loading import Loaded
from moorage.config.resolving import resolve
from moorage.config.types import API_VERSION, KIND, Profile, SchedulerConfiguration
from moorage.cycle import profile as profiles
from moorage.cycle.profile import Profile as Built
from moorage.extender import choosing
from moorage.framework.registry import Registry
from moorage.guard import Guards
from moorage.plugins import registry
from moorage.simulate.manifests import InputError


class Chosen(NamedTuple):
    """The `whole` profile, and of it what answers."""

    whole: Built
    profile: Built


def choose(options: Options, known: Registry) -> Chosen:
    """The profile that was asked for; InputError where it has nothing to say."""
    described = registry.describe(known)
    loaded = _configuration(options, known, described)
    configured = _named(loaded.configuration, options.profile)
    resolved = resolve(configured, described)
    _check(options, resolved.plugins)
    guards = Guards(loaded.moorage.plugin_guard, configured.scheduler_name)
    guards.clock = time.time
    whole = profiles.build(resolved, known, guards=guards)
    chosen = choosing.restrict(resolved, whole, options.more)
    if not choosing.verbs(chosen):
        raise InputError(
            [
                f"profile {configured.scheduler_name} has nothing to say: no plugin that filters "
                "or scores besides kube-scheduler's own; enable one in --config, bring one with "
                "--plugin, or let one of kube-scheduler's own answer with --run NAME"
            ]
        )
    return Chosen(whole, chosen)


def _configuration(options: Options, known: Registry, described: dict[str, PluginInfo]) -> Loaded:
    if options.config is not None:
        return configuration(options.config, known)
    given = set(known) - set(registry.installed())
    enabled = [{"name": name} for name in sorted(given)]
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "profiles": [{"plugins": {"multiPoint": {"enabled": enabled}}}],
    }
    return loading.load(document, known=described, source="--plugin")


def _named(loaded: SchedulerConfiguration, name: str) -> Profile:
    for configured in loaded.profiles:
        if name in ("", configured.scheduler_name):
            return configured
    known = ", ".join(configured.scheduler_name for configured in loaded.profiles)
    raise InputError([f"--profile {name}: no such profile: {known} are there"])


def _check(options: Options, plugins: tuple[str, ...]) -> None:
    unknown = [name for name in options.more if name not in plugins]
    if unknown:
        raise InputError([f"--run {name}: the profile does not enable it" for name in unknown])
