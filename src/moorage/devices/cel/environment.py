"""What selectors may name: `device`, CEL's standard library, and Kubernetes' extensions.

Parsing and type checking are done by cel-expr-python, which wraps Google's C++ implementation. It
comes with the extra `dra`; without it no expression compiles, and the error says what to install.
"""

import json
import re
from contextlib import suppress
from functools import cache
from typing import Any, Final

from moorage.devices.cel.declarations import DECLARED_ANEW, TYPES, declarations
from moorage.devices.cel.functions import FUNCTIONS
from moorage.devices.cel.library import CompileError, library
from moorage.devices.cel.operators import OPERATORS
from moorage.devices.cel.regex import matches_regex
from moorage.devices.cel.syntax_tree import (
    Call,
    Comprehension,
    Const,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    UnreadableExpressionError,
    read_checked_expression,
)
from moorage.devices.cel.text_format import UNKNOWN, check_format
from moorage.devices.cel.values import CelError, CostLimitError

DEVICE_FIELDS: Final = frozenset({"driver", "attributes", "capacity", "allowMultipleAllocations"})
RESULTS: Final = frozenset({"BOOL", "DYN"})
_ALWAYS_THERE: Final = re.compile(rf"\bhas\(\s*device\.({'|'.join(sorted(DEVICE_FIELDS))})\s*\)")
"""The fields of `device` are declared as variables, of which the library knows no `has`."""
_PATTERNS: Final = frozenset({"matches", "find", "findAll"})
_CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint")
)
_ONE: Final = "exists_one", "existsOne"
"""With two variables Kubernetes knows both names, and the library the second one only."""


def parse_selector(expression: str) -> Node:
    """The tree of a selector; CompileError says what is wrong with it."""
    compiled = _compile(_ALWAYS_THERE.sub("true", expression))
    result = compiled.return_type().name()
    if result.upper() not in RESULTS:
        raise CompileError(f"must evaluate to bool or the unknown type, not {result.lower()}")
    try:
        tree = read_checked_expression(compiled.serialize())
    except UnreadableExpressionError as error:
        raise CompileError(f"compilation failed: {error}") from None
    _check(tree)
    return tree


def _compile(expression: str, *, is_retry: bool = False) -> Any:
    try:
        return _environment().compile(expression)
    except RuntimeError as error:
        if f"undeclared reference to '{_ONE[0]}'" in str(error) and not is_retry:
            return _compile(expression.replace(*_ONE), is_retry=True)
        raise CompileError(f"compilation failed: {_plain(str(error))}") from None


def _plain(message: str) -> str:
    return message.removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")


def _check(node: Node, *, may_mix: bool = False) -> None:
    """Refuse what the library lets through and Kubernetes does not."""
    match node:
        case Select(operand=Ident(name="device"), field=field) if field not in DEVICE_FIELDS:
            raise CompileError(f"compilation failed: undefined field '{field}'")
        case ListLiteral(is_mixed=True) | MapLiteral(is_mixed=True) if not may_mix:
            raise CompileError("compilation failed: elements of different types in a literal")
        case Call(function=function, args=args):
            _check_constants(function, args)
            may_mix = may_mix or function == "format"
    for child in _children(node):
        _check(child, may_mix=may_mix)


def _check_constants(function: str, args: tuple[Node, ...]) -> None:
    """Texts that are written out are looked at before any device is."""
    try:
        match function, args:
            case ("format", (Const(value=str(text)), ListLiteral(elements=given))):
                known = [each.value if isinstance(each, Const) else UNKNOWN for each in given]
                with suppress(CostLimitError):  # which is an error of the run
                    check_format(text, known)
            case (name, (_, Const(value=str(pattern)), *_)) if name in _PATTERNS:
                matches_regex("", pattern)
            case (name, (Const(value=value),)) if name in _CONVERSIONS:
                (OPERATORS.get(name) or FUNCTIONS[name])(value)
    except (CelError, ValueError) as error:
        raise CompileError(f"compilation failed: {error}") from None


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case Select(operand=operand):
            return (operand,)
        case Call(args=args):
            return args
        case ListLiteral(elements=elements):
            return elements
        case MapLiteral(entries=entries):
            return tuple(part for key, value, _ in entries for part in (key, value))
        case Comprehension():
            return (node.over, node.start, node.goes_on, node.step, node.result)
        case Const() | Ident():
            return ()


def count_nodes(node: Node) -> int:
    """How many nodes a tree has."""
    return 1 + sum(map(count_nodes, _children(node)))


@cache
def _environment() -> Any:
    cel = library()
    kind = cel.Type
    quantity = kind.AbstractType(TYPES["quantity"])
    of_capacity, of_attributes = (
        kind.Map(kind.STRING, kind.Map(kind.STRING, value)) for value in (quantity, kind.DYN)
    )
    return cel.NewEnv(
        config=cel.NewEnvConfigFromYaml(json.dumps(_CONFIGURATION)),
        variables={
            "device": kind.Map(kind.STRING, kind.DYN),
            "device.driver": kind.STRING,
            "device.attributes": of_attributes,
            "device.capacity": of_capacity,
            "device.allowMultipleAllocations": kind.BOOL,
        },
    )


_EXTENSIONS: Final = ("bindings", "optional", "lists", "two-var-comprehensions")
_CONFIGURATION: Final = {
    "name": "device selectors",
    "extensions": [{"name": name} for name in _EXTENSIONS],
    "stdlib": {"exclude_functions": [{"name": name} for name in DECLARED_ANEW]},
    "functions": declarations(),
}
