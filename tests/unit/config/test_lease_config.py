"""The Lease of a scheduler: its default, and what is said of one that it may not hold."""

from typing import Any

import pytest

from moorage.api import name_validation
from moorage.config import lease_config
from moorage.config.field_errors import ConfigError
from moorage.config.loader import load
from moorage.config.types import SchedulerConfiguration
from moorage.config.yaml_dump import dump_configuration

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def configuration(*names: str, **election: Any) -> SchedulerConfiguration:
    profiles = [{"schedulerName": name} for name in names]
    return load({**HEAD, "profiles": profiles, "leaderElection": election}).configuration


@pytest.mark.parametrize(
    ("names", "election", "lease"),
    [
        pytest.param(["gpu"], {}, "moorage-system/gpu", id="one scheduler, one Lease"),
        pytest.param(["b", "a"], {}, "moorage-system/b", id="the first profile names it"),
        pytest.param(
            ["gpu"], {"resourceName": "ours"}, "moorage-system/ours", id="unless it is named"
        ),
        pytest.param(
            ["gpu"], {"resourceNamespace": "gpus"}, "gpus/gpu", id="in a namespace that is named"
        ),
        pytest.param(
            ["default-scheduler"],
            {},
            "moorage-system/default-scheduler",
            id="kube-scheduler's own is taken by nobody who does not name it",
        ),
        pytest.param(
            ["kube-scheduler"],
            {},
            "moorage-system/kube-scheduler",
            id="not even by a profile of its name",
        ),
        pytest.param(
            ["default-scheduler"],
            {"resourceName": "kube-scheduler"},
            "kube-system/kube-scheduler",
            id="who names kube-scheduler's means the one in kube-system",
        ),
    ],
)
def test_which_lease_is_meant(names: list[str], election: Any, lease: str) -> None:
    meant = configuration(*names, **election)

    found = meant.leader_election
    assert f"{found.resource_namespace}/{found.resource_name}" == lease
    assert load(dump_configuration(meant)).configuration.leader_election == found


@pytest.mark.parametrize(
    "name",
    ["My_Scheduler", "gpu scheduler", "a..b", "-a-", "UPPER.", "___", "größe", "x" * 254],
)
def test_any_name_makes_a_lease_of_its_own(name: str) -> None:
    made = lease_config.lease_name(name)

    assert name_validation.subdomain_faults(made) == []
    assert made != lease_config.lease_name(f"{name}_") != lease_config.lease_name(name.lower())


def test_a_name_that_a_lease_can_have_is_kept() -> None:
    names = ["moorage", "a.b", "x" * 253]

    assert [lease_config.lease_name(name) for name in names] == names


def test_a_name_that_no_lease_can_have_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        configuration("gpu", resourceName="Ours", resourceNamespace="a.b")

    told = [str(problem) for problem in refused.value.problems]
    assert [line.partition(": a lower")[0].partition(": must")[0] for line in told] == [
        'leaderElection.resourceName: Invalid value: "Ours"',
        'leaderElection.resourceNamespace: Invalid value: "a.b"',
    ]


ELECTION = (
    "leaderElection: no Role in deploy/ lets Moorage create, get and update the Lease {}: "
    "deploy/base grants those of moorage-system, and components/in-place-of-kube-scheduler grants "
    "kube-system/kube-scheduler; write a Role, or leave resourceNamespace out"
)
STAND_IN = (
    "profiles[0].standInFor[0]: no Role in deploy/ lets Moorage get the Lease {}: deploy/base "
    "grants those of moorage-system, and components/stand-in-for-kube-scheduler grants "
    "kube-system/kube-scheduler; write a Role, or nobody stands in"
)


@pytest.mark.parametrize(
    ("election", "warnings"),
    [
        pytest.param({}, [], id="the default is granted"),
        pytest.param({"resourceName": "other"}, [], id="so is any name in Moorage's namespace"),
        pytest.param({"resourceName": "kube-scheduler"}, [], id="and kube-scheduler's"),
        pytest.param(
            {"resourceNamespace": "kube-system"},
            [ELECTION.format("kube-system/gpu")],
            id="but no other of that namespace",
        ),
        pytest.param(
            {"resourceNamespace": "default"},
            [ELECTION.format("default/gpu")],
            id="nor any of another",
        ),
        pytest.param(
            {"resourceNamespace": "default", "leaderElect": False}, [], id="unless nobody elects"
        ),
    ],
)
def test_a_lease_that_deploy_does_not_grant_is_named(election: Any, warnings: list[str]) -> None:
    assert list(lease_config.lease_warnings(configuration("gpu", **election))) == warnings


@pytest.mark.parametrize(
    ("stand_in", "warnings"),
    [
        pytest.param({"schedulerName": "default-scheduler"}, [], id="kube-scheduler's is granted"),
        pytest.param({"schedulerName": "batch"}, [], id="so is a Moorage's"),
        pytest.param(
            {"schedulerName": "volcano", "leaseNamespace": "volcano-system"},
            [STAND_IN.format("volcano-system/volcano")],
            id="but not another scheduler's",
        ),
    ],
)
def test_a_lease_that_may_not_be_read_is_named(stand_in: Any, warnings: list[str]) -> None:
    profile = {"schedulerName": "gpu", "standInFor": [stand_in]}
    found = load({**HEAD, "profiles": [profile]}).configuration

    assert list(lease_config.lease_warnings(found)) == warnings
