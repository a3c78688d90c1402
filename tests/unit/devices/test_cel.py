"""Selectors mean what they mean in Kubernetes."""

import pytest

from moorage.devices.cel.functions import FUNCTIONS
from moorage.devices.cel.library import CompileError
from moorage.devices.cel.operators import OPERATORS
from moorage.devices.cel.program import Frame, Program
from moorage.devices.cel.values import CelError, CostLimitError, DefaultMap, Semver, parse_quantity
from moorage.devices.work_budget import UNITS_PER_SECOND, OverBudgetError, WorkBudget

GPU = "gpu.example.com"
DEVICE = {
    "device": {
        "driver": GPU,
        "allowMultipleAllocations": False,
        "attributes": DefaultMap(
            {GPU: {"model": "a100", "numa": 3, "version": Semver("1.2.3"), "healthy": True}}
        ),
        "capacity": DefaultMap({GPU: {"memory": parse_quantity("80Gi")}}),
    }
}
OWN = f"device.attributes['{GPU}']"


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        pytest.param(f"device.driver == '{GPU}'", True, id="the driver"),
        pytest.param(f"{OWN}.model == 'h100'", False, id="an attribute that differs"),
        pytest.param("has(device.attributes['other'].x)", False, id="a domain that is not there"),
        pytest.param("'other' in device.attributes", False, id="the domains there are"),
        pytest.param("device.attributes['other'].?x.orValue(true)", True, id="an optional field"),
        pytest.param(
            f"device.capacity['{GPU}'].memory.compareTo(quantity('79Gi')) > 0",
            True,
            id="a quantity",
        ),
        pytest.param(f"{OWN}.version.isLessThan(semver('1.10.0'))", True, id="versions by number"),
        pytest.param(f"cel.bind(a, {OWN}, a.healthy && a.numa == 3)", True, id="a bound name"),
        pytest.param(f"{OWN}.gone == 1 || true", True, id="an error that does not matter"),
        pytest.param(f"{OWN}.model.matches('^a[0-9]+$')", True, id="a pattern"),
        pytest.param(f"['a100', 'l4'].exists(m, m == {OWN}.model)", True, id="a list"),
        pytest.param("has(device.allowMultipleAllocations)", True, id="a field that all have"),
        pytest.param("dyn(1) == 1.0 && !(true == dyn(1))", True, id="numbers are equal by worth"),
        pytest.param("1 < 1.5 && 2u > 1", True, id="numbers of two kinds are compared"),
        pytest.param("'key=value'.find('([a-z]+)=(.*)') == 'key=value'", True, id="a match"),
        pytest.param("'baac'.findAll('a*') == ['', 'aa', '']", True, id="all matches"),
        pytest.param("cidr('10.0.0.0/8').containsIP('10.1.2.3')", True, id="a network"),
        pytest.param("ip('fe80::1').isLinkLocalUnicast()", True, id="an address"),
        pytest.param("url('https://a.example:80/x').getPort() == '80'", True, id="a URL"),
        pytest.param("format.dns1123Label().validate('A').hasValue()", True, id="a named format"),
        pytest.param(f"{OWN}.exists(k, v, k == 'numa' && v == 3)", True, id="two variables"),
        pytest.param("{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}", True, id="a map of a map"),
        pytest.param("[3, 1].sortBy(e, -e) == [3, 1]", True, id="a sorted list"),
        pytest.param("'%d of %s'.format([1, 'x']) == '1 of x'", True, id="a format"),
        pytest.param("duration('1.5h') > duration('1h29m')", True, id="durations"),
        pytest.param(
            "timestamp('2024-05-06T07:08:09Z').getHours('02:00') == 9", True, id="a time in a zone"
        ),
        pytest.param(
            f"{OWN}.?model.orValue({OWN}.gone) == 'a100'",
            True,
            id="an alternative that is not needed is not looked at",
        ),
        pytest.param(
            f"{OWN}.?model.or({OWN}.gone.?x).orValue('') == 'a100'",
            True,
            id="nor is an optional one",
        ),
        pytest.param("string(1e6) == '1e+06'", True, id="a million has an exponent"),
        pytest.param("string(123456.5) == '123456.5'", True, id="what is less has none"),
        pytest.param("'ab'.split('', 5) == ['a', 'b']", True, id="no more letters than there are"),
        pytest.param("''.split('', 1) == []", True, id="no letters of no text"),
        pytest.param("isQuantity(' 1')", False, id="a quantity has no space before it"),
        pytest.param("type(1u) == type(1)", False, id="kinds of numbers are different types"),
    ],
)
def test_an_expression_is_evaluated(expression: str, want: bool) -> None:
    assert Program(expression).matches(DEVICE) is want


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "device.driver ==",
            "device.driver > 5",
            "device.nonsense == 1",
            "device.driver",
            "1 + 2",
        ),
        *("[1, 'a'].size() == 2", "true || 'a'.matches('[')", "true || '%d'.format([1, 2]) == ''"),
        *("true || int('x') == 1", "now() > timestamp(0)", "math.greatest(1, 2) == 2"),
    ],
)
def test_what_kubernetes_refuses_does_not_compile(expression: str) -> None:
    with pytest.raises(CompileError):
        Program(expression)


