"""One configuration with its policies and canaries, checked together across all texts.

The same checks are made at start, at each reload, and by `moorage config check`.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

from moorage.app import config_text
from moorage.app.built_in_plugins import describe_plugins
from moorage.app.config_text import ConfigText
from moorage.app.plugin_construction import plugin_construction
from moorage.config import (
    loader,
    logging_policy,
    moorage_configuration,
    profile_canary,
    scheduling_policy,
    strict_decoder,
)
from moorage.config.field_errors import ConfigError, Problem, duplicate
from moorage.config.loader import Loaded
from moorage.config.logging_policy import LoggingRule, LoggingSettings
from moorage.config.plugin_catalogue import PluginInfo
from moorage.config.plugin_validator import UnknownPlugins
from moorage.config.profile_canary import Canaries, ProfileCanary
from moorage.config.resolved_profile import Enabled, resolve
from moorage.config.scheduling_policy import SchedulingPolicy
from moorage.config.types import API_VERSION, KIND, PluginConfig, Profile, SchedulerConfiguration
from moorage.framework.plugin import Plugin
from moorage.policies.load import adaptive_scheduling
from moorage.policies.scheduling_policies import SchedulingPolicies


def add_policies(
    configuration: SchedulerConfiguration, policies: Iterable[SchedulingPolicy]
) -> SchedulerConfiguration:
    """The configuration with these policies added to every profile that runs the plugin.

    A policy of the same name in a profile's own arguments takes precedence.
    """
    given = list(policies)
    profiles = tuple(add_policies_to_profile(profile, given) for profile in configuration.profiles)
    return msgspec.structs.replace(configuration, profiles=profiles)


def add_policies_to_profile(profile: Profile, policies: Iterable[SchedulingPolicy]) -> Profile:
    """One profile with these policies, if it runs the plugin."""
    documents = [strict_decoder.encode(policy) for policy in policies]
    configs = tuple(_with_documents(config, documents) for config in profile.plugin_config)
    return msgspec.structs.replace(profile, plugin_config=configs)


def _with_documents(config: PluginConfig, documents: list[dict[str, Any]]) -> PluginConfig:
    if config.name != SchedulingPolicies.plugin_name():
        return config
    own = config.args.get("policies", [])
    known = {_name(document) for document in own}
    added = [document for document in documents if _name(document) not in known]
    return PluginConfig(config.name, {**config.args, "policies": [*own, *added]})


def applies_policies(configuration: SchedulerConfiguration) -> bool:
    """Whether any profile runs the plugin that applies policies."""
    wanted = SchedulingPolicies.plugin_name()
    return any(
        config.name == wanted for each in configuration.profiles for config in each.plugin_config
    )


def ineffective_policies(configuration: SchedulerConfiguration) -> list[str]:
    """What profiles have of policies, and do not apply: the plugin does not run where it would."""
    plugin = SchedulingPolicies.plugin_name()
    return [
        _WITHOUT_EFFECT.format(profile.scheduler_name, plugin, point, part, ", ".join(names))
        for profile in configuration.profiles
        for config in profile.plugin_config
        if config.name == plugin
        for point, part, fields in _PARTS
        if not _runs(plugin, resolve(profile).points[point])
        and (names := _policies_with(config.args.get("policies", ()), fields))
    ]


_WITHOUT_EFFECT: Final = (
    'profile "{}" does not run {} at {}, so nothing comes there of the {} of SchedulingPolicy {}: '
    "enable it at multiPoint"
)
_PARTS: Final = (
    ("preFilter", "tolerations", ("tolerations",)),
    ("filter", "required node affinity", ("requiredDuringSchedulingIgnoredDuringExecution",)),
    (
        "score",
        "weights and preferences",
        ("resourceWeights", "preferredDuringSchedulingIgnoredDuringExecution"),
    ),
)
"""By extension point: what a policy says that is applied there, and where it says so."""


def unheeded_outcomes(profiles: Iterable[Profile]) -> list[str]:
    """Which profiles score with a plugin that learns from placements, and tell it of none."""
    plugin = adaptive_scheduling.NAME
    return [
        _LEARNS_NOTHING.format(profile.scheduler_name, plugin)
        for profile in profiles
        for points in (resolve(profile).points,)
        if _runs(plugin, points["score"]) and not _runs(plugin, points["reserve"])
    ]


_LEARNS_NOTHING: Final = (
    'profile "{}" runs {} at score and not at reserve, so it learns nothing from what becomes of '
    "pods, and goals have no effect: enable it at multiPoint"
)


def _runs(plugin: str, at: Iterable[Enabled]) -> bool:
    return any(entry.name == plugin for entry in at)


def _policies_with(documents: Iterable[dict[str, Any]], fields: Iterable[str]) -> list[str]:
    """The names of the policies that have one of these fields, of their own or of affinity."""
    return [
        _name(document)
        for document in documents
        if any(
            document["spec"].get(field) or (document["spec"].get("nodeAffinity") or {}).get(field)
            for field in fields
        )
    ]


def _name(document: dict[str, Any]) -> str:
    return str(document["metadata"]["name"])


KINDS: Final = (
    KIND,
    moorage_configuration.KIND,
    scheduling_policy.KIND,
    profile_canary.KIND,
    logging_policy.KIND,
)
UNAPPLIED: Final = (
    "no profile runs the plugin SchedulingPolicies, so SchedulingPolicy documents have no effect: "
    "enable it at multiPoint"
)
POLICIES_ALONE: Final = (
    "there is no KubeSchedulerConfiguration: the policies are checked by themselves, and have an "
    "effect where a profile enables SchedulingPolicies at multiPoint"
)
POLICIES_APPLIED: Final = ConfigText(
    "",
    {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "SchedulingPolicies"}]}}}],
    },
)
"""The configuration with which policies are checked if none is given."""
T = TypeVar("T")
P = ParamSpec("P")


class ConfigBundle(msgspec.Struct, frozen=True):
    """The content of all texts together, and the warnings about it."""

    loaded: Loaded
    policies: tuple[SchedulingPolicy, ...] = ()
    canaries: tuple[ProfileCanary, ...] = ()
    warnings: tuple[str, ...] = ()
    logging_rules: tuple[LoggingRule, ...] = ()

    @property
    def logging(self) -> LoggingSettings:
        """The settings of logging: the MoorageConfiguration's, then those of Policy documents."""
        own = self.loaded.moorage.logging
        return msgspec.structs.replace(own, rules=(*own.rules, *self.logging_rules))

    @property
    def configuration(self) -> SchedulerConfiguration:
        return self.loaded.configuration

    def digest(self, plugins: Iterable[str] = ()) -> str:
        """A short digest of the content; `plugins` are digests of plugin files."""
        said = (self.configuration, self.loaded.moorage, *self.canaries, *self.logging_rules)
        parts = [strict_decoder.encode(each) for each in said]
        raw = msgspec.json.encode([parts, list(plugins)], order="sorted")
        return hashlib.sha256(raw).hexdigest()[:12]


