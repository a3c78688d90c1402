"""Quantities are read, rounded and written as Kubernetes does."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api import quantity
from moorage.api.quantity import Quantity, QuantityError

MAX = (1 << 63) - 1


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("0", 0, id="zero"),
        pytest.param("1", 1, id="a plain number"),
        pytest.param("+1", 1, id="a plus sign is allowed"),
        pytest.param("-1", -1, id="a minus sign negates"),
        pytest.param("007", 7, id="leading zeros do not count"),
        pytest.param("1.", 1, id="a trailing dot is allowed"),
        pytest.param(".5", 1, id="a leading dot is allowed"),
        pytest.param(".", 0, id="a dot alone is zero"),
        pytest.param("-", 0, id="a sign alone is zero"),
        pytest.param("Ki", 0, id="a suffix alone is zero"),
        pytest.param(" 1Gi ", 1 << 30, id="surrounding space is ignored"),
        pytest.param("1k", 1000, id="k is a thousand"),
        pytest.param("1M", 10**6, id="M is a million"),
        pytest.param("1G", 10**9, id="G is 10^9"),
        pytest.param("1T", 10**12, id="T is 10^12"),
        pytest.param("1P", 10**15, id="P is 10^15"),
        pytest.param("1E", 10**18, id="E is 10^18"),
        pytest.param("1Ki", 1 << 10, id="Ki is 2^10"),
        pytest.param("1Mi", 1 << 20, id="Mi is 2^20"),
        pytest.param("1Gi", 1 << 30, id="Gi is 2^30"),
        pytest.param("1Ti", 1 << 40, id="Ti is 2^40"),
        pytest.param("1Pi", 1 << 50, id="Pi is 2^50"),
        pytest.param("1Ei", 1 << 60, id="Ei is 2^60"),
        pytest.param("1.5Gi", 3 << 29, id="a binary suffix takes a fraction"),
        pytest.param("100.035Ki", 102436, id="a fraction of bytes rounds up"),
        pytest.param("1e3", 1000, id="a small e is an exponent"),
        pytest.param("1E3", 1000, id="a large E before digits is an exponent"),
        pytest.param("1.2e+3", 1200, id="an exponent may have a plus sign"),
        pytest.param("1500e-3", 2, id="an exponent may be negative"),
        pytest.param("1e4294967299", 1000, id="an exponent wraps at 32 bits"),
        pytest.param("1m", 1, id="a thousandth rounds up to one"),
        pytest.param("1n", 1, id="a billionth rounds up to one"),
        pytest.param("1001m", 2, id="any fraction rounds up"),
        pytest.param("-1500m", -2, id="a negative fraction rounds away from zero"),
        pytest.param("0.0000000001", 1, id="below a billionth still rounds up"),
        pytest.param("1e-999999999", 1, id="a vanishing quantity is not nothing"),
        pytest.param("9223372036854775807", MAX, id="the greatest int64 is kept"),
        pytest.param("8Ei", MAX, id="a binary quantity is capped at int64"),
        pytest.param("9223372036854775807Ki", MAX, id="any binary quantity is capped at int64"),
        pytest.param("10E", 0, id="beyond int64 a decimal quantity is nothing, as in Go"),
        pytest.param("-1000000000000000000", 6930898828, id="a long negative wraps, as in Go"),
        pytest.param("1e999999999", 0, id="far beyond int64 a quantity is nothing, as in Go"),
        pytest.param("10000000000G", 10**19 - (1 << 64), id="beyond int64 a G wraps, as in Go"),
    ],
)
def test_value(text: str, want: int) -> None:
    assert want == quantity.value(text)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("1", 1000, id="one core is a thousand millicores"),
        pytest.param("100m", 100, id="millicores are kept"),
        pytest.param("0.1", 100, id="a decimal fraction is exact"),
        pytest.param("1.5", 1500, id="one and a half cores"),
        pytest.param("1u", 1, id="a microcore rounds up to a millicore"),
        pytest.param("1500u", 2, id="one and a half millicores round up"),
        pytest.param("-1u", -1, id="a negative microcore rounds away from zero"),
        pytest.param("2k", 2_000_000, id="thousands of cores"),
        pytest.param("1Ki", 1_024_000, id="binary cores"),
        pytest.param("1E", 0, id="beyond int64 a decimal quantity is nothing, as in Go"),
        pytest.param("9223372036854775807", -1000, id="a long number wraps, as in Go"),
    ],
)
def test_milli_value(text: str, want: int) -> None:
    assert want == quantity.milli_value(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("  ", id="space alone"),
        pytest.param("1 Gi", id="space inside"),
        pytest.param("1..5", id="two dots"),
        pytest.param("--1", id="two signs"),
        pytest.param("1i", id="half a suffix"),
        pytest.param("1K", id="a capital K without i"),
        pytest.param("1ki", id="a small k before i"),
        pytest.param("1e", id="an exponent without digits"),
        pytest.param("1ee3", id="two exponents"),
        pytest.param("1m5", id="digits after a suffix"),
        pytest.param("1Gib", id="a longer suffix"),
        pytest.param("0x10", id="hexadecimal"),
        pytest.param("1_000", id="underscores"),
        pytest.param("1,5", id="a decimal comma"),
        pytest.param("Infinity", id="infinity"),
        pytest.param("inf", id="infinity for short"),
        pytest.param("nan", id="not a number"),
        pytest.param("٣", id="digits of another script"),
        pytest.param("1e99999999999999999999", id="an exponent beyond int64"),
        pytest.param(".e-10", id="no digits in a number below a billionth"),
    ],
)
def test_what_is_not_a_quantity_is_refused_by_name(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        quantity.parse(text)

    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("0Gi", "0", id="zero has no suffix"),
        pytest.param("1.5", "1500m", id="a fraction takes a smaller suffix"),
        pytest.param("1000m", "1", id="the largest exact suffix is used"),
        pytest.param("1.5Gi", "1536Mi", id="a binary fraction takes a smaller suffix"),
        pytest.param("1024Mi", "1Gi", id="a binary suffix grows"),
        pytest.param("1000Ki", "1000Ki", id="a binary suffix does not grow by thousands"),
        pytest.param("0.5Ki", "512", id="below 1024 a binary quantity is decimal"),
        pytest.param("0.1Ki", "102400m", id="a binary quantity with a fraction is decimal"),
        pytest.param("1e5", "100e3", id="an exponent is a multiple of three"),
        pytest.param("1e0", "1", id="an exponent of zero is left out"),
        pytest.param("+1Mi", "1Mi", id="a plus sign is left out"),
        pytest.param("-2000k", "-2M", id="a minus sign is kept"),
        pytest.param("1n", "1n", id="a billionth"),
        pytest.param("1000E", "1000E", id="beyond E there is no suffix"),
        pytest.param("0.0000000001", "1n", id="what was rounded up stays so"),
    ],
)
def test_format(text: str, want: str) -> None:
    assert want == quantity.format(quantity.parse(text))
    assert want == str(quantity.parse(text))


LONG = "9" * 4_400


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LONG, id="digits"),
        pytest.param(f"{LONG}Gi", id="digits with a suffix"),
        pytest.param(f"0.{LONG}", id="a fraction"),
        pytest.param(f"1e{'0' * 4_400}3", id="zeros in an exponent, which Go reads"),
        pytest.param(f"{'0' * 4_400}1", id="zeros before a number, which Go reads"),
        pytest.param("9" * 1_001, id="one more than is read"),
    ],
)
def test_a_text_of_thousands_of_digits_is_no_quantity_and_is_not_repeated(text: str) -> None:
    with pytest.raises(QuantityError, match="and at most 1,000 are read") as caught:
        quantity.parse(text)

    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("suffix", ["", "Ei", "E", "e2147483647", "e-2147483648", "n", ".9"])
def test_sums_of_what_is_read_can_be_written(suffix: str) -> None:
    longest = quantity.parse("9" * (1_000 - len(suffix)) + suffix)
    total = sum([longest] * 100, quantity.parse("1n"))

    assert quantity.parse("1") < total + quantity.parse("1e2147483647")
    assert str(total).strip("0123456789") in {"", "n", "m", "E", "Ei", "e"}


def test_equal_amounts_are_equal_however_written() -> None:
    same = [quantity.parse(text) for text in ("1", "1000m", "1e0", "0.001k", "1.000000000")]

    assert len(set(same)) == 1
    assert quantity.parse("1") != 1


@pytest.mark.parametrize(
    ("left", "right", "want"),
    [
        pytest.param("1", "1m", "1001m", id="different scales add exactly"),
        pytest.param("100n", "200n", "300n", id="nothing is rounded on the way"),
        pytest.param("1Gi", "1Gi", "2Gi", id="binary and binary stay binary"),
        pytest.param("0", "1Gi", "1Gi", id="zero takes the other's suffix"),
        pytest.param("1Gi", "0.5", "1073741824500m", id="a fraction makes the sum decimal"),
        pytest.param("8Ei", "1", "8Ei", id="what was capped at int64 adds up beyond it"),
    ],
)
def test_addition(left: str, right: str, want: str) -> None:
    assert want == str(quantity.parse(left) + quantity.parse(right))


def test_order_is_by_amount() -> None:
    texts = ["1Ti", "-1", "1", "999m", "1.5Gi", "0", "1e3", "1Ki"]

    ordered = sorted(map(quantity.parse, texts))

    assert list(map(str, ordered)) == ["-1", "0", "999m", "1", "1e3", "1Ki", "1536Mi", "1Ti"]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("1", 10**9, id="one is a billion nanos"),
        pytest.param("0e99", 0, id="zero is zero at any scale"),
        pytest.param("1.5Gi", 3 * 2**29 * 10**9, id="fractions are exact"),
        pytest.param("-1", None, id="a negative quantity is left to the slow way"),
        pytest.param("1e19", None, id="a quantity far beyond int64 is left to the slow way"),
    ],
)
def test_nanos(text: str, want: int | None) -> None:
    assert want == quantity.nanos(text)


digits = st.text("0123456789", min_size=1, max_size=6)
suffixes = st.sampled_from(
    ["", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "e-3", "E+6"]
)
texts = st.builds(
    lambda sign, whole, point, suffix: f"{sign}{whole}{point}{suffix}",
    st.sampled_from(["", "+", "-"]),
    digits,
    st.one_of(st.just(""), st.just("."), digits.map(lambda text: f".{text}")),
    suffixes,
)

POWERS = {
    "": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "e3": Fraction(1000), "e-3": Fraction(1, 1000), "E+6": Fraction(10**6),
}  # fmt: skip


def exact(text: str) -> Fraction:
    """Read a quantity the obvious way: a number times the power its suffix stands for."""
    number = text.rstrip("numkKMGTi") if "e" not in text and "E" not in text else text
    if "e" in text or "E" in text:
        number = text.replace("E", "e").split("e")[0]
    suffix = text[len(number) :]
    return Fraction(number.removesuffix(".")) * POWERS[suffix]


def ceiling(number: Fraction) -> int:
    """Round away from zero."""
    rounded = -(-abs(number.numerator) // number.denominator)
    return rounded if number >= 0 else -rounded


@given(texts)
def test_a_quantity_is_its_number_times_its_suffix_rounded_up_to_nanos(text: str) -> None:
    parsed = quantity.parse(text)

    assert ceiling(exact(text) * 10**9) == Fraction(parsed.amount) * Fraction(10) ** (
        parsed.scale + 9
    )


@given(texts)
def test_canonical_text_reads_back_to_the_same_quantity(text: str) -> None:
    parsed = quantity.parse(text)
    written = quantity.format(parsed)

    assert parsed == quantity.parse(written)
    assert written == quantity.format(quantity.parse(written))


@given(texts, texts)
def test_sum_and_order_are_those_of_the_numbers(left: str, right: str) -> None:
    a, b = quantity.parse(left), quantity.parse(right)
    x, y = (Fraction(q.amount) * Fraction(10) ** q.scale for q in (a, b))
    total = a + b

    assert x + y == Fraction(total.amount) * Fraction(10) ** total.scale
    assert (x < y, x == y, x > y) == (a < b, a == b, a > b)
    assert a != b or hash(a) == hash(b)


@given(st.integers(0, MAX))
def test_every_int64_that_is_not_negative_reads_as_itself(number: int) -> None:
    assert number == quantity.value(str(number))


def test_repr_shows_the_canonical_text() -> None:
    assert repr(Quantity(3 << 29, 0, quantity.BINARY_SI)) == "Quantity('1536Mi')"
