"""Node selectors hold where Kubernetes' nodeaffinity package says they hold."""

from typing import Any

import msgspec
import pytest

from moorage.api import selectors
from moorage.api.affinity import NodeSelector, NodeSelectorTerm, PreferredSchedulingTerm
from moorage.api.meta import ObjectMeta
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.selectors import NodeTerm, Requirement, SelectorError

NODE = Node(metadata=ObjectMeta(name="n1", labels={"zone": "a", "rank": "5", "word": "x"}))
NAMELESS = Node(metadata=ObjectMeta(labels={"zone": "a"}))


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": values}


def term(*labels: dict[str, Any], fields: tuple[dict[str, Any], ...] = ()) -> NodeSelectorTerm:
    raw = {"matchExpressions": labels, "matchFields": fields}
    return msgspec.convert(raw, NodeSelectorTerm)


def field(operator: str, *values: str, key: str = "metadata.name") -> dict[str, Any]:
    return requirement(key, operator, *values)


@pytest.mark.parametrize(
    ("chosen", "want"),
    [
        pytest.param(term(), False, id="an empty term holds nowhere"),
        pytest.param(term(requirement("zone", "In", "a", "b")), True, id="In one of the values"),
        pytest.param(term(requirement("zone", "In", "b")), False, id="In none of the values"),
        pytest.param(term(requirement("zone", "NotIn", "b")), True, id="NotIn the values"),
        pytest.param(term(requirement("gpu", "NotIn", "b")), True, id="NotIn takes absence"),
        pytest.param(term(requirement("zone", "Exists")), True, id="Exists"),
        pytest.param(term(requirement("gpu", "DoesNotExist")), True, id="DoesNotExist"),
        pytest.param(term(requirement("rank", "Gt", "4")), True, id="Gt a smaller number"),
        pytest.param(term(requirement("rank", "Gt", "5")), False, id="Gt is strict"),
        pytest.param(term(requirement("rank", "Gt", "10")), False, id="Gt compares numbers"),
        pytest.param(term(requirement("rank", "Lt", "10")), True, id="Lt a greater number"),
        pytest.param(term(requirement("rank", "Lt", "5")), False, id="Lt is strict"),
        pytest.param(term(requirement("gpu", "Gt", "1")), False, id="Gt refuses absence"),
        pytest.param(term(requirement("word", "Gt", "1")), False, id="Gt refuses words"),
        pytest.param(
            term(requirement("zone", "In", "a"), requirement("rank", "Gt", "9")), False,
            id="all expressions must hold",
        ),
        pytest.param(term(fields=(field("In", "n1"),)), True, id="the name is a field"),
        pytest.param(term(fields=(field("In", "n2"),)), False, id="another name does not hold"),
        pytest.param(term(fields=(field("NotIn", "n2"),)), True, id="NotIn another name"),
        pytest.param(term(fields=(field("NotIn", "n1"),)), False, id="NotIn the name"),
        pytest.param(
            term(fields=(field("In", "n1", key="spec.x"),)), False, id="other fields are empty"
        ),
        pytest.param(
            term(fields=(field("NotIn", "n1", key="spec.x"),)), True, id="empty is not a name"
        ),
        pytest.param(
            term(requirement("zone", "In", "a"), fields=(field("In", "n2"),)), False,
            id="labels and fields must both hold",
        ),
    ],
)  # fmt: skip
def test_term_matches(chosen: NodeSelectorTerm, want: bool) -> None:
    assert want is selectors.term_matches(chosen, NODE)


def test_fields_are_not_asked_of_a_node_without_a_name() -> None:
    assert selectors.term_matches(term(fields=(field("In", "n1"),)), NAMELESS)


BAD = [
    pytest.param(term(requirement("rank", "Gt", "many")), id="Gt with a word"),
    pytest.param(term(requirement("rank", "Gt", "1", "2")), id="Gt with two values"),
    pytest.param(term(requirement("rank", "Lt")), id="Lt without a value"),
    pytest.param(term(requirement("rank", "Lt", "-1")), id="Lt with what is no label value"),
    pytest.param(term(requirement("rank", "Gt", "9223372036854775808")), id="Gt beyond int64"),
    pytest.param(term(requirement("rank", "Gt", "9" * 5_000)), id="Gt with thousands of digits"),
    pytest.param(term(requirement("rank", "Gt", "0" * 5_000 + "1")), id="Gt with 5,000 zeros"),
    pytest.param(term(requirement("zone", "In")), id="In without values"),
    pytest.param(term(requirement("zone", "Exists", "a")), id="Exists with a value"),
    pytest.param(term(requirement("zone", "Near", "a")), id="an unknown operator"),
    pytest.param(term(requirement("a b", "Exists")), id="a bad key"),
    pytest.param(term(requirement("zone", "In", "a b")), id="a bad value"),
    pytest.param(term(fields=(field("Exists"),)), id="a field that exists"),
    pytest.param(term(fields=(field("In", "n1", "n2"),)), id="a field with two values"),
    pytest.param(term(fields=(field("NotIn"),)), id="a field without values"),
]