def has_policies_only(given: Sequence[ConfigText]) -> bool:
    """Whether the texts have SchedulingPolicies, but no configuration that would apply them."""

    def count(kind: str) -> int:
        return sum(config_text.count_documents(text, kind) for text in given)

    return not count(KIND) and count(scheduling_policy.KIND) > 0


@plugin_construction()
def load_bundle(
    given: Sequence[ConfigText],
    known: Mapping[str, type[Plugin]],
    *,
    unknown_plugins: UnknownPlugins = "error",
) -> ConfigBundle:
    """Load all texts; ConfigError with every error in any of them."""
    described, faults = describe_plugins(known), _Problems()
    loaded = faults.catch(_loaded, given, described, unknown_plugins)
    policies = _policies(given, faults)
    rules = [rule for text in given for rule in faults.catch(_logging_rules, text) or ()]
    for text in given:
        faults.problems += faults.catch(config_text.unread_documents, text, KINDS) or []
    canaries: list[tuple[str, ProfileCanary]] = []
    warnings: list[str] = []
    for text in given:
        found = (
            None
            if loaded is None
            else faults.catch(_canaries, text, loaded, described, unknown_plugins)
        )
        if found is not None:
            canaries += [(text.source, each) for each in found.found]
            warnings += found.warnings
    faults.problems += profile_canary.check_together(canaries)
    faults.raise_them()
    assert loaded is not None
    joined = _joined(loaded, policies, [each for _, each in canaries], warnings)
    return msgspec.structs.replace(joined, logging_rules=tuple(rules))


