"""An expression that can be run over and over: a tree of functions, and the cost of each step.

Costs are those of cel-go and of Kubernetes' libraries: a variable, a field or an index costs one,
comparing and searching texts costs by their length, making a list ten. A call is charged before it
is made. `&&` and `||` stop at the first operand that decides, and go by the other one where an
operand fails. What an optional value is to be replaced by is looked at only where there is none.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from moorage.devices.cel import operators
from moorage.devices.cel.costs import LIST_COST, MAP_COST, call_cost
from moorage.devices.cel.environment import count_nodes, parse_selector
from moorage.devices.cel.functions import FUNCTIONS, new_entries
from moorage.devices.cel.library import CompileError
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
from moorage.devices.cel.values import COST_LIMIT, CelError, CostLimitError, Optional, no_overload
from moorage.devices.work_budget import STEP_UNITS, UNLIMITED, WorkBudget

PAY_EVERY: Final = 250
"""How many units a loop may run before it pays: a tenth of a millisecond."""

NOT_BOOLEAN: Final = "CEL result could not be converted to bool"

TYPE_NAMES: Final = frozenset(
    ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type")
)
"""Types are values, too, and have no better form than their names."""


class Frame:
    """The variables of one run, and what it has cost so far.

    The cost is what cel-go would count, and is limited. The budget pays for it, or for the nodes of
    the loops' bodies where they are more: some cost nothing in cel-go, but take time.
    """

    __slots__ = ("_budget", "_next", "_paid", "_turned", "cost", "variables")

    def __init__(self, variables: dict[str, Any], budget: WorkBudget = UNLIMITED) -> None:
        self.variables = variables
        self.cost = 0
        self._budget = budget
        self._turned = self._paid = 0
        self._next = PAY_EVERY

    def spend(self, cost: int) -> None:
        if self.cost + cost > COST_LIMIT:
            raise CostLimitError  # what is not done is not paid for
        self.cost += cost

    def turn(self, nodes: int) -> None:
        """One more turn of a loop, whose body has so many nodes."""
        self._turned += nodes
        if self.cost >= self._next or self._turned >= self._next:
            self.pay()

    def pay(self) -> None:
        """Pay for what was done since the last time."""
        done = max(self.cost, self._turned)
        unpaid, self._paid, self._next = done - self._paid, done, done + PAY_EVERY
        self._budget.spend(unpaid)


Step = Callable[[Frame], Any]


class Program:
    """One compiled selector."""

    __slots__ = ("_run", "expression")

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self._run = _step(parse_selector(expression))

    def matches(self, variables: dict[str, Any], budget: WorkBudget = UNLIMITED) -> bool:
        """Whether it holds; CelError or CostLimitError where that cannot be told."""
        frame = Frame(variables, budget)
        try:
            found = self._run(frame)
        finally:
            if frame.cost > STEP_UNITS:  # what costs less is in the price of the device
                frame.pay()
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
            raise no_overload(where, field)
        return operators.index(where, field)

    return select


def _call(node: Call) -> Step:
    special = _SPECIAL.get(node.function)
    if special is not None:
        return special(*(_step(arg) for arg in node.args))
    match node:
        case Call(function="_+_" | "cel.@mapInsert", args=(Ident(name=name), *_)) if name[0] == "@":
            return _GROWING[node.function](*(_step(arg) for arg in node.args))
    function = operators.OPERATORS.get(node.function) or FUNCTIONS.get(node.function)
    if function is None:
        raise CompileError(f"compilation failed: {node.function}() is not supported in selectors")
    args = tuple(_step(arg) for arg in node.args)
    called = node.function

    def call(frame: Frame) -> Any:
        given = [arg(frame) for arg in args]
        cost = call_cost(called, given)
        frame.spend(cost)
        if cost > PAY_EVERY:
            frame.pay()
        return function(*given)

    return call


def _append(accumulator: Step, added: Step) -> Step:
    """`@result + [x]`: only macros can name it, so its list is nobody else's and grows in place."""

    def append(frame: Frame) -> Any:
        grown = accumulator(frame)
        more = added(frame)
        frame.spend(1)
        if not isinstance(grown, list):
            return operators.add(grown, more)
        grown.extend(more)
        return grown

    return append


def _insert(accumulator: Step, *entry: Step) -> Step:
    """`cel.@mapInsert(@result, key, value)` of a macro."""

    def insert(frame: Frame) -> Any:
        grown = accumulator(frame)
        given = [part(frame) for part in entry]
        frame.spend(1)
        grown.update(new_entries(grown, *given))
        return grown

    return insert


_GROWING: Final[dict[str, Callable[..., Step]]] = {"_+_": _append, "cel.@mapInsert": _insert}


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
                raise no_overload(found)
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
            raise no_overload(found)
        return yes(frame) if found else no(frame)

    return choose


def _or_other(option: Step, other: Step) -> Step:
    def choose(frame: Frame) -> Any:
        found = _optional(option(frame))
        return found if found.has_value else other(frame)

    return choose


def _or_value(option: Step, other: Step) -> Step:
    def choose(frame: Frame) -> Any:
        found = _optional(option(frame))
        return found.value if found.has_value else other(frame)

    return choose


def _optional(found: Any) -> Optional:
    if not isinstance(found, Optional):
        raise no_overload(found)
    return found


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
    "or": _or_other,
    "orValue": _or_value,
    "@not_strictly_false": _not_strictly_false,
}


def _list(node: ListLiteral) -> Step:
    parts = [(_step(each), at in node.optional) for at, each in enumerate(node.elements)]
    if all(isinstance(each, Const) for each in node.elements) and not node.optional:
        constant = [each.value for each in node.elements if isinstance(each, Const)]
        return lambda frame: constant

    def make(frame: Frame) -> list[Any]:
        made = [(step(frame), optional) for step, optional in parts]
        frame.spend(LIST_COST)
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
        frame.spend(MAP_COST)
        return made

    return make


def _comprehension(node: Comprehension) -> Step:
    over, start, goes_on, step, result = (
        _step(part) for part in (node.over, node.start, node.goes_on, node.step, node.result)
    )
    variable, second, accumulator = node.variable, node.second, node.accumulator
    nodes = count_nodes(node.goes_on) + count_nodes(node.step)

    def fold(frame: Frame) -> Any:
        outer, elements = frame.variables, _elements(over(frame), in_pairs=bool(second))
        frame.variables = {**outer, accumulator: _own(_value_or_error(start, frame))}
        try:
            for element in elements:
                frame.turn(nodes)
                if second:
                    frame.variables[variable], frame.variables[second] = element
                else:
                    frame.variables[variable] = element
                if goes_on(frame) is not True:
                    break
                frame.variables[accumulator] = _value_or_error(step, frame)
            for name in (variable, second):
                frame.variables.pop(name, None)
            return result(frame)
        finally:
            frame.variables = outer

    return fold


def _own(accumulator: Any) -> Any:
    """The accumulator as no other run has it."""
    return accumulator.copy() if isinstance(accumulator, list | dict) else accumulator


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


def _elements(value: Any, *, in_pairs: bool) -> Iterator[Any]:
    """The elements of a list or keys of a map; with their indices or their values, in pairs."""
    if not isinstance(value, list | dict):
        raise no_overload(value)
    if not in_pairs:
        return iter(value)
    return iter(value.items() if isinstance(value, dict) else enumerate(value))
