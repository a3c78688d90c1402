"""A configuration is refused for what kube-scheduler refuses, in its words."""

from typing import Any

import pytest

from moorage.config.field_errors import ConfigError
from moorage.config.loader import load

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)

MINE = {"enabled": [{"name": "Mine"}], "disabled": [{"name": "*"}]}


def problems(**fields: Any) -> list[str]:
    """What is wrong with a configuration that has these fields."""
    try:
        load({**HEAD, **fields})
    except ConfigError as error:
        return [str(problem) for problem in error.problems]
    return []


def profile(name: str, **fields: Any) -> dict[str, Any]:
    return {"schedulerName": name, **fields}


def resources(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        pytest.param(
            {"parallelism": 0},
            ["parallelism: Invalid value: 0: should be an integer value greater than zero"],
            id="parallelism is positive",
        ),
        pytest.param(
            {"percentageOfNodesToScore": 101},
            ["percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"],
            id="a percentage is at most 100",
        ),
        pytest.param(
            {"percentageOfNodesToScore": -1},
            ["percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"],
            id="a percentage is at least 0",
        ),
        pytest.param({"percentageOfNodesToScore": 0}, [], id="0 percent means adaptive"),
        pytest.param(
            {"podInitialBackoffSeconds": 0},
            ["podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"],
            id="a first backoff is positive",
        ),
        pytest.param(
            {"podInitialBackoffSeconds": 5, "podMaxBackoffSeconds": 4},
            [
                "podMaxBackoffSeconds: Invalid value: 4: must be greater than or equal to "
                "PodInitialBackoffSeconds"
            ],
            id="the longest backoff is no shorter than the first",
        ),
        pytest.param(
            {"podInitialBackoffSeconds": 5, "podMaxBackoffSeconds": 5}, [], id="but may be as long"
        ),
        pytest.param(
            {"clientConnection": {"burst": -1}},
            ["clientConnection.burst: Invalid value: -1: must be non-negative"],
            id="a burst is not negative",
        ),
        pytest.param(
            {"parallelism": 2**31},
            ["parallelism: expected an integer <= 2147483647"],
            id="integers have 32 bits where upstream's have",
        ),
        pytest.param(
            {"paralellism": 1, "profile": []},
            [
                'paralellism: unknown field; did you mean "parallelism"?',
                'profile: unknown field; did you mean "profiles"?',
            ],
            id="unknown fields are refused with a hint",
        ),
    ],
)
def test_settings(fields: dict[str, Any], wrong: list[str]) -> None:
    assert problems(**fields) == wrong


@pytest.mark.parametrize(
    ("election", "wrong"),
    [
        pytest.param(
            {"resourceLock": "endpoints"},
            ['resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"'],
            id="only leases lock",
        ),
        pytest.param(
            {"leaseDuration": "10s"},
            ['leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`'],
            id="a lease outlasts its renewal",
        ),
        pytest.param(
            {"renewDeadline": "-1s", "retryPeriod": "-1s"},
            [
                'renewDeadline: Invalid value: "-1s": must be greater than zero',
                'retryPeriod: Invalid value: "-1s": must be greater than zero',
            ],
            id="durations are positive",
        ),
        pytest.param(
            {"retryPeriod": "9s"},
            [
                'renewDeadline: Invalid value: "10s": must be greater than '
                "retryPeriod*JitterFactor (1.2)"
            ],
            id="there is time to retry before the deadline",
        ),
        pytest.param({"leaderElect": False, "leaseDuration": "1s"}, [], id="unless nobody elects"),
        pytest.param(
            {"leaseDuration": 15},
            ['leaseDuration: expected a duration such as "15s" or "1m30s"'],
            id="a duration is text",
        ),
    ],
)
def test_leader_election(election: dict[str, Any], wrong: list[str]) -> None:
    assert problems(leaderElection=election) == [f"leaderElection.{line}" for line in wrong]


