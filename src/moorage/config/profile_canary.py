"""ProfileCanary documents: a new version of a profile for some pods, and its rollback limits."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from moorage.api import name_validation
from moorage.api.meta import ObjectMeta
from moorage.config import loader, strict_decoder, yaml_documents
from moorage.config.canary_limits import Rollback, check_rollback
from moorage.config.field_errors import (
    ConfigError,
    Path,
    Problem,
    Report,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from moorage.config.plugin_catalogue import PluginInfo
from moorage.config.plugin_validator import UnknownPlugins
from moorage.config.required_points import UnpreparedPlugins
from moorage.config.types import ConfigStruct, Profile, SchedulerConfiguration
from moorage.config.yaml_documents import Document

API_VERSION: Final = "moorage/v1"
KIND: Final = "ProfileCanary"
STABLE: Final = "stable"
"""The version name of the configured profile while a canary runs beside it."""
_PREEMPTION: Final = "DefaultPreemption"


class CanarySpec(ConfigStruct, frozen=True):
    """Which profile, how many of its pods, and what is new."""

    scheduler_name: str = ""
    percent: float = 0.0
    hash_by: Literal["pod", "owner"] = "pod"
    profile: Profile = Profile()
    rollback: Rollback = Rollback()


class ProfileCanary(ConfigStruct, frozen=True):
    """A named version of a profile."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: ObjectMeta = ObjectMeta()
    spec: CanarySpec = CanarySpec()

    @property
    def name(self) -> str:
        """The name of the version."""
        return self.metadata.name


class Canaries(msgspec.Struct, frozen=True):
    """The canaries of a text, with their profiles completed, and warnings."""

    found: tuple[ProfileCanary, ...] = ()
    warnings: tuple[str, ...] = ()


def load_canaries(
    document: str | bytes | Mapping[str, Any],
    configuration: SchedulerConfiguration,
    *,
    known: Mapping[str, PluginInfo] | None = None,
    source: str = "",
    unknown_plugins: UnknownPlugins = "error",
    unprepared_plugins: UnpreparedPlugins = UnpreparedPlugins.IGNORE,
) -> Canaries:
    """Load all canaries of a text for the profiles of a completed configuration."""
    canaries: list[ProfileCanary] = []
    problems: list[Problem] = []
    warnings: list[str] = []
    for found in yaml_documents.find_documents(document, KIND, source):
        report = Report(source, found.places, found.within)
        complete = functools.partial(
            loader.complete_profile,
            known=known,
            unknown_plugins=unknown_plugins,
            unprepared_plugins=unprepared_plugins,
        )
        canary = _canary(found, configuration, complete, report)
        if canary is not None:
            canaries.append(canary)
        problems += report.problems
        warnings += report.warnings
    if problems:
        raise ConfigError(problems)
    return Canaries(tuple(canaries), tuple(warnings))


def check_together(canaries: Sequence[tuple[str, ProfileCanary]]) -> list[Problem]:
    """Conflicts between valid canaries; each is given with its source."""
    found: list[Problem] = []
    seen: set[str] = set()
    for source, canary in canaries:
        if canary.spec.scheduler_name in seen:
            detail = f"{duplicate(canary.spec.scheduler_name)}: one canary at a time"
            found.append(Problem("spec.schedulerName", detail, 0, source, canary.name))
        seen.add(canary.spec.scheduler_name)
    return found


def _canary(
    found: Document,
    configuration: SchedulerConfiguration,
    complete: Callable[[Profile, SchedulerConfiguration, Path, Report], Profile],
    report: Report,
) -> ProfileCanary | None:
    canary = strict_decoder.decode(found.value, ProfileCanary, report)
    if canary is None:
        return None
    _check(canary, report)
    stable = _stable(canary, configuration, report)
    if stable is None or report.problems:
        return None
    given = msgspec.structs.replace(canary.spec.profile, scheduler_name=stable.scheduler_name)
    profile = complete(given, configuration, ("spec", "profile"), report)
    _check_entrance(profile, stable, report)
    spec = msgspec.structs.replace(canary.spec, profile=profile)
    return msgspec.structs.replace(canary, spec=spec)


def _stable(
    canary: ProfileCanary, configuration: SchedulerConfiguration, report: Report
) -> Profile | None:
    name = canary.spec.scheduler_name
    if not name:
        report.problem(("spec", "schedulerName"), required())
        return None
    ours = {profile.scheduler_name: profile for profile in configuration.profiles}
    if name not in ours:
        report.problem(("spec", "schedulerName"), unsupported(name, ours))
    own = canary.spec.profile.scheduler_name
    if own not in ("", name):
        detail = forbidden(f"the profile is that of {name}; leave the name out")
        report.problem(("spec", "profile", "schedulerName"), detail)
    if canary.spec.profile.stand_in_for:
        detail = forbidden("a profile stands in for another scheduler, not a version of it")
        report.problem(("spec", "profile", "standInFor"), detail)
    return ours.get(name)


def _check(canary: ProfileCanary, report: Report) -> None:
    if canary.api_version != API_VERSION:
        report.problem(("apiVersion",), unsupported(canary.api_version, (API_VERSION,)))
    if not canary.name:
        report.problem(("metadata", "name"), required("it names the version"))
    elif canary.name == STABLE or name_validation.label_key_faults(canary.name):
        detail = f'must be a name, and not "{STABLE}"'
        report.problem(("metadata", "name"), invalid(canary.name, detail))
    if not 0 <= canary.spec.percent <= 100:
        detail = invalid(canary.spec.percent, "not in valid range [0-100]")
        report.problem(("spec", "percent"), detail)
    check_rollback(canary.spec.rollback, report)


def _check_entrance(profile: Profile, stable: Profile, report: Report) -> None:
    """Report PreEnqueue and QueueSort plugins that differ: they run before a version is chosen."""
    for point, plural in (("queueSort", "queue_sort"), ("preEnqueue", "pre_enqueue")):
        here = [ref.name for ref in getattr(profile.plugins, plural).enabled]
        there = [ref.name for ref in getattr(stable.plugins, plural).enabled]
        if here != there:
            detail = invalid(here, f"must be that of the profile, {there}: {_BEFORE}")
            report.problem(("spec", "profile", "plugins", point), detail)
        for name in here:
            if name != _PREEMPTION and _args(profile, name) != _args(stable, name):
                detail = f'"{name}": must have the profile\'s arguments: {_BEFORE}'
                report.problem(("spec", "profile", "pluginConfig"), detail)


_BEFORE: Final = "pods are let in and ordered before a version is chosen for them"


def _args(profile: Profile, plugin: str) -> dict[str, Any] | None:
    return next((each.args for each in profile.plugin_config if each.name == plugin), None)
