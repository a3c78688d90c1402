"""Decoding reports everything that does not fit, each with its place."""

import enum
from typing import Any, Literal

import msgspec
import pytest

from moorage.api.pod import NodeAffinity
from moorage.config import strict_decoder
from moorage.config.durations import Duration
from moorage.config.field_errors import Report


class Part(msgspec.Struct, frozen=True, rename="camel"):
    part_name: str
    size: int = 0


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Whole(msgspec.Struct, frozen=True, rename="camel"):
    parts: tuple[Part, ...] = ()
    prices: dict[str, float] = {}
    by_name: dict[str, Part] = {}
    deep: dict[str, dict[str, int]] = {}
    wait: Duration = Duration(0)
    note: str | None = "none"
    affinity: NodeAffinity | None = None
    shade: Literal["dark", "light"] | None = None
    colours: dict[str, tuple[Colour, ...]] = {}

    def __post_init__(self) -> None:
        if len(self.prices) > 3:
            raise ValueError("at most three prices")


def decode(value: Any) -> tuple[Whole | None, list[str]]:
    report = Report()
    decoded = strict_decoder.decode(value, Whole, report, ("args",))
    return decoded, [str(problem) for problem in report.problems]


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        pytest.param({}, [], id="nothing is wrong with nothing"),
        pytest.param(
            {"part": []}, ['args.part: unknown field; did you mean "parts"?'], id="a near miss"
        ),
        pytest.param(
            {"Parts": []}, ['args.Parts: unknown field; did you mean "parts"?'], id="wrong case"
        ),
        pytest.param({"zebra": 1}, ["args.zebra: unknown field"], id="nothing like it"),
        pytest.param(
            {"parts": [{"partName": "a", "size": "big"}, {"size": 1}, {"partName": 3, "x": 1}]},
            [
                "args.parts[2].x: unknown field",
                "args.parts[0].size: expected an integer, got text",
                "args.parts[1].partName: Required value",
                "args.parts[2].partName: expected text, got an integer",
            ],
            id="places are those of the document, whatever was left out before",
        ),
        pytest.param(
            {"prices": {"cpu": 1, "nvidia.com/gpu": "dear", "memory": []}},
            [
                "args.prices[nvidia.com/gpu]: expected a number, got text",
                "args.prices.memory: expected a number, got a list",
            ],
            id="the key of a mapping is named",
        ),
        pytest.param(
            {"prices": {"cpu": 1, "gpu": "dear"}, "wait": 5},
            [
                "args.prices.gpu: expected a number, got text",
                'args.wait: expected a duration such as "15s" or "1m30s"',
            ],
            id="and not one that fits, whatever else does not",
        ),
        pytest.param(
            {"deep": {"x": {"a": 1, "b": "c"}, "y": {"d": "e"}}},
            [
                "args.deep.x.b: expected an integer, got text",
                "args.deep.y.d: expected an integer, got text",
            ],
            id="keys inside keys",
        ),
        pytest.param(
            {"byName": {"a": {"partName": "a"}, "b": {"partName": "b", "size": 1.5}}},
            ["args.byName.b.size: expected an integer, got a number"],
            id="a misfit inside a mapping's value",
        ),
        pytest.param(
            {"wait": "5x"}, ['args.wait: time: unknown unit "x" in duration "5x"'], id="a duration"
        ),
        pytest.param(
            {"wait": 5},
            ['args.wait: expected a duration such as "15s" or "1m30s"'],
            id="a number is no duration",
        ),
        pytest.param(
            {"affinity": {"requiredDuringScheduling": {}}},
            [
                "args.affinity.requiredDuringScheduling: unknown field"
                '; did you mean "requiredDuringSchedulingIgnoredDuringExecution"?'
            ],
            id="API objects ignore unknown fields, configuration does not",
        ),
        pytest.param(
            {"prices": dict.fromkeys("abcd", 1)},
            ["args: at most three prices"],
            id="what the struct itself refuses",
        ),
        pytest.param(
            {"shade": "drak"},
            ['args.shade: Unsupported value: "drak": supported values: "dark", "light"'],
            id="what may be written instead is said",
        ),
        pytest.param(
            {"colours": {"wall": ["red", "green"]}},
            ['args.colours.wall[1]: Unsupported value: "green": supported values: "red", "blue"'],
            id="and so it is of enums, however deep",
        ),
        pytest.param([], ["args: expected a mapping, got a list"], id="not a mapping at all"),
        pytest.param({"parts": {}}, ["args.parts: expected a list, got a mapping"], id="no list"),
    ],
)
def test_problems(value: Any, problems: list[str]) -> None:
    assert decode(value)[1] == problems


def test_what_fits_is_decoded_all_the_same() -> None:
    decoded, _ = decode({"parts": [{"size": 1}, {"partName": "b"}], "wait": "2s", "x": 1})

    assert decoded == Whole(parts=(Part("b"),), wait=Duration.of_seconds(2))


def test_null_stands_for_the_default_unless_the_field_takes_null() -> None:
    decoded, problems = decode({"parts": None, "wait": None, "note": None})

    assert (decoded, problems) == (Whole(note=None), [])


def test_decoding_leaves_the_value_alone() -> None:
    value = {"parts": [{"size": "x"}], "prices": {"a": "b"}, "zebra": 1}

    decode(value)

    assert value == {"parts": [{"size": "x"}], "prices": {"a": "b"}, "zebra": 1}


def test_a_struct_is_encoded_with_its_defaults_as_plain_values() -> None:
    plain = strict_decoder.encode(Whole(parts=(Part("a"),), wait=Duration.of_seconds(90)))

    assert plain == {
        "parts": [{"partName": "a", "size": 0}],
        "prices": {},
        "byName": {},
        "deep": {},
        "wait": "1m30s",
        "note": "none",
        "affinity": None,
        "shade": None,
        "colours": {},
    }
