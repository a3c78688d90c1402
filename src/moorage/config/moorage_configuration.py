"""MoorageConfiguration: settings kube-scheduler does not have.

It is a separate document in the same file or ConfigMap as the KubeSchedulerConfiguration, so that
kube-scheduler can still read the latter.
"""

from collections.abc import Container, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from moorage.config import strict_decoder, yaml_documents
from moorage.config.durations import Duration
from moorage.config.field_errors import (
    ConfigError,
    Path,
    Problem,
    Report,
    duplicate,
    invalid,
    required,
    unsupported,
)
from moorage.config.logging_policy import LoggingSettings, validate_logging
from moorage.config.required_points import UnpreparedPlugins
from moorage.config.types import ConfigStruct

FallbackScore = Annotated[int, msgspec.Meta(ge=0, le=100)]
FailureThreshold = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class WhenOpen(StrEnum):
    """What happens at the hooks of a plugin that was switched off."""

    FAIL = "Fail"
    IGNORE = "Ignore"
    FALLBACK = "Fallback"


class GuardSettings(ConfigStruct, frozen=True):
    """How long a plugin may take, and when it is switched off.

    `deadline` is for one extension point in one attempt, over all nodes; `bind_deadline` for
    PreBind and Bind, which may wait. Zero means no limit. After `failure_threshold` failed attempts
    in a row (zero for never) the plugin is switched off for `cooldown`; then one attempt tries it.
    """

    deadline: Duration = Duration.of_seconds(1)
    bind_deadline: Duration = Duration.of_seconds(600)
    failure_threshold: FailureThreshold = 5
    cooldown: Duration = Duration.of_seconds(30)
    when_open: WhenOpen = WhenOpen.FAIL
    fallback_score: FallbackScore = 0


class PluginGuardSettings(ConfigStruct, frozen=True, omit_defaults=True):
    """The settings that differ for one plugin."""

    name: str = ""
    deadline: Duration | None = None
    bind_deadline: Duration | None = None
    failure_threshold: FailureThreshold | None = None
    cooldown: Duration | None = None
    when_open: WhenOpen | None = None
    fallback_score: FallbackScore | None = None


class PluginGuard(GuardSettings, frozen=True):
    """The settings for all custom plugins, and those of single plugins."""

    plugins: tuple[PluginGuardSettings, ...] = ()

    def of(self, names: Container[str]) -> GuardSettings:
        """The settings of the plugin with these names."""
        own = next((terms for terms in self.plugins if terms.name in names), PluginGuardSettings())
        fields = GuardSettings.__struct_fields__
        given = {name: getattr(own, name) for name in fields if getattr(own, name) is not None}
        return GuardSettings(**{name: getattr(self, name) for name in fields} | given)


DEFAULT_GUARD: Final = PluginGuard()
NO_LIMITS: Final = PluginGuard(deadline=Duration(0), bind_deadline=Duration(0), failure_threshold=0)
"""No deadlines and no switching off, for tests; answers are still checked."""

_DURATIONS: Final = (("deadline", "deadline"), ("bind_deadline", "bindDeadline"))


def validate_plugin_guard(guard: PluginGuard, report: Report, path: Path) -> None:
    """Report what is wrong with values that decode well."""
    _check_durations(guard, report, path)
    seen: set[str] = set()
    for i, terms in enumerate(guard.plugins):
        at = (*path, "plugins", i)
        if not terms.name:
            report.problem((*at, "name"), required("the plugin these terms are for"))
        elif terms.name in seen:
            report.problem((*at, "name"), duplicate(terms.name))
        seen.add(terms.name)
        _check_durations(terms, report, at)


def _check_durations(
    terms: GuardSettings | PluginGuardSettings, report: Report, path: Path
) -> None:
    for field, name in _DURATIONS:
        given = getattr(terms, field)
        if given is not None and given < 0:
            report.problem((*path, name), invalid(given, "must not be negative; 0s is no limit"))
    if terms.cooldown is not None and terms.cooldown <= 0:
        report.problem((*path, "cooldown"), invalid(terms.cooldown, "must be greater than zero"))


API_VERSION: Final = "moorage/v1"
KIND: Final = "MoorageConfiguration"


class YieldTo(ConfigStruct, frozen=True):
    """A scheduler that goes first, and how long to wait for each of its pods."""

    scheduler_name: str = ""
    patience: Duration = Duration.of_seconds(2)


def validate_yields_to(given: tuple[YieldTo, ...], report: Report, path: Path) -> None:
    """Report what is wrong with values that decode well."""
    seen: set[str] = set()
    for i, each in enumerate(given):
        at = (*path, i, "schedulerName")
        if not each.scheduler_name:
            report.problem(at, required("the scheduler that goes first"))
        elif each.scheduler_name in seen:
            report.problem(at, duplicate(each.scheduler_name))
        seen.add(each.scheduler_name)
        if each.patience <= 0:
            detail = invalid(each.patience, "must be greater than zero")
            report.problem((*path, i, "patience"), detail)


class MoorageConfiguration(ConfigStruct, frozen=True):
    """The settings of Moorage itself."""

    api_version: str = API_VERSION
    kind: str = KIND
    plugin_guard: PluginGuard = PluginGuard()
    unprepared_plugins: UnpreparedPlugins = UnpreparedPlugins.IGNORE
    logging: LoggingSettings = LoggingSettings()
    yields_to: tuple[YieldTo, ...] = ()
    node_cooldown: Duration = Duration.of_seconds(30)
    """How long a node is left alone whose kubelet rejected a pod that we bound; 0s for not."""


DEFAULT_MOORAGE: Final = MoorageConfiguration()


def load_moorage_configuration(
    document: str | bytes | Mapping[str, Any], *, source: str = ""
) -> MoorageConfiguration:
    """The only such document of a text; without one, the defaults. Raises ConfigError."""
    found = yaml_documents.find_documents(document, KIND, source)
    if not found:
        return DEFAULT_MOORAGE
    if len(found) > 1:
        message = f"{len(found)} documents of kind {KIND} where one is expected"
        raise ConfigError([Problem("", message, 0, source)])
    report = Report(source, found[0].places, found[0].within)
    configuration = strict_decoder.decode(found[0].value, MoorageConfiguration, report)
    if configuration is not None:
        if configuration.api_version != API_VERSION:
            detail = unsupported(configuration.api_version, (API_VERSION,))
            report.problem(("apiVersion",), detail)
        validate_plugin_guard(configuration.plugin_guard, report, ("pluginGuard",))
        validate_yields_to(configuration.yields_to, report, ("yieldsTo",))
        validate_logging(configuration.logging, report, ("logging",))
        if configuration.node_cooldown < 0:
            detail = invalid(configuration.node_cooldown, "must not be negative; 0s is off")
            report.problem(("nodeCooldown",), detail)
    report.raise_problems()
    assert configuration is not None
    return configuration