def test_a_key_that_is_missing_is_an_error() -> None:
    with pytest.raises(CelError, match="no such key: gone"):
        Program(f"{OWN}.gone == 1").matches(DEVICE)


@pytest.mark.parametrize(
    "expression",
    [
        *("int('\u0663') == 3", "double(' 1') == 1.0", "double('1e400') > 1.0"),
        *("timestamp('2024-05-06t07:08:09z') > timestamp(0)", "double('NaN') > 1.0"),
        *(f"{OWN}.?gone.orValue({OWN}.gone) == 1", "quantity('1 ') == quantity('1')"),
    ],
)
def test_what_cannot_be_evaluated_is_an_error(expression: str) -> None:
    with pytest.raises((CelError, CompileError)):
        Program(expression).matches(DEVICE)


def test_an_alternative_costs_nothing_of_its_own() -> None:
    frame = Frame(DEVICE)

    Program("optional.of(true).orValue(false)")._run(frame)

    assert frame.cost == 1


def test_an_expression_that_costs_too_much_is_stopped() -> None:
    digits = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
    nested = "a + b + c + d + e >= 0"
    for name in "edcba":
        nested = f"{digits}.all({name}, {nested})"

    with pytest.raises(CostLimitError):
        Program(nested).matches(DEVICE)


@pytest.mark.parametrize(
    "expression", ["lists.range(1000000000).size() > 0", "'%.1000000000f'.format([1.5]) == ''"]
)
def test_what_would_fill_the_memory_is_not_begun(expression: str) -> None:
    with pytest.raises((CostLimitError, CompileError)):
        Program(expression).matches(DEVICE)


def test_a_pattern_that_would_take_for_ever_elsewhere_is_decided_at_once() -> None:
    assert Program("'" + "a" * 60 + "!'.matches('^(a+)+$')").matches(DEVICE) is False


MANY = "[0].map(x, lists.range(20000)).flatten()"
LONG = "lists.range(60000).map(x, 'a').join('')"
DEEP = "[0]"
for name in "abcdef":
    DEEP = f"[{DEEP}].map({name}, [{', '.join([name] * 12)}])[0]"
"""A list of a few dozen lists, in which there are three million numbers."""