@pytest.mark.parametrize("bad", BAD)
def test_a_malformed_term_is_refused(bad: NodeSelectorTerm) -> None:
    with pytest.raises(SelectorError):
        selectors.term_matches(bad, NODE)


@pytest.mark.parametrize("bad", BAD)
def test_a_malformed_term_matters_only_if_no_other_holds(bad: NodeSelectorTerm) -> None:
    good = term(requirement("zone", "In", "a"))

    assert selectors.node_selector_matches(NodeSelector(node_selector_terms=(bad, good)), NODE)
    with pytest.raises(SelectorError, match=r"nodeSelectorTerms\[1\]"):
        selectors.node_selector_matches(NodeSelector(node_selector_terms=(term(), bad)), NODE)


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        pytest.param((), False, id="no terms hold nowhere"),
        pytest.param((term(),), False, id="an empty term holds nowhere"),
        pytest.param((term(), term(requirement("zone", "Exists"))), True, id="one term suffices"),
        pytest.param((term(requirement("gpu", "Exists")),), False, id="no term holds"),
    ],
)
def test_node_selector_matches(terms: tuple[NodeSelectorTerm, ...], want: bool) -> None:
    assert want is selectors.node_selector_matches(NodeSelector(node_selector_terms=terms), NODE)


def test_terms_that_say_the_same_are_equal() -> None:
    left = term(requirement("zone", "In", "b", "a"), requirement("rank", "Gt", "05"))
    right = term(requirement("rank", "Gt", "5"), requirement("zone", "In", "a", "b", "a"))

    assert selectors.compile_term(left) == selectors.compile_term(right)
    assert hash(selectors.compile_term(left)) == hash(selectors.compile_term(right))


def test_preferred_terms_drop_the_empty_and_the_weightless() -> None:
    zone = term(requirement("zone", "In", "a"))
    preferred = (
        PreferredSchedulingTerm(weight=7, preference=zone),
        PreferredSchedulingTerm(weight=9, preference=term()),
        PreferredSchedulingTerm(weight=0, preference=term(requirement("a b", "Near"))),
    )

    compiled = selectors.compile_preferred(preferred)

    assert compiled == ((7, NodeTerm(labels=(Requirement("zone", "In", ("a",)),))),)


def test_one_malformed_preferred_term_refuses_them_all() -> None:
    preferred = (
        PreferredSchedulingTerm(weight=1, preference=term(requirement("zone", "Exists"))),
        PreferredSchedulingTerm(weight=1, preference=term(requirement("zone", "Near"))),
    )

    with pytest.raises(SelectorError, match=r'\[1\]: operator: Unsupported value: "Near"'):
        selectors.compile_preferred(preferred)


def requiring(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({}, True, id="a pod that asks for nothing fits anywhere"),
        pytest.param({"nodeSelector": {"zone": "a"}}, True, id="the node has the label"),
        pytest.param({"nodeSelector": {"zone": "b"}}, False, id="the label has another value"),
        pytest.param({"nodeSelector": {"gpu": ""}}, False, id="absence is not an empty value"),
        pytest.param({"affinity": {}}, True, id="no node affinity asks for nothing"),
        pytest.param({"affinity": {"nodeAffinity": {}}}, True, id="nothing is required"),
        pytest.param({"affinity": requiring()}, False, id="no terms hold nowhere"),
        pytest.param(
            {
                "nodeSelector": {"zone": "b"},
                "affinity": requiring({"matchExpressions": [requirement("zone", "Near")]}),
            },
            False,
            id="an affinity is not looked at where the nodeSelector refuses",
        ),
        pytest.param(
            {
                "nodeSelector": {"zone": "a"},
                "affinity": requiring({"matchExpressions": [requirement("rank", "Gt", "9")]}),
            },
            False,
            id="nodeSelector and affinity must both hold",
        ),
    ],
)
def test_required_affinity_matches(spec: dict[str, Any], want: bool) -> None:
    pod = msgspec.convert({"spec": spec}, Pod)

    assert want is selectors.required_affinity_matches(pod, NODE)
