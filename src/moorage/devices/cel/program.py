"""An expression that can be run over and over: a tree of functions, and the cost of each step.

Costs are those of cel-go and of Kubernetes' libraries: a variable, a field or an index costs one,
comparing and searching texts costs by their length, making a list ten. `&&` and `||` stop at the
first operand that decides, and go by the other one where an operand fails.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

from moorage.api.quantity import Quantity
from moorage.devices.cel import operators
from moorage.devices.cel.environment import CompileError, parse_selector
from moorage.devices.cel.functions import FUNCTIONS
from moorage.devices.cel.syntax_tree import (
    Call,
    Comprehension,
    Const,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
)
from moorage.devices.cel.values import CelError, CostLimitError, Optional, Semver

COST_LIMIT: Final = 1_000_000
"""What one selector may cost on one device."""

NOT_BOOLEAN: Final = "CEL result could not be converted to bool"

_BY_TEXT: Final = 0.1
_BY_PATTERN: Final = 0.25
_LIST_COST: Final = 10
_MAP_COST: Final = 30

TYPE_NAMES: Final = frozenset(
    ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type")
)
"""Types are values, too, and have no better form than their names."""


class Frame:
    """The variables of one run, and what it has cost so far."""

    __slots__ = ("cost", "variables")

    def __init__(self, variables: dict[str, Any]) -> None:
        self.variables = variables
        self.cost = 0

    def spend(self, cost: int) -> None:
        self.cost += cost
        if self.cost > COST_LIMIT:
            raise CostLimitError


Step = Callable[[Frame], Any]


class Program:
    """One compiled selector."""

    __slots__ = ("_run", "expression")

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self._run = _step(parse_selector(expression))

    def matches(self, variables: dict[str, Any]) -> bool:
        """Whether it holds; CelError or CostLimitError where that cannot be told."""
        found = self._run(Frame(variables))
        if not isinstance(found, bool):
            raise CelError(NOT_BOOLEAN)
        return found


def _step(node: Node) -> Step:
    match node:
        case Const(value=value):
            return lambda frame: value
        case Ident(name=name):
            return _variable(name)
        case Select():
            return _select(node)
        case Call():
            return _call(node)
        case ListLiteral():
            return _list(node)
        case MapLiteral():
            return _map(node)
        case Comprehension():
            return _comprehension(node)


def _variable(name: str) -> Step:
    if name in TYPE_NAMES:
        return lambda frame: name
    first, *rest = name.split(".") if name.startswith("device.") else (name,)
    cost = 1 + len(rest)

    def read(frame: Frame) -> Any:
        frame.spend(cost)
        value = frame.variables[first]
        if isinstance(value, _Failed):
            raise value.error
        for field in rest:
            value = value[field]
        return value

    return read


def _select(node: Select) -> Step:
    operand, field = _step(node.operand), node.field
    if node.test_only:
        return lambda frame: operators.has(operand(frame), field)

    def select(frame: Frame) -> Any:
        where = operand(frame)
        frame.spend(1)
        if isinstance(where, Optional):
            return operators.find(where, field)
        if not isinstance(where, dict):
            raise operators.no_overload(where, field)
        return operators.index(where, field)

    return select


def _call(node: Call) -> Step:
    special = _SPECIAL.get(node.function)
    if special is not None:
        return special(*(_step(arg) for arg in node.args))
    function = operators.OPERATORS.get(node.function) or FUNCTIONS.get(node.function)
    if function is None:
        raise CompileError(f"compilation failed: {node.function}() is not supported in selectors")
    args = tuple(_step(arg) for arg in node.args)
    name = node.function

    def call(frame: Frame) -> Any:
        given = [arg(frame) for arg in args]
        result = function(*given)
        frame.spend(call_cost(name, given, result))
        return result

    return call


def _and(left: Step, right: Step) -> Step:
    return lambda frame: _decide(frame, left, right, decisive=False)


def _or(left: Step, right: Step) -> Step:
    return lambda frame: _decide(frame, left, right, decisive=True)


def _decide(frame: Frame, left: Step, right: Step, *, decisive: bool) -> bool:
    """The decisive truth of either operand; failing that, the error of one; failing that, not."""
    failed: CelError | None = None
    for operand in (left, right):
        try:
            found = operand(frame)
            if not isinstance(found, bool):
                raise operators.no_overload(found)
            if found is decisive:
                return decisive
        except CelError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return not decisive


def _conditional(condition: Step, yes: Step, no: Step) -> Step:
    def choose(frame: Frame) -> Any:
        found = condition(frame)
        if not isinstance(found, bool):
            raise operators.no_overload(found)
        return yes(frame) if found else no(frame)

    return choose


def _not_strictly_false(operand: Step) -> Step:
    def check(frame: Frame) -> bool:
        frame.spend(1)
        try:
            return bool(operand(frame) is not False)
        except CelError:
            return True

    return check


_SPECIAL: Final[dict[str, Callable[..., Step]]] = {
    "_&&_": _and,
    "_||_": _or,
    "_?_:_": _conditional,
    "@not_strictly_false": _not_strictly_false,
}


def _list(node: ListLiteral) -> Step:
    parts = [(_step(each), at in node.optional) for at, each in enumerate(node.elements)]
    if all(isinstance(each, Const) for each in node.elements) and not node.optional:
        constant = [each.value for each in node.elements if isinstance(each, Const)]
        return lambda frame: constant

    def make(frame: Frame) -> list[Any]:
        made = [(step(frame), optional) for step, optional in parts]
        frame.spend(_LIST_COST)
        return [
            value.value if optional else value
            for value, optional in made
            if not optional or value.has_value
        ]

    return make


def _map(node: MapLiteral) -> Step:
    parts = [(_step(key), _step(value), optional) for key, value, optional in node.entries]

    def make(frame: Frame) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value, optional in parts:
            name, entry = key(frame), value(frame)
            if not optional:
                made[name] = entry
            elif entry.has_value:
                made[name] = entry.value
        frame.spend(_MAP_COST)
        return made

    return make


def _comprehension(node: Comprehension) -> Step:
    over, start, goes_on, step, result = (
        _step(part) for part in (node.over, node.start, node.goes_on, node.step, node.result)
    )
    variable, accumulator = node.variable, node.accumulator

    def fold(frame: Frame) -> Any:
        outer, elements = frame.variables, _elements(over(frame))
        frame.variables = {**outer, accumulator: _value_or_error(start, frame)}
        try:
            for element in elements:
                frame.variables[variable] = element
                if goes_on(frame) is not True:
                    break
                frame.variables[accumulator] = _value_or_error(step, frame)
            frame.variables.pop(variable, None)
            return result(frame)
        finally:
            frame.variables = outer

    return fold


class _Failed:
    """An accumulator whose last step failed; the error is raised where it is read."""

    __slots__ = ("error",)

    def __init__(self, error: CelError) -> None:
        self.error = error


def _value_or_error(step: Step, frame: Frame) -> Any:
    try:
        return step(frame)
    except CelError as error:
        return _Failed(error)


def _elements(value: Any) -> Iterator[Any]:
    if not isinstance(value, list | dict):
        raise operators.no_overload(value)
    return iter(value)


def call_cost(function: str, args: list[Any], result: Any) -> int:
    """What one call costs, by its arguments."""
    rule = _COSTS.get(function)
    return 1 if rule is None else rule(args, result)


def _size(value: Any) -> int:
    if isinstance(value, Optional):
        return _size(value.value) if value.has_value else 1
    return len(value) if isinstance(value, str | bytes | list | dict) else 1


def _traversal(size: float) -> int:
    return math.ceil(size * _BY_TEXT)


def _comparison(args: list[Any], _: Any) -> int:
    if isinstance(args[0], Quantity | Semver):
        return 1
    return _traversal(min(_size(args[0]), _size(args[1])))


def _text_comparison(args: list[Any], result: Any) -> int:
    return _comparison(args, result) if isinstance(args[0], str | bytes) else 1


def _pattern(args: list[Any], _: Any) -> int:
    return math.ceil((1 + _size(args[0])) * _BY_TEXT) * math.ceil(_size(args[1]) * _BY_PATTERN)


def _first(args: list[Any], _: Any) -> int:
    return _traversal(_size(args[0]))


def _each(args: list[Any], _: Any) -> int:
    """A traversal of a list and of the texts in it."""
    where = args[0]
    if isinstance(where, list):
        return sum(1 + (_traversal(len(e)) if isinstance(e, str | bytes) else 0) for e in where)
    return _traversal(_size(where))


_COSTS: Final[dict[str, Callable[[list[Any], Any], int]]] = {
    "_==_": _comparison,
    "_!=_": _comparison,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _text_comparison),
    "_+_": lambda args, _: (
        _traversal(_size(args[0]) + _size(args[1])) if isinstance(args[0], str | bytes) else 1
    ),
    "@in": lambda args, _: _size(args[1]) if isinstance(args[1], list) else 1,
    "startsWith": lambda args, _: _traversal(_size(args[1])),
    "endsWith": lambda args, _: _traversal(_size(args[1])),
    "contains": lambda args, _: _traversal(_size(args[0])) * _traversal(_size(args[1])),
    "matches": _pattern,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _each),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _first),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _first),
    **dict.fromkeys(("replace", "split"), lambda args, _: _traversal(2 * _size(args[0]))),
    "join": lambda _, result: _traversal(2 * _size(result)),
}