@pytest.mark.parametrize(
    ("profiles", "wrong"),
    [
        pytest.param([{}], [], id="a single profile needs no name"),
        pytest.param([None], [], id="nor anything else"),
        pytest.param(
            [profile("")],
            ["profiles[0].schedulerName: Required value"],
            id="but a name that is given is not empty",
        ),
        pytest.param(
            [profile("a"), {}, {}],
            [
                "profiles[1].schedulerName: Required value",
                "profiles[2].schedulerName: Required value",
            ],
            id="of several profiles each needs a name",
        ),
        pytest.param(
            [profile("a"), profile("b"), profile("a")],
            ['profiles[2].schedulerName: Duplicate value: "profiles[0].schedulerName"'],
            id="names are unique",
        ),
        pytest.param(
            [profile("a", percentageOfNodesToScore=101)],
            [
                "profiles[0].percentageOfNodesToScore: Invalid value: 101: "
                "not in valid range [0-100]"
            ],
            id="a profile's percentage is a percentage",
        ),
        pytest.param(
            [
                profile("a"),
                profile("b", plugins={"queueSort": {"enabled": [{"name": "PrioritySort"}]}}),
            ],
            [
                'profiles[1].plugins.queueSort: Invalid value: ["PrioritySort"]: must be the same '
                "for all profiles"
            ],
            id="one queue is sorted one way, said in one way",
        ),
        pytest.param(
            [
                profile(
                    name,
                    plugins={
                        "queueSort": {"enabled": [{"name": "Mine"}], "disabled": [{"name": "*"}]}
                    },
                    pluginConfig=[{"name": "Mine", "args": {"by": name}}],
                )
                for name in "ab"
            ],
            ['profiles[1].pluginConfig: "Mine": queueSort must be the same for all profiles'],
            id="and by the same arguments",
        ),
        pytest.param(
            [profile("a", plugins={"queueSort": {"enabled": [{"name": "Mine"}]}})],
            [
                "profiles[0].plugins.queueSort: only one queue sort plugin required for profile "
                'with scheduler name "a", but got 2 (PrioritySort, Mine: disable all but one)'
            ],
            id="another queue sort needs the default one disabled",
        ),
        pytest.param(
            [profile("a", plugins={"queueSort": {"disabled": [{"name": "*"}]}})],
            [
                "profiles[0].plugins.queueSort: only one queue sort plugin required for profile "
                'with scheduler name "a", but got 0'
            ],
            id="something must sort the queue",
        ),
        pytest.param(
            [profile("a", plugins={"bind": {"disabled": [{"name": "*"}]}})],
            [
                "profiles[0].plugins.bind: at least one bind plugin is needed for profile with "
                'scheduler name "a"'
            ],
            id="something must bind",
        ),
        pytest.param(
            [
                profile(
                    "a",
                    plugins={"placementGenerate": {"enabled": [{"name": "X"}, {"name": "Y"}]}},
                )
            ],
            [
                "profiles[0].plugins.placementGenerate: at most one placement generate plugin is "
                'allowed for profile with scheduler name "a"'
            ],
            id="at most one generates placements",
        ),
        pytest.param(
            [profile("a", plugins={"Score": {}})],
            ['profiles[0].plugins.Score: unknown field; did you mean "score"?'],
            id="points are spelled as upstream spells them",
        ),
    ],
)
def test_profiles(profiles: list[Any], wrong: list[str]) -> None:
    assert problems(profiles=profiles) == wrong


@pytest.mark.parametrize(
    ("extenders", "wrong"),
    [
        pytest.param(
            [{"prioritizeVerb": "p"}],
            ["extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"],
            id="scores need a weight",
        ),
        pytest.param([{"prioritizeVerb": "p", "weight": 1}], [], id="any positive weight"),
        pytest.param([{"filterVerb": "f"}], [], id="without scores no weight is needed"),
        pytest.param(
            [{"bindVerb": "b"}, {"bindVerb": "b"}],
            [
                'extenders: Invalid value: "found 2 extenders implementing bind": only one '
                "extender can implement bind"
            ],
            id="one extender binds",
        ),
        pytest.param(
            [
                {"managedResources": resources("a.com/x")},
                {"managedResources": resources("a.com/y", "a.com/x")},
            ],
            [
                'extenders[1].managedResources[1].name: Invalid value: "a.com/x": duplicate '
                "extender managed resource name"
            ],
            id="a resource is managed once, over all extenders",
        ),
        pytest.param(
            [{"managedResources": resources("cpu", "x.kubernetes.io/y", "requests.a.com/x")}],
            [
                f'extenders[0].managedResources[{i}].name: Invalid value: "{name}": is an invalid '
                "extended resource name"
                for i, name in enumerate(["cpu", "x.kubernetes.io/y", "requests.a.com/x"])
            ],
            id="managed resources are extended resources",
        ),
        pytest.param(
            [{"managedResources": resources("a.com/-")}],
            [f'extenders[0].managedResources[0].name: Invalid value: "a.com/-": {NAME_PART}'],
            id="with valid names",
        ),
        pytest.param(
            [{"enableHttps": True}],
            ['extenders[0].enableHttps: unknown field; did you mean "enableHTTPS"?'],
            id="fields are spelled as upstream spells them",
        ),
        pytest.param(
            [{"tlsConfig": {"caData": "%"}}],
            ["extenders[0].tlsConfig.caData: invalid base64 encoded string"],
            id="data is in base64",
        ),
    ],
)
def test_extenders(extenders: list[dict[str, Any]], wrong: list[str]) -> None:
    assert problems(extenders=[{"urlPrefix": "http://x", **e} for e in extenders]) == wrong


def test_all_problems_are_reported_at_once() -> None:
    wrong = problems(
        parallelism=0,
        podInitialBackoffSeconds="one",
        profiles=[profile("a"), profile("a", plugins={"filters": {}})],
        extenders=[{"prioritizeVerb": "p"}],
    )

    assert [line.partition(":")[0] for line in wrong] == [
        "profiles[1].plugins.filters",
        "podInitialBackoffSeconds",
        "parallelism",
        "profiles[1].schedulerName",
        "extenders[0].weight",
    ]


def test_an_extender_without_address_is_warned_of() -> None:
    loaded = load({**HEAD, "extenders": [{"filterVerb": "f"}]})

    assert loaded.warnings == (
        "extenders[0].urlPrefix: is empty: no call will reach this extender",
    )
