"""The profile an extender answers with: the chosen one, less kube-scheduler's plugins."""

import time
from typing import NamedTuple

import msgspec

from moorage.app import built_in_plugins
from moorage.app.inputs import read_configuration
from moorage.config import loader
from moorage.config.field_errors import InputError
from moorage.config.loader import Loaded
from moorage.config.plugin_catalogue import PluginInfo
from moorage.config.resolved_profile import resolve
from moorage.config.types import API_VERSION, KIND, Profile, SchedulerConfiguration
from moorage.cycle import profile as profiles
from moorage.cycle.profile import Profile as Built
from moorage.extender import out_of_tree_plugins
from moorage.framework.plugin_registry import Registry
from moorage.guard.guards import Guards
from moorage.observe.log_formats import Format


class ExtenderOptions(msgspec.Struct, frozen=True):
    """What was given on the command line."""

    config: str | None
    profile: str
    plugins: tuple[str, ...]
    more: tuple[str, ...]
    kubeconfig: str
    context: str
    no_cluster: bool
    serve_bind: bool
    anonymous: bool
    bind_address: str
    port: int
    http: bool
    tls_cert_file: str
    tls_private_key_file: str
    cert_dir: str
    client_ca_file: str
    url: str
    stanza: bool
    verbosity: int
    log_format: Format


class ExtenderProfile(NamedTuple):
    """The `whole` profile, and the part of it that answers."""

    whole: Built
    profile: Built


def choose_profile(options: ExtenderOptions, known: Registry) -> ExtenderProfile:
    """The chosen profile; InputError if it has no plugin that could answer."""
    described = built_in_plugins.describe_plugins(known)
    loaded = _configuration(options, known, described)
    configured = _named(loaded.configuration, options.profile)
    resolved = resolve(configured, described)
    _check(options, resolved.plugins)
    guards = Guards(loaded.moorage.plugin_guard, configured.scheduler_name)
    guards.attach(time.time)
    whole = profiles.build(resolved, known, guards=guards)
    chosen = out_of_tree_plugins.restrict_to_out_of_tree(resolved, whole, options.more)
    if not out_of_tree_plugins.served_verbs(chosen):
        raise InputError(
            [
                f"profile {configured.scheduler_name} has nothing to say: no plugin that filters "
                "or scores besides kube-scheduler's own; enable one in --config, bring one with "
                "--plugin, or let one of kube-scheduler's own answer with --run NAME"
            ]
        )
    return ExtenderProfile(whole, chosen)


def _configuration(
    options: ExtenderOptions, known: Registry, described: dict[str, PluginInfo]
) -> Loaded:
    if options.config is not None:
        return read_configuration(options.config, known)
    given = set(known) - set(built_in_plugins.installed())
    enabled = [{"name": name} for name in sorted(given)]
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "profiles": [{"plugins": {"multiPoint": {"enabled": enabled}}}],
    }
    return loader.load(document, known=described, source="--plugin")


def _named(loaded: SchedulerConfiguration, name: str) -> Profile:
    for configured in loaded.profiles:
        if name in ("", configured.scheduler_name):
            return configured
    known = ", ".join(configured.scheduler_name for configured in loaded.profiles)
    raise InputError([f"--profile {name}: no such profile: {known} are there"])


def _check(options: ExtenderOptions, plugins: tuple[str, ...]) -> None:
    unknown = [name for name in options.more if name not in plugins]
    if unknown:
        raise InputError([f"--run {name}: the profile does not enable it" for name in unknown])
