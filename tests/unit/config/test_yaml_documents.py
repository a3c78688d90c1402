"""YAML is read strictly, with the line of each value."""

from typing import Any

import pytest

from moorage.config import yaml_documents
from moorage.config.field_errors import ConfigError


def one(text: str | bytes) -> Any:
    (document,) = yaml_documents.read_yaml(text)
    return document.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: 5m", {"a": "5m"}, id="a duration is text"),
        pytest.param("a: 12:30", {"a": "12:30"}, id="a time of day is text, not sixty times"),
        pytest.param("a: 2026-01-01", {"a": "2026-01-01"}, id="a date is text"),
        pytest.param("a: 1e3", {"a": 1000.0}, id="an exponent makes a number"),
        pytest.param("a: -1e400", {"a": "-1e400"}, id="a number beyond float64 is text"),
        pytest.param("a: 0.05", {"a": 0.05}, id="a fraction is a number"),
        pytest.param("a: -3", {"a": -3}, id="an integer"),
        pytest.param("a: 0x1F", {"a": 31}, id="a hexadecimal integer"),
        pytest.param("a: 010", {"a": 8}, id="a leading zero means octal, as in Kubernetes"),
        pytest.param("a: yes\nb: off", {"a": True, "b": False}, id="yes and off are booleans"),
        pytest.param("a:\nb: ~", {"a": None, "b": None}, id="nothing is null"),
        pytest.param("1: x\ntrue: y", {"1": "x", "true": "y"}, id="keys are text"),
        pytest.param("a: {}\nb: []", {"a": {}, "b": []}, id="empty collections"),
        pytest.param('{"a": [1, "x"]}', {"a": [1, "x"]}, id="JSON is YAML"),
        pytest.param("a: &x {k: 1}\nb: *x", {"a": {"k": 1}, "b": {"k": 1}}, id="an alias"),
        pytest.param(
            "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  k: 3",
            {"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}},
            id="a merged mapping gives way to its own keys",
        ),
        pytest.param(
            "a: &a {k: 1, l: 2}\nb: &b {k: 3}\nc: {<<: [*a, *b], m: 4}\nd: {<<: [*b, *a]}",
            {
                "a": {"k": 1, "l": 2},
                "b": {"k": 3},
                "c": {"k": 1, "l": 2, "m": 4},
                "d": {"k": 3, "l": 2},
            },
            id="of several merged mappings the first wins",
        ),
    ],
)
def test_values(text: str, value: Any) -> None:
    assert one(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: 1\nb: 2\na: 3", 'f.yaml:3: key "a" is already set in line 1', id="twice"),
        pytest.param(
            "x:\n- a: 1\n  a: 1",
            'f.yaml:3: key "a" is already set in line 2',
            id="twice, deep down",
        ),
        pytest.param("a: [1\nb: 2", "f.yaml:2: not YAML: ", id="an open bracket"),
        pytest.param("a:\n  - b\n c: 1", "f.yaml:3: not YAML: ", id="wrong indentation"),
        pytest.param("a: &x [*x]", "f.yaml:1: anchors and aliases make it endless", id="endless"),
        pytest.param("? [a]\n: b", "f.yaml:1: a key must be text", id="a list as key"),
        pytest.param("a: 1\nb: -.inf", "f.yaml:2: -.inf is no number in JSON", id="infinity"),
        pytest.param("a: .nan", "f.yaml:1: .nan is no number in JSON", id="not a number"),
        pytest.param(b"a: \xff", "f.yaml: not UTF-8: invalid start byte at byte 3", id="bytes"),
        pytest.param("a: \x00", "f.yaml: not YAML: ", id="a character YAML forbids"),
        pytest.param(
            "a: 1\nb: " + "9" * 5_000,
            f"f.yaml:2: {'9' * 40}... cannot be read as int",
            id="a number of 5,000 digits",
        ),
        pytest.param(
            "a: 0x" + "f" * 5_000,
            f"f.yaml:1: 0x{'f' * 38}... cannot be read as int",
            id="a long hexadecimal number",
        ),
        pytest.param(
            "a: {<<: 7}", "f.yaml:1: not YAML: << must name a mapping", id="a merge of no mapping"
        ),
    ],
)
def test_refusals_name_the_line(text: str | bytes, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        yaml_documents.read_yaml(text, source="f.yaml")

    assert str(error.value).startswith(message)


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]

    with pytest.raises(ConfigError, match="anchors and aliases make it endless"):
        yaml_documents.read_yaml("\n".join(lines))


def test_merges_do_not_multiply() -> None:
    """Each level would have twice the keys of the one before."""
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}" for i in range(1, 60)]

    assert one("\n".join(lines))["a59"] == {"k": 1}


def test_merges_of_many_keys_are_refused() -> None:
    keys = ", ".join(f"k{i}: 1" for i in range(1_000))

    with pytest.raises(ConfigError, match="anchors and aliases make it endless"):
        yaml_documents.read_yaml(
            f"a: &a {{{keys}}}\nb: {{<<: [{', '.join(['*a'] * 200)}]}}", source="f.yaml"
        )


def test_a_long_document_is_no_multiplied_one() -> None:
    assert len(one("- &x 1\n- *x\n" + "- 1\n" * 100_000)) == 100_002


def test_lines_are_those_of_keys_and_items() -> None:
    (document,) = yaml_documents.read_yaml("a:\n  b:\n  - c: 1\n  -\n    d: 2\n", after_line=10)

    assert document.lines == {
        (): 11,
        ("a",): 11,
        ("a", "b"): 12,
        ("a", "b", 0): 13,
        ("a", "b", 0, "c"): 13,
        ("a", "b", 1): 15,
        ("a", "b", 1, "d"): 15,
    }


def test_several_documents() -> None:
    first, second = yaml_documents.read_yaml("a: 1\n---\nb: 2\n")

    assert (first.value, second.value) == ({"a": 1}, {"b": 2})
    assert second.lines["b",] == 3


def test_literal_blocks_are_noted() -> None:
    (document,) = yaml_documents.read_yaml("a: |\n  x: 1\nb: >\n  x: 1\nc: 'x: 1'\n")

    assert document.literals == {("a",)}
