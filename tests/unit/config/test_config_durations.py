"""Durations read and write as Go's time.Duration does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.config.durations import Duration

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        pytest.param("15s", 15 * SECOND, id="whole seconds"),
        pytest.param("1m30s", 90 * SECOND, id="units add up"),
        pytest.param("1.5h", 5400 * SECOND, id="a fraction of an hour"),
        pytest.param(".5s", SECOND // 2, id="a fraction needs no leading digit"),
        pytest.param("1.s", SECOND, id="nor a trailing one"),
        pytest.param("-2s", -2 * SECOND, id="a negative duration"),
        pytest.param("+2s", 2 * SECOND, id="a sign is allowed"),
        pytest.param("0", 0, id="zero needs no unit"),
        pytest.param("-0", 0, id="negative zero needs none either"),
        pytest.param("3us", 3_000, id="microseconds in ASCII"),
        pytest.param("3µs", 3_000, id="microseconds with the micro sign"),
        pytest.param("3μs", 3_000, id="microseconds with a Greek mu"),
        pytest.param("1s1s", 2 * SECOND, id="a unit may come twice"),
        pytest.param("1.9999999999s", 1_999_999_999, id="what is below a nanosecond is dropped"),
        pytest.param("2562047h47m16.854775807s", 2**63 - 1, id="the longest duration"),
        pytest.param("-2562047h47m16.854775808s", -(2**63), id="the most negative duration"),
    ],
)
def test_parse(text: str, nanoseconds: int) -> None:
    assert Duration.parse(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", 'time: invalid duration ""', id="nothing"),
        pytest.param("-", 'time: invalid duration "-"', id="only a sign"),
        pytest.param("s", 'time: invalid duration "s"', id="only a unit"),
        pytest.param(".s", 'time: invalid duration ".s"', id="only a point and a unit"),
        pytest.param("15", 'time: missing unit in duration "15"', id="no unit"),
        pytest.param("5x", 'time: unknown unit "x" in duration "5x"', id="an unknown unit"),
        pytest.param("1 s", 'time: unknown unit " s" in duration "1 s"', id="a space"),
        pytest.param("1d", 'time: unknown unit "d" in duration "1d"', id="Go knows no days"),
        pytest.param(
            "2562047h47m16.854775808s",
            'time: invalid duration "2562047h47m16.854775808s"',
            id="one nanosecond too long",
        ),
        pytest.param("٣s", 'time: invalid duration "٣s"', id="digits must be ASCII"),
    ],
)
def test_parse_refuses_in_the_words_of_go(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        Duration.parse(text)

    assert str(error.value) == message


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        pytest.param(0, "0s", id="zero is in seconds"),
        pytest.param(1, "1ns", id="nanoseconds"),
        pytest.param(1_100, "1.1µs", id="microseconds"),
        pytest.param(2_200_000, "2.2ms", id="milliseconds"),
        pytest.param(3_300_000_000, "3.3s", id="seconds"),
        pytest.param(245 * SECOND, "4m5s", id="minutes"),
        pytest.param(600 * SECOND, "10m0s", id="seconds are written even when zero"),
        pytest.param(18_367_001_000_000, "5h6m7.001s", id="hours"),
        pytest.param(-90 * SECOND, "-1m30s", id="negative"),
        pytest.param(-(2**63), "-2562047h47m16.854775808s", id="the most negative"),
    ],
)
def test_text(nanoseconds: int, text: str) -> None:
    assert str(Duration(nanoseconds)) == text


@given(st.integers(-(2**63), 2**63 - 1))
def test_text_reads_back_to_within_the_precision_of_a_float(nanoseconds: int) -> None:
    """Go reads fractions in floating point; up to a second's fraction that is exact."""
    assert Duration.parse(str(Duration(nanoseconds))) == nanoseconds


def test_seconds() -> None:
    assert Duration.parse("1m30.5s").seconds == 90.5
    assert Duration.of_seconds(90) == Duration.parse("1m30s")
