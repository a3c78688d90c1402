"""The standInFor of a profile (other schedulers it stands in for): defaults and validation."""

from typing import Final

import msgspec

from moorage.config.field_errors import (
    Path,
    Report,
    duplicate,
    forbidden,
    format_path,
    invalid,
    required,
    unsupported,
)
from moorage.config.lease_config import (
    DEFAULT_SCHEDULER,
    KUBE_LEASE,
    lease_name,
    lease_namespace,
)
from moorage.config.types import Profile, SchedulerConfiguration, StandIn

LEAVE: Final = "Leave"
TAKE: Final = "Take"


def complete_standins(profile: Profile) -> Profile:
    """Fill in Leases: kube-scheduler's own for default-scheduler, else a Moorage's."""
    named = tuple(_named(one) for one in profile.stand_in_for)
    return msgspec.structs.replace(profile, stand_in_for=named)


def _named(one: StandIn) -> StandIn:
    name = one.lease_name
    if not name and one.scheduler_name:
        default = one.scheduler_name == DEFAULT_SCHEDULER
        name = KUBE_LEASE if default else lease_name(one.scheduler_name)
    namespace = one.lease_namespace or lease_namespace(name)
    return msgspec.structs.replace(one, lease_name=name, lease_namespace=namespace)


def validate_standins(configuration: SchedulerConfiguration, report: Report) -> None:
    """Report contradictory entries."""
    first: dict[str, Path] = {}
    for i, profile in enumerate(configuration.profiles):
        for j, one in enumerate(profile.stand_in_for):
            at: Path = ("profiles", i, "standInFor", j)
            _check_name(one, at, configuration, report)
            _check_lease(one, at, configuration, report)
            if one.scheduler_name in first:
                detail = (
                    f"{duplicate(one.scheduler_name)}: see {format_path(first[one.scheduler_name])}"
                )
                report.problem((*at, "schedulerName"), detail)
            first.setdefault(one.scheduler_name, at)


def _check_name(
    one: StandIn, at: Path, configuration: SchedulerConfiguration, report: Report
) -> None:
    name, at = one.scheduler_name, (*at, "schedulerName")
    if not name:
        report.problem(at, required("the schedulerName of the pods to take, default-scheduler say"))
    elif name in {profile.scheduler_name for profile in configuration.profiles}:
        detail = f"{name} has a profile here: its pods are taken always, not for a while"
        report.problem(at, forbidden(detail))


def _check_lease(
    one: StandIn, at: Path, configuration: SchedulerConfiguration, report: Report
) -> None:
    election = configuration.leader_election
    ours = election.resource_namespace, election.resource_name
    stranger = one.scheduler_name not in {each.scheduler_name for each in configuration.profiles}
    if election.leader_elect and stranger and (one.lease_namespace, one.lease_name) == ours:
        detail = "is our own (leaderElection.resourceName), and does not expire while we run"
        report.problem((*at, "leaseName"), invalid(one.lease_name, detail))
    if one.without_lease not in (LEAVE, TAKE):
        detail = unsupported(one.without_lease, (LEAVE, TAKE))
        report.problem((*at, "withoutLease"), detail)
