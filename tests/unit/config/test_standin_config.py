"""`standInFor`: what is filled in, and what is refused in words that help."""

from typing import Any

import pytest

from moorage.config.field_errors import ConfigError
from moorage.config.loader import load
from moorage.config.yaml_dump import dump_configuration

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
AT = "profiles[0].standInFor[0]"


def document(*stand_ins: Any, **fields: Any) -> dict[str, Any]:
    profile = {"schedulerName": "ours", "standInFor": list(stand_ins)}
    return {**HEAD, "profiles": [profile], **fields}


@pytest.mark.parametrize(
    ("given", "lease"),
    [
        pytest.param(
            {"schedulerName": "default-scheduler"},
            ("kube-system", "kube-scheduler"),
            id="that of default-scheduler is kube-scheduler's",
        ),
        pytest.param(
            {"schedulerName": "volcano"},
            ("moorage-system", "volcano"),
            id="others are taken to be Moorages, each with the Lease of its name",
        ),
        pytest.param(
            {"schedulerName": "volcano", "leaseName": "vc", "leaseNamespace": "volcano-system"},
            ("volcano-system", "vc"),
            id="unless they are named",
        ),
        pytest.param(
            {"schedulerName": "volcano", "leaseName": "kube-scheduler"},
            ("kube-system", "kube-scheduler"),
            id="kube-scheduler's is in its own namespace, whoever holds it",
        ),
        pytest.param(
            {"schedulerName": "GPU Scheduler"},
            ("moorage-system", "gpu-scheduler-fc23ba0c"),
            id="a name that no Lease can have is made one",
        ),
    ],
)
def test_which_lease_is_watched(given: dict[str, str], lease: tuple[str, str]) -> None:
    configuration = load(document(given)).configuration
    (one,) = configuration.profiles[0].stand_in_for

    assert (one.lease_namespace, one.lease_name, one.without_lease) == (*lease, "Leave")
    assert load(dump_configuration(configuration)).configuration == configuration


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        pytest.param(
            {},
            f"{AT}.schedulerName: Required value: the schedulerName of the pods to take, "
            "default-scheduler say",
            id="a name is needed",
        ),
        pytest.param(
            {"schedulerName": "ours"},
            f"{AT}.schedulerName: Forbidden: ours has a profile here: its pods are taken always, "
            "not for a while",
            id="nobody stands in for himself",
        ),
        pytest.param(
            {"schedulerName": "x", "leaseName": "ours"},
            f'{AT}.leaseName: Invalid value: "ours": is our own (leaderElection.resourceName), '
            "and does not expire while we run",
            id="our own lease does not expire",
        ),
        pytest.param(
            {"schedulerName": "x", "withoutLease": "take"},
            f'{AT}.withoutLease: Unsupported value: "take": supported values: "Leave", "Take"',
            id="there are two things to do without a lease",
        ),
        pytest.param(
            {"schedulerName": "x", "lease": "y"},
            f'{AT}.lease: unknown field; did you mean "leaseName"?',
            id="a field that is not known",
        ),
    ],
)
def test_what_nobody_can_mean(given: dict[str, str], wrong: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(document(given))

    assert [str(problem) for problem in refused.value.problems] == [wrong]


def test_one_profile_stands_in_for_a_scheduler() -> None:
    x = {"schedulerName": "x"}
    profiles = [{"schedulerName": name, "standInFor": [x]} for name in ("a", "b")]
    with pytest.raises(ConfigError, match="Duplicate value") as refused:
        load({**HEAD, "profiles": profiles})

    (problem,) = refused.value.problems
    assert str(problem) == (
        'profiles[1].standInFor[0].schedulerName: Duplicate value: "x": see '
        "profiles[0].standInFor[0]"
    )


def test_without_election_no_lease_is_our_own() -> None:
    election = {"leaderElection": {"leaderElect": False}}
    given = {"schedulerName": "x", "leaseName": "ours"}

    assert load(document(given, **election)).configuration.profiles[0].stand_in_for
