"""Label selectors select what Kubernetes selects, and equal ones compare equal."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api import selectors
from moorage.api.meta import LabelSelector, LabelSelectorRequirement
from moorage.api.selectors import EVERYTHING, NOTHING, Requirement, SelectorError


def selector(**raw: Any) -> LabelSelector:
    return msgspec.convert(raw, LabelSelector)


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return selector(matchExpressions=[{"key": key, "operator": operator, "values": values}])


WEB = {"app": "web", "tier": "front", "empty": ""}


@pytest.mark.parametrize(
    ("chosen", "want"),
    [
        pytest.param(None, False, id="no selector selects nothing"),
        pytest.param(selector(), True, id="an empty selector selects everything"),
        pytest.param(selector(matchLabels={"app": "web"}), True, id="an equal label is selected"),
        pytest.param(selector(matchLabels={"app": "db"}), False, id="another value is not"),
        pytest.param(selector(matchLabels={"zone": "a"}), False, id="an absent label is not"),
        pytest.param(selector(matchLabels={"empty": ""}), True, id="an empty value is a value"),
        pytest.param(selector(matchLabels={"zone": ""}), False, id="absence is not an empty value"),
        pytest.param(
            selector(matchLabels={"app": "web", "tier": "back"}), False, id="all labels must match"
        ),
        pytest.param(expression("app", "In", "db", "web"), True, id="In takes one of its values"),
        pytest.param(expression("app", "In", "db"), False, id="In refuses other values"),
        pytest.param(expression("zone", "In", "a"), False, id="In refuses absence"),
        pytest.param(expression("app", "NotIn", "db"), True, id="NotIn takes other values"),
        pytest.param(expression("app", "NotIn", "web"), False, id="NotIn refuses its values"),
        pytest.param(expression("zone", "NotIn", "a"), True, id="NotIn takes absence"),
        pytest.param(expression("app", "Exists"), True, id="Exists takes presence"),
        pytest.param(expression("empty", "Exists"), True, id="Exists takes an empty value"),
        pytest.param(expression("zone", "Exists"), False, id="Exists refuses absence"),
        pytest.param(expression("zone", "DoesNotExist"), True, id="DoesNotExist takes absence"),
        pytest.param(expression("app", "DoesNotExist"), False, id="DoesNotExist refuses presence"),
        pytest.param(
            selector(
                matchLabels={"app": "web"},
                matchExpressions=[{"key": "tier", "operator": "NotIn", "values": ["front"]}],
            ),
            False,
            id="labels and expressions must both match",
        ),
    ],
)
def test_matches_labels(chosen: LabelSelector | None, want: bool) -> None:
    assert want is selectors.matches_labels(chosen, WEB)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        pytest.param(expression("app", "In"), "values set can't be empty", id="In without values"),
        pytest.param(
            expression("app", "NotIn"), "values set can't be empty", id="NotIn without values"
        ),
        pytest.param(
            expression("app", "Exists", "a"), "values set must be empty", id="Exists with values"
        ),
        pytest.param(
            expression("app", "DoesNotExist", "a"),
            "values set must be empty",
            id="DoesNotExist with values",
        ),
        pytest.param(
            expression("app", "Gt", "1"),
            '"Gt" is not a valid label selector operator',
            id="Gt is for nodes only",
        ),
        pytest.param(
            expression("app", "in", "a"),
            '"in" is not a valid label selector operator',
            id="operators are spelt with capitals",
        ),
        pytest.param(
            expression("a b", "Exists"), "name part must consist", id="a key with a space"
        ),
        pytest.param(expression("", "Exists"), "name part must be non-empty", id="an empty key"),
        pytest.param(expression("a/b/c", "Exists"), "a valid label key", id="a key of three parts"),
        pytest.param(expression("A.com/x", "Exists"), "prefix part", id="a prefix in capitals"),
        pytest.param(
            expression("k" * 64, "Exists"), "more than 63 bytes", id="a key of 64 letters"
        ),
        pytest.param(
            expression("app", "In", "a b"), "a valid label must be", id="a value with space"
        ),
        pytest.param(
            expression("app", "In", "-a"), "a valid label must be", id="a value after a dash"
        ),
        pytest.param(
            expression("app", "In", "v" * 64), "more than 63 bytes", id="a value of 64 letters"
        ),
        pytest.param(
            selector(matchLabels={"a": "!"}), "a valid label must be", id="a bad label value"
        ),
    ],
)
def test_malformed_selectors_are_refused(chosen: LabelSelector, said: str) -> None:
    with pytest.raises(SelectorError, match=said):
        selectors.compile(chosen)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(SelectorError) as caught:
        selectors.compile(expression("a b", "Exists", "c d"))

    assert "key: Invalid value" in str(caught.value)
    assert "values set must be empty" in str(caught.value)
    assert "values[0][a b]: Invalid value" in str(caught.value)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(
            selector(matchLabels={"app": "web"}), expression("app", "In", "web"),
            id="a label is In with one value",
        ),
        pytest.param(
            expression("app", "In", "b", "a", "b"), expression("app", "In", "a", "b"),
            id="values have no order and count once",
        ),
        pytest.param(
            selector(matchLabels={"a": "1", "b": "2"}), selector(matchLabels={"b": "2", "a": "1"}),
            id="labels have no order",
        ),
        pytest.param(
            selector(matchExpressions=[{"key": "a", "operator": "Exists"}] * 2),
            expression("a", "Exists"),
            id="saying it twice adds nothing",
        ),
        pytest.param(
            selector(matchLabels={}), selector(matchExpressions=[]), id="empty is empty"
        ),
    ],
)  # fmt: skip
def test_selectors_that_say_the_same_are_equal(left: LabelSelector, right: LabelSelector) -> None:
    assert selectors.compile(left) == selectors.compile(right)
    assert hash(selectors.compile(left)) == hash(selectors.compile(right))


def test_nothing_and_everything_differ() -> None:
    assert selectors.compile(None) == NOTHING
    assert selectors.compile(LabelSelector()) == EVERYTHING
    assert NOTHING != EVERYTHING
    assert EVERYTHING.selects_everything
    assert not NOTHING.selects_everything


@pytest.mark.parametrize(
    ("chosen", "want"),
    [
        pytest.param(None, "<none>", id="nothing"),
        pytest.param(selector(matchLabels={"b": "2", "a": "1"}), "a=1,b=2", id="labels"),
        pytest.param(expression("a", "In", "y", "x"), "a in (x,y)", id="In"),
        pytest.param(expression("a", "NotIn", "x"), "a notin (x)", id="NotIn"),
        pytest.param(expression("a", "Exists"), "a", id="Exists"),
        pytest.param(expression("a", "DoesNotExist"), "!a", id="DoesNotExist"),
    ],
)
def test_a_selector_reads_as_kubectl_writes_it(chosen: LabelSelector | None, want: str) -> None:
    assert want == str(selectors.compile(chosen))


@pytest.mark.parametrize(
    ("operator", "want"), [("Gt", "a>5"), ("Lt", "a<5")], ids=["greater than", "less than"]
)
def test_a_comparison_reads_as_one(operator: str, want: str) -> None:
    assert want == str(Requirement("a", operator, ("5",)))


def test_labels_added_to_a_selector_must_match_too() -> None:
    chosen = selectors.compile(selector(matchLabels={"app": "web"})).with_labels({"tier": "front"})

    assert chosen.matches(WEB)
    assert not chosen.matches({"app": "web"})
    assert chosen == selectors.from_labels({"tier": "front", "app": "web"})


def test_nothing_stays_nothing_whatever_is_added() -> None:
    assert not NOTHING.with_labels({"app": "web"}).matches(WEB)


def test_a_map_of_labels_is_not_checked() -> None:
    assert selectors.from_labels({"bad key!": "bad value!"}).matches({"bad key!": "bad value!"})


keys = st.sampled_from(["a", "b", "c"])
values = st.sampled_from(["", "1", "2", "3"])
several = st.lists(values, min_size=1, max_size=3).map(tuple)
labels = st.dictionaries(keys, values)
expressions = st.one_of(
    st.builds(
        LabelSelectorRequirement,
        key=keys,
        operator=st.sampled_from(["In", "NotIn"]),
        values=several,
    ),
    st.builds(
        LabelSelectorRequirement, key=keys, operator=st.sampled_from(["Exists", "DoesNotExist"])
    ),
)
label_selectors = st.builds(
    LabelSelector,
    match_labels=labels,
    match_expressions=st.lists(expressions, max_size=3).map(tuple),
)


def obviously(chosen: LabelSelector, given_labels: dict[str, str]) -> bool:
    """Evaluate a selector as its documentation reads."""
    holds = {
        "In": lambda e: e.key in given_labels and given_labels[e.key] in e.values,
        "NotIn": lambda e: e.key not in given_labels or given_labels[e.key] not in e.values,
        "Exists": lambda e: e.key in given_labels,
        "DoesNotExist": lambda e: e.key not in given_labels,
    }
    return all(given_labels.get(k) == v for k, v in chosen.match_labels.items()) and all(
        holds[e.operator](e) for e in chosen.match_expressions
    )


@given(label_selectors, labels)
def test_a_compiled_selector_selects_what_it_says(
    chosen: LabelSelector, given_labels: dict[str, str]
) -> None:
    assert obviously(chosen, given_labels) is selectors.compile(chosen).matches(given_labels)


@given(label_selectors, st.randoms(use_true_random=False), labels)
def test_equal_selectors_select_the_same(
    chosen: LabelSelector, random: Any, given_labels: dict[str, str]
) -> None:
    shuffled = list(chosen.match_expressions) * 2
    random.shuffle(shuffled)
    pairs = list(chosen.match_labels.items())
    random.shuffle(pairs)
    other = LabelSelector(match_labels=dict(pairs), match_expressions=tuple(shuffled))

    assert selectors.compile(chosen) == selectors.compile(other)
    assert obviously(other, given_labels) is selectors.compile(chosen).matches(given_labels)