def _logging_rules(text: ConfigText) -> list[LoggingRule]:
    return logging_policy.load_logging_rules(text.content, source=text.source)


def _loaded(
    given: Sequence[ConfigText], known: Mapping[str, PluginInfo], unknown: UnknownPlugins
) -> Loaded:
    main = _main(given)
    return loader.load(main.content, known=known, source=main.source, unknown_plugins=unknown)


def _canaries(
    text: ConfigText, loaded: Loaded, known: Mapping[str, PluginInfo], unknown: UnknownPlugins
) -> Canaries:
    return profile_canary.load_canaries(
        text.content,
        loaded.configuration,
        known=known,
        source=text.source,
        unknown_plugins=unknown,
        unprepared_plugins=loaded.moorage.unprepared_plugins,
    )


def _main(given: Sequence[ConfigText]) -> ConfigText:
    """The text with the only KubeSchedulerConfiguration."""
    holding = [text for text in given if config_text.count_documents(text, KIND)]
    sources = ", ".join(text.source for text in given)
    if len(holding) == 1:
        return holding[0]
    if holding:
        several = ", ".join(text.source for text in holding)
        raise ConfigError([Problem("", f"{KIND} where one is expected: {several}")])
    raise ConfigError([Problem("", f'no document with "kind: {KIND}"', 0, sources)])


def _policies(given: Sequence[ConfigText], faults: "_Problems") -> list[SchedulingPolicy]:
    found: dict[str, SchedulingPolicy] = {}
    for text in given:
        for each in (
            faults.catch(scheduling_policy.load_policies, text.content, source=text.source) or ()
        ):
            if each.name in found:
                detail = f"{duplicate(each.name)}: a SchedulingPolicy of another text has the name"
                faults.problems.append(Problem("metadata.name", detail, 0, text.source))
            found[each.name] = each
    return list(found.values())


def _joined(
    loaded: Loaded,
    policies: Sequence[SchedulingPolicy],
    canaries: Sequence[ProfileCanary],
    warnings: Sequence[str],
) -> ConfigBundle:
    configuration = add_policies(loaded.configuration, policies)
    given_policies = tuple(_with_policies(each, policies) for each in canaries)
    unapplied = [UNAPPLIED] if policies and not applies_policies(configuration) else []
    profiles = (*configuration.profiles, *(each.spec.profile for each in canaries))
    ineffective = (*ineffective_policies(configuration), *unheeded_outcomes(profiles))
    return ConfigBundle(
        msgspec.structs.replace(loaded, configuration=configuration),
        tuple(policies),
        given_policies,
        (*loaded.warnings, *warnings, *unapplied, *ineffective),
    )


def _with_policies(given: ProfileCanary, policies: Sequence[SchedulingPolicy]) -> ProfileCanary:
    spec = msgspec.structs.replace(
        given.spec, profile=add_policies_to_profile(given.spec.profile, policies)
    )
    return msgspec.structs.replace(given, spec=spec)


class _Problems:
    """Collects errors, so that one does not hide another."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def catch(self, work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T | None:
        try:
            return work(*args, **more)
        except ConfigError as error:
            self.problems += [each for each in error.problems if each not in self.problems]
            return None

    def raise_them(self) -> None:
        if self.problems:
            raise ConfigError(self.problems)
