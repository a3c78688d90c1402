"""Where a source file can be changed, and the stretches of statements that tests reach."""

import ast
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comparisons = dict[type[ast.cmpop], type[ast.cmpop]]

SWAPPED: Final[Comparisons] = {
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In},
}
BOUNDARY: Final[Comparisons] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
REMOVABLE: Final = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete)
LOGGERS: Final = {"log", "logger", "logging"}  # what is logged is not what is decided


class Stretch(NamedTuple):
    """Statements `body[start:end]` of a function, which run one after another."""

    function: Function
    """The outermost one: a method, or a function of the module."""
    body: list[ast.stmt]
    start: int
    end: int


class Change(NamedTuple):
    """A change to one node: `show` gives its text, before and after `make`."""

    kind: str
    line: int
    show: Callable[[], str]
    make: Callable[[], None]


class Site(NamedTuple):
    """Where a change can be made: in which stretch, by its number, of which function."""

    stretch: int
    function: Function
    change: Change


def stretches(tree: ast.Module) -> list[Stretch]:
    """Every stretch of the functions of a module, in the order of the source."""
    return [
        stretch
        for function in functions(tree)
        for stretch in _stretches_of(function, function.body)
    ]


def functions(node: ast.Module | ast.ClassDef) -> Iterator[Function]:
    """The functions of a module and the methods of its classes, without those within functions."""
    for statement in node.body:
        if isinstance(statement, Function):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            yield from functions(statement)


def _stretches_of(function: Function, body: list[ast.stmt]) -> Iterator[Stretch]:
    start = 0
    for index, statement in enumerate(body):
        inner = list(_bodies(statement))
        if inner or index == len(body) - 1:
            yield Stretch(function, body, start, index + 1)
            start = index + 1
        for each in inner:
            yield from _stretches_of(function, each)


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        body = getattr(statement, name, None)
        if body:
            yield body
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def sites(tree: ast.Module) -> list[Site]:
    """Every change that can be made to a module, in the order of the source."""
    return [
        Site(number, stretch.function, change)
        for number, stretch in enumerate(stretches(tree))
        for index in range(stretch.start, stretch.end)
        for change in _changes(stretch.body, index)
    ]


def _changes(body: list[ast.stmt], index: int) -> Iterator[Change]:
    statement = body[index]
    if isinstance(statement, REMOVABLE) and not _is_idle(statement):
        yield _replaced("statement removed", body, index, None)
    if isinstance(statement, ast.Return) and not _is_none(statement.value):
        yield _replaced("return None", body, index, ast.Return(ast.Constant(None)))
    if isinstance(statement, ast.Continue):
        yield _replaced("break/continue", body, index, ast.Break())
    if isinstance(statement, ast.Break):
        yield _replaced("break/continue", body, index, ast.Continue())
    if not isinstance(statement, Function | ast.ClassDef | ast.Assert | ast.Raise):
        for node in _expressions(statement):
            yield from _expression_changes(node)


def _is_idle(statement: ast.stmt) -> bool:
    """Whether it is a docstring, an ellipsis or a line for the log."""
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Expr):
        return False
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return isinstance(value, ast.Constant) or bool(names & LOGGERS)


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _replaced(kind: str, body: list[ast.stmt], index: int, by: ast.stmt | None) -> Change:
    old = body[index]
    # The old statement stays, and is never run, so that its names keep their scope.
    dead = ast.If(test=ast.Constant(False), body=[old], orelse=[by] if by else [])

    def show() -> str:
        if body[index] is old:
            return ast.unparse(old)
        return ast.unparse(by) if by else "nothing"

    def make() -> None:
        body[index] = ast.copy_location(dead, old)

    return Change(kind, old.lineno, show, make)


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The statement and its own expressions, without the statements within it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        yield node
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case | ast.pattern)
        ]


def _expression_changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                yield _comparison("comparison swapped", node, index, SWAPPED[type(operator)])
                if type(operator) in BOUNDARY:
                    yield _comparison("boundary", node, index, BOUNDARY[type(operator)])
        case ast.If() | ast.While() | ast.IfExp():
            yield _negated(node)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield _set("and/or", node, "op", other)
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield _set("off by one", node, "value", value + 1)
        case ast.Call(keywords=[*_, ast.keyword(arg=str())]):
            yield _set("argument dropped", node, "keywords", node.keywords[:-1])


def _comparison(kind: str, node: ast.Compare, index: int, by: type[ast.cmpop]) -> Change:
    return _set(kind, node, "ops", [*node.ops[:index], by(), *node.ops[index + 1 :]])


def _negated(node: ast.If | ast.While | ast.IfExp) -> Change:
    return Change(
        "condition negated",
        node.lineno,
        lambda: ast.unparse(node.test),
        lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test)),
    )


def _set(kind: str, node: ast.expr, field: str, by: object) -> Change:
    return Change(kind, node.lineno, lambda: ast.unparse(node), lambda: setattr(node, field, by))
