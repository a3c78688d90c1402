"""Spread constraints and node affinity in arguments: checks, in kube-scheduler's words."""

from typing import Any

import pytest

from tests.unit.config.plugin_args_world import NAME_PART, problems, required

LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def constraint(**fields: Any) -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}


@pytest.mark.parametrize(
    ("args", "wrong"),
    [
        pytest.param({"defaultingType": "List"}, [], id="a list may be empty"),
        pytest.param(
            {"defaultingType": "list"},
            ['defaultingType: Unsupported value: "list": supported values: "System", "List"'],
            id="defaulting is System or List",
        ),
        pytest.param(
            {"defaultConstraints": [constraint()]},
            ['defaultingType: Invalid value: "System": when .defaultConstraints are not empty'],
            id="constraints need the type List",
        ),
        pytest.param(
            {
                "defaultingType": "List",
                "defaultConstraints": [
                    constraint(maxSkew=0, topologyKey="", whenUnsatisfiable=""),
                    constraint(topologyKey="-", whenUnsatisfiable="Never", labelSelector={}),
                ],
            },
            [
                "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
                "defaultConstraints[0].topologyKey: Required value: can not be empty",
                "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
                f'defaultConstraints[1].topologyKey: Invalid value: "-": {NAME_PART}',
                'defaultConstraints[1].whenUnsatisfiable: Unsupported value: "Never": supported '
                'values: "DoNotSchedule", "ScheduleAnyway"',
                "defaultConstraints[1].labelSelector: Forbidden: "
                "constraint must not define a selector, as they deduced for each pod",
            ],
            id="a constraint has a skew, a key, an action, and no selector",
        ),
        pytest.param(
            {"defaultingType": "List", "defaultConstraints": [constraint(), constraint(maxSkew=2)]},
            ['defaultConstraints[1]: Duplicate value: "{zone, DoNotSchedule}"'],
            id="a key and an action come once",
        ),
        pytest.param(
            {
                "defaultingType": "List",
                "defaultConstraints": [
                    constraint(),
                    constraint(whenUnsatisfiable="ScheduleAnyway"),
                ],
            },
            [],
            id="but a key may have both actions",
        ),
    ],
)
def test_pod_topology_spread(args: dict[str, Any], wrong: list[str]) -> None:
    assert problems("PodTopologySpread", args) == wrong


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        pytest.param({"key": "a", "operator": "In", "values": ["x", ""]}, [], id="In"),
        pytest.param({"key": "a", "operator": "Gt", "values": ["5"]}, [], id="Gt"),
        pytest.param({"key": "a", "operator": "Exists"}, [], id="Exists"),
        pytest.param(
            {"key": "a", "operator": "Foo", "values": ["x"]},
            [
                'operator: Unsupported value: "Foo": supported values: '
                '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
            ],
            id="an operator that is none",
        ),
        pytest.param(
            {"key": "-", "operator": "NotIn"},
            [
                f'key: Invalid value: "-": {NAME_PART}',
                "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
            ],
            id="a key that is none, and no values",
        ),
        pytest.param(
            {"key": "a", "operator": "DoesNotExist", "values": ["x"]},
            [
                'values: Invalid value: ["x"]: '
                "values set must be empty for exists and does not exist"
            ],
            id="values where none belong",
        ),
        pytest.param(
            {"key": "a", "operator": "Lt", "values": ["1", "2"]},
            [
                'values: Invalid value: ["1","2"]: '
                "for 'Gt', 'Lt' operators, exactly one value is required"
            ],
            id="two numbers to be below",
        ),
        pytest.param(
            {"key": "a", "operator": "Gt", "values": ["1.5"]},
            [
                'values[0]: Invalid value: "1.5": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ],
            id="a fraction to be above",
        ),
        pytest.param(
            {"key": "a", "operator": "Gt", "values": [str(2**63)]},
            [
                f'values[0]: Invalid value: "{2**63}": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ],
            id="an integer of more than 64 bits",
        ),
        pytest.param(
            {"key": "a", "operator": "In", "values": ["ok", "not ok"]},
            [f'values[1]: Invalid value: "not ok": {LABEL_VALUE}'],
            id="a value that no label has",
        ),
        pytest.param(
            {"key": "a", "operator": "In", "values": ["x" * 64]},
            [f'values[0]: Invalid value: "{"x" * 64}": must be no more than 63 bytes'],
            id="a value too long for a label",
        ),
        pytest.param(
            {"key": "A.com/x", "operator": "Exists"},
            [
                'key: Invalid value: "A.com/x": prefix part a lowercase RFC 1123 subdomain must '
                "consist of lower case alphanumeric characters, '-' or '.', and must start and end "
                "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ],
            id="a key with a prefix that is no domain",
        ),
    ],
)
def test_added_affinity_by_labels(expression: dict[str, Any], wrong: list[str]) -> None:
    at = (
        "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms[1].matchExpressions[0]."
    )
    args = required({"matchFields": []}, {"matchExpressions": [expression]})

    assert problems("NodeAffinity", args) == [at + line for line in wrong]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        pytest.param({"operator": "NotIn", "values": ["n1"]}, [], id="NotIn with one value"),
        pytest.param(
            {"operator": "In", "values": ["n1", "n2"]},
            ['values: Invalid value: ["n1","n2"]: must have one element'],
            id="In with two",
        ),
        pytest.param(
            {"operator": "Exists"},
            ['operator: Unsupported value: "Exists": supported values: "In", "NotIn"'],
            id="fields always exist",
        ),
    ],
)
def test_preferred_affinity_by_fields(field: dict[str, Any], wrong: list[str]) -> None:
    preference = {"matchFields": [{"key": "metadata.name", **field}]}
    broken = {"matchFields": [{"key": "metadata.name", "operator": "Foo"}]}
    terms = [{"weight": 0, "preference": broken}, {"weight": 1, "preference": preference}]
    args = {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    at = (
        "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].preference.matchFields[0]"
    )

    assert problems("NodeAffinity", args) == [f"{at}.{line}" for line in wrong]
