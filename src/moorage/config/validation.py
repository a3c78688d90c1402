"""Validation of a completed configuration, with kube-scheduler's error texts."""

import re
from collections.abc import Sequence
from typing import Any, Final

from moorage.api import name_validation
from moorage.config import lease_config, standin_config
from moorage.config.field_errors import Path, Report, duplicate, format_path, invalid, required
from moorage.config.resolved_profile import Enabled
from moorage.config.types import (
    ClientConnection,
    Extender,
    LeaderElection,
    Profile,
    SchedulerConfiguration,
)


def validate_configuration(configuration: SchedulerConfiguration, report: Report) -> None:
    """Report problems; plugin names and arguments are checked elsewhere."""
    _client_connection(configuration.client_connection, report)
    _leader_election(configuration.leader_election, report)
    if configuration.parallelism <= 0:
        detail = "should be an integer value greater than zero"
        report.problem(("parallelism",), invalid(configuration.parallelism, detail))
    _profiles(configuration.profiles, report)
    standin_config.validate_standins(configuration, report)
    validate_percentage(configuration.percentage_of_nodes_to_score, report, ())
    _backoff(configuration, report)
    _extenders(configuration.extenders, report)


def validate_points(
    profile: Profile, points: dict[str, tuple[Enabled, ...]], report: Report, path: Path
) -> None:
    """Report points with too few or too many plugins."""
    name = f'for profile with scheduler name "{profile.scheduler_name}"'
    sorters = [enabled.name for enabled in points["queueSort"]]
    if len(sorters) != 1:
        found = f" ({', '.join(sorters)}: disable all but one)" if sorters else ""
        detail = f"only one queue sort plugin required {name}, but got {len(sorters)}{found}"
        report.problem((*path, "plugins", "queueSort"), detail)
    if not points["bind"]:
        report.problem((*path, "plugins", "bind"), f"at least one bind plugin is needed {name}")
    if len(points["placementGenerate"]) > 1:
        detail = f"at most one placement generate plugin is allowed {name}"
        report.problem((*path, "plugins", "placementGenerate"), detail)


def _client_connection(connection: ClientConnection, report: Report) -> None:
    if connection.burst < 0:
        detail = invalid(connection.burst, "must be non-negative")
        report.problem(("clientConnection", "burst"), detail)


def _leader_election(election: LeaderElection, report: Report) -> None:
    if not election.leader_elect:
        return
    lease, renew, retry = election.lease_duration, election.renew_deadline, election.retry_period
    for name, duration in (
        ("leaseDuration", lease),
        ("renewDeadline", renew),
        ("retryPeriod", retry),
    ):
        if duration <= 0:
            detail = invalid(duration, "must be greater than zero")
            report.problem(("leaderElection", name), detail)
    if lease <= renew:
        detail = invalid(lease, "must be greater than `RenewDeadline`")
        report.problem(("leaderElection", "leaseDuration"), detail)
    if renew * 10 <= retry * 12:
        detail = invalid(renew, "must be greater than retryPeriod*JitterFactor (1.2)")
        report.problem(("leaderElection", "renewDeadline"), detail)
    if election.resource_lock != "leases":
        detail = invalid(election.resource_lock, 'resourceLock value must be "leases"')
        report.problem(("leaderElection", "resourceLock"), detail)
    lease_config.validate_lease(election, report)


def _profiles(profiles: Sequence[Profile], report: Report) -> None:
    first: dict[str, Path] = {}
    for i, profile in enumerate(profiles):
        at = ("profiles", i, "schedulerName")
        if not profile.scheduler_name:
            report.problem(at, required())
        elif profile.scheduler_name in first:
            report.problem(at, duplicate(format_path(first[profile.scheduler_name])))
        first[profile.scheduler_name] = at
        validate_percentage(profile.percentage_of_nodes_to_score, report, ("profiles", i))
    _common_queue_sort(profiles, report)


def _common_queue_sort(profiles: Sequence[Profile], report: Report) -> None:
    """Report profiles that differ in QueueSort: all of them share one queue."""
    same = profiles[0].plugins.queue_sort
    if len(same.enabled) > 1:
        at = ("profiles", 0, "plugins", "queueSort", "enabled")
        detail = invalid(len(same.enabled), "only one queue sort plugin can be enabled")
        report.problem(at, detail)
    sorter = same.enabled[0].name if same.enabled else None
    for i, profile in enumerate(profiles[1:], start=1):
        if profile.plugins.queue_sort != same:
            names_here = [ref.name for ref in profile.plugins.queue_sort.enabled]
            detail = invalid(names_here, "must be the same for all profiles")
            report.problem(("profiles", i, "plugins", "queueSort"), detail)
        if _args(profile, sorter) != _args(profiles[0], sorter):
            detail = f'"{sorter}": queueSort must be the same for all profiles'
            report.problem(("profiles", i, "pluginConfig"), detail)


def _args(profile: Profile, plugin: str | None) -> dict[str, Any] | None:
    return next((c.args for c in profile.plugin_config if c.name == plugin), None)


def validate_percentage(percentage: int | None, report: Report, path: Path) -> None:
    """Report an invalid percentage."""
    if percentage is not None and not 0 <= percentage <= 100:
        detail = invalid(percentage, "not in valid range [0-100]")
        report.problem((*path, "percentageOfNodesToScore"), detail)


def _backoff(configuration: SchedulerConfiguration, report: Report) -> None:
    initial, most = (
        configuration.pod_initial_backoff_seconds,
        configuration.pod_max_backoff_seconds,
    )
    if initial <= 0:
        detail = invalid(initial, "must be greater than 0")
        report.problem(("podInitialBackoffSeconds",), detail)
    if most < initial:
        detail = invalid(most, "must be greater than or equal to PodInitialBackoffSeconds")
        report.problem(("podMaxBackoffSeconds",), detail)


_URL: Final = re.compile(r"(?i:https?)://[^\s/?#]+(?:[/?#]\S*)?")


def _extenders(extenders: Sequence[Extender], report: Report) -> None:
    managed: set[str] = set()
    for i, extender in enumerate(extenders):
        at: Path = ("extenders", i)
        if not extender.url_prefix:
            report.warn((*at, "urlPrefix"), "is empty: no call will reach this extender")
        elif not _URL.fullmatch(extender.url_prefix):
            detail = "no call will reach this extender: write http://HOST:PORT/PATH"
            report.warn((*at, "urlPrefix"), f'"{extender.url_prefix}" is no URL: {detail}')
        if extender.prioritize_verb and extender.weight <= 0:
            detail = invalid(extender.weight, "must have a positive weight applied to it")
            report.problem((*at, "weight"), detail)
        _managed_resources(extender, managed, report, at)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        report.problem(("extenders",), invalid(found, "only one extender can implement bind"))


def _managed_resources(extender: Extender, seen: set[str], report: Report, path: Path) -> None:
    for i, resource in enumerate(extender.managed_resources):
        at, name = (*path, "managedResources", i, "name"), resource.name
        faults = name_validation.label_key_faults(name)
        if not faults and not name_validation.is_extended_resource(name):
            faults = ["is an invalid extended resource name"]
        for fault in faults:
            report.problem(at, invalid(name, fault))
        if name in seen:
            report.problem(at, invalid(name, "duplicate extender managed resource name"))
        seen.add(name)
