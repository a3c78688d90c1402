"""What anybody may write is read within limits, or is as if it were not there."""

import json

import msgspec
import pytest

from moorage.api import annotations, int64


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("0", 0, id="zero"),
        pytest.param("007", 7, id="zeros in front"),
        pytest.param(str(int64.MAX), int64.MAX, id="the largest int64"),
        pytest.param(str(int64.MAX + 1), None, id="beyond int64"),
        pytest.param("9" * 5_000, None, id="more digits than Python reads"),
        pytest.param("²", None, id="a superscript"),
        pytest.param("٣", None, id="digits of another script"),
        pytest.param("-1", None, id="a sign"),
        pytest.param("1.0", None, id="a fraction"),
        pytest.param("1_0", None, id="an underscore"),
        pytest.param("1\n", None, id="the end of a line"),
        pytest.param("", None, id="nothing"),
        pytest.param(None, None, id="no text"),
    ],
)
def test_a_whole_number(text: str | None, want: int | None) -> None:
    assert annotations.read_int(text) == want


@pytest.mark.parametrize(("text", "want"), [("1", None), ("2", 2), ("4", 4), ("5", None)])
def test_a_number_has_a_range(text: str, want: int | None) -> None:
    assert annotations.read_int(text, 2, 4) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("0-3-1", (0, 3, 1), id="numbers"),
        pytest.param(" 0 - 7", (0, 7), id="spaces"),
        pytest.param("0-8", None, id="one beyond the range"),
        pytest.param("0-1-2-3-4", None, id="one more than may be"),
        pytest.param("0--1", None, id="a gap"),
        pytest.param("0-²", None, id="one that is no number"),
        pytest.param("", None, id="nothing"),
        pytest.param("0-" * 100_000, None, id="a hundred thousand"),
        pytest.param(None, None, id="no text"),
    ],
)
def test_numbers(text: str | None, want: tuple[int, ...] | None) -> None:
    assert annotations.read_ints(text, "-", most=7, most_numbers=4) == want


class Device(msgspec.Struct):
    id: str
    devmem: int = 0


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            '[{"id": "a", "more": {}}]', [Device("a")], id="a device with more than is read"
        ),
        pytest.param('[{"devmem": 1}]', None, id="a field is missing"),
        pytest.param('[{"id": 7}]', None, id="a field of another type"),
        pytest.param(f'[{{"id": "a", "devmem": {"9" * 5_000}}}]', None, id="a number without end"),
        pytest.param("[" * 60_000, None, id="lists in lists"),
        pytest.param('[{"id": "\ud800"}]', None, id="half a character"),
        pytest.param(json.dumps([{"id": "a" * 70_000}]), None, id="more than is read"),
        pytest.param(None, None, id="no text"),
    ],
)
def test_json(text: str | None, want: list[Device] | None) -> None:
    assert annotations.read_json(text, list[Device]) == want