@pytest.mark.parametrize(
    ("function", "expression", "before"),
    [
        ("distinct", f"{MANY}.distinct().size() > 0", 0),
        ("distinct", "[0].map(x, lists.range(900000)).flatten().distinct().size() > 0", 0),
        ("distinct", "lists.range(900000).distinct().size() > 0", 0),
        ("@sortByAssociatedKeys", "lists.range(20000).sortBy(x, -x).size() > 0", 0),
        ("sort", "lists.range(20000).sort().size() > 0", 0),
        ("lists.range", "lists.range(1000000).size() > 0", 0),
        ("flatten", f"{DEEP}.flatten(6).size() > 0", 0),
        ("sets.intersects", f"sets.intersects({MANY}, {MANY}.map(x, -1 - x))", 0),
        ("sets.contains", f"sets.contains({MANY}, {MANY})", 0),
        ("sets.equivalent", "sets.equivalent(lists.range(3000), lists.range(3000).reverse())", 0),
        ("join", f"cel.bind(t, {LONG}, lists.range(100).map(x, t).join('').size() > 0)", 1),
        ("replace", f"{LONG}.replace('a', '{'b' * 200}').size() > 0", 0),
        ("format", f"'%s'.format([{DEEP}]).size() > 0", 0),
        ("format", "'%.2000f'.format([1.0 * 2.0]).size() > 0", 0),
        ("indexOf", f"{DEEP}.indexOf([]) > 0", 0),
        ("_==_", f"{DEEP} == {DEEP}", 0),
        ("@in", f"{DEEP} in [{DEEP}]", 0),
        ("_+_", f"cel.bind(a, {MANY}, lists.range(99).map(x, a + a).size() > 0)", 23),
    ],
)  # fmt: skip
def test_a_call_that_costs_too_much_is_not_begun(
    function: str, expression: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In kube-scheduler's words; there most of them are refused too, but after the call.

    `before` is how often the function is called for less.
    """
    table = FUNCTIONS if function in FUNCTIONS else OPERATORS
    real, begun = table[function], 0

    def counted(*args: object) -> object:
        nonlocal begun
        begun += 1
        return real(*args)

    monkeypatch.setitem(table, function, counted)
    budget = WorkBudget()

    with pytest.raises(CostLimitError, match="operation cancelled: actual cost limit exceeded"):
        Program(expression).matches(DEVICE, budget)

    assert begun == before
    assert not budget.is_spent


@pytest.mark.parametrize(
    "expression",
    [
        "[dyn(1), dyn(1.0), dyn(1u), dyn(true), dyn('1'), dyn([1]), dyn([1.0])]"
        ".distinct().size() == 4",
        "[2, 1, 2, 3, 1].distinct() == [2, 1, 3]",
        "[0.0 / 0.0, 0.0 / 0.0].distinct().size() == 2",
        "[1, 2].map(x, [x] + [x]) == [[1, 1], [2, 2]]",
        "[1, 2].map(x, [3, 4].map(y, x * y)) == [[3, 4], [6, 8]]",
        "[1, 2, 3].filter(x, x > 1).map(x, x + 1) == [3, 4]",
        "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v + 1) == {'b': 3}",
        "[[1], [2]].map(x, x.map(y, y)).flatten() == [1, 2]",
        "[1, 0].map(x, 1 / x).size() == 2 || true",
    ],
)
def test_lists_that_grow_in_place_are_those_of_one_run(expression: str) -> None:
    program = Program(expression)

    assert [program.matches(DEVICE) for _ in range(3)] == [True] * 3


def test_a_list_that_a_macro_makes_costs_its_length_and_no_more() -> None:
    """A thousand elements cost ten times what a hundred cost: none is copied for the next."""
    frames = [Frame(DEVICE), Frame(DEVICE)]
    for frame, size in zip(frames, (100, 1000), strict=True):
        Program(f"lists.range({size}).map(x, x).size() > 0")._run(frame)

    assert frames[1].cost < 11 * frames[0].cost


NESTED = "lists.range(290).all(x, lists.range(290).all(y, x + y >= 0))"
IDLE = f"lists.range(20000).all(x, {' && '.join(['true'] * 500)})"


@pytest.mark.parametrize("expression", [NESTED, IDLE])
def test_a_run_ends_when_the_budget_is_spent(expression: str) -> None:
    """Steps that cost nothing in cel-go are paid for as well."""
    budget = WorkBudget(0.01)
    frame = Frame(DEVICE, budget)

    with budget.part(10.0), pytest.raises(OverBudgetError):
        Program(expression)._run(frame)

    assert budget.is_spent
    assert frame.cost < 1.1 * 0.01 * UNITS_PER_SECOND


def test_a_run_ends_by_the_clock_on_a_slow_machine() -> None:
    """Every look at the clock is a millisecond later, and there is one every 250 units."""
    looks = iter(range(1_000_000))
    budget = WorkBudget(now=lambda: next(looks) / 1000)

    with budget.part(0.1), pytest.raises(OverBudgetError):
        Program(NESTED).matches(DEVICE, budget)

    assert 100 <= next(looks) < 110
