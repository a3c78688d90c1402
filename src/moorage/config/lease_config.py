"""The Leases of schedulers: which one a configuration means, and who may hold it in `deploy/`.

Each scheduler has a Lease of its own by default, named after its first profile, in Moorage's own
namespace. kube-scheduler's Lease is in kube-system, whoever names it.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from moorage.api import name_validation
from moorage.config.field_errors import Report, invalid
from moorage.config.types import LeaderElection, SchedulerConfiguration

DEFAULT_SCHEDULER: Final = "default-scheduler"
KUBE_LEASE: Final = "kube-scheduler"
KUBE_NAMESPACE: Final = "kube-system"
NAMESPACE: Final = "moorage-system"
"""Moorage's own namespace; `deploy/` grants the Leases in it."""
_LONGEST_NAME: Final = 253
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9.-]+")
_NOT_GRANTED: Final = (
    "{}: no Role in deploy/ lets Moorage {} the Lease {}: deploy/base grants those of "
    f"{NAMESPACE}, and {{}} grants {KUBE_NAMESPACE}/{KUBE_LEASE}; write a Role, or {{}}"
)


def complete_election(election: LeaderElection, scheduler_name: str) -> LeaderElection:
    """Fill in the Lease of a scheduler whose first profile has this name."""
    return msgspec.structs.replace(
        election,
        resource_name=election.resource_name or lease_name(scheduler_name),
        resource_namespace=election.resource_namespace or lease_namespace(election.resource_name),
    )


def lease_name(scheduler_name: str) -> str:
    """The default name of a scheduler's Lease: its own, if a Lease can have it.

    A schedulerName is free text. One that is no object's name is made one, with a digest at its
    end, so that two schedulers have two Leases.
    """
    if not name_validation.subdomain_faults(scheduler_name):
        return scheduler_name
    digest = hashlib.sha256(scheduler_name.encode()).hexdigest()[:8]
    name = _NOT_IN_NAMES.sub("-", scheduler_name.lower()).replace(".", "-").strip("-")
    return f"{name[: _LONGEST_NAME - 1 - len(digest)]}-{digest}".lstrip("-")


def lease_namespace(given_name: str) -> str:
    """The default namespace of a Lease; `given_name` is empty where none was given."""
    return KUBE_NAMESPACE if given_name == KUBE_LEASE else NAMESPACE


def validate_lease(election: LeaderElection, report: Report) -> None:
    """Report names that no Lease can have."""
    for name, value, faults in (
        ("resourceName", election.resource_name, name_validation.subdomain_faults),
        ("resourceNamespace", election.resource_namespace, name_validation.dns_label_faults),
    ):
        for fault in faults(value):
            report.problem(("leaderElection", name), invalid(value, fault))


def lease_warnings(configuration: SchedulerConfiguration) -> Iterator[str]:
    """Leases that Moorage holds or reads, but may not, with the Roles in `deploy/`."""
    election = configuration.leader_election
    ours = election.resource_namespace, election.resource_name
    if election.leader_elect and not _is_granted(*ours):
        verbs, component = "create, get and update", "components/in-place-of-kube-scheduler"
        instead = "leave resourceNamespace out"
        yield _NOT_GRANTED.format("leaderElection", verbs, "/".join(ours), component, instead)
    for i, profile in enumerate(configuration.profiles):
        for j, one in enumerate(profile.stand_in_for):
            theirs = one.lease_namespace, one.lease_name
            if not _is_granted(*theirs):
                field, component = f"profiles[{i}].standInFor[{j}]", "stand-in-for-kube-scheduler"
                where = f"components/{component}"
                instead = "nobody stands in"
                yield _NOT_GRANTED.format(field, "get", "/".join(theirs), where, instead)


def _is_granted(namespace: str, name: str) -> bool:
    return namespace == NAMESPACE or (namespace, name) == (KUBE_NAMESPACE, KUBE_LEASE)
