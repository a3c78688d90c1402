"""What selectors may name: `device`, CEL's standard library, and Kubernetes' extensions.

Parsing and type checking are done by cel-expr-python, which wraps Google's C++ implementation. It
comes with the extra `dra`; without it no expression compiles, and the error says what to install.
"""

import re
from functools import cache
from typing import Any, Final

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

NOT_INSTALLED: Final = "CEL is not installed: pip install 'moorage[dra]'"
DEVICE_FIELDS: Final = frozenset({"driver", "attributes", "capacity", "allowMultipleAllocations"})
RESULTS: Final = frozenset({"BOOL", "DYN"})
_ALWAYS_THERE: Final = re.compile(rf"\bhas\(\s*device\.({'|'.join(sorted(DEVICE_FIELDS))})\s*\)")
"""The fields of `device` are declared as variables, of which the library knows no `has`."""
_UNSUPPORTED: Final = frozenset({"duration", "timestamp"})


class CompileError(Exception):
    """An expression that is no valid selector."""


def parse_selector(expression: str) -> Node:
    """The tree of a selector; CompileError says what is wrong with it."""
    try:
        compiled = _environment().compile(_ALWAYS_THERE.sub("true", expression))
    except RuntimeError as error:
        raise CompileError(f"compilation failed: {_plain(str(error))}") from None
    result = compiled.return_type().name()
    if result.upper() not in RESULTS:
        raise CompileError(f"must evaluate to bool or the unknown type, not {result.lower()}")
    try:
        tree = read_checked_expression(compiled.serialize())
    except UnreadableExpressionError as error:
        raise CompileError(f"compilation failed: {error}") from None
    _check(tree)
    return tree


def matches_regex(text: str, pattern: str) -> bool:
    """Whether an RE2 pattern is found in a text; ValueError for a malformed one."""
    try:
        found = _regex().eval(data={"text": text, "pattern": pattern}).value()
    except RuntimeError as error:
        raise ValueError(_plain(str(error))) from None
    if not isinstance(found, bool):
        raise ValueError(f"invalid regular expression {pattern!r}")
    return found


def _plain(message: str) -> str:
    return message.removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")


def _check(node: Node) -> None:
    """Refuse what the declarations below let through and Kubernetes does not have."""
    of_device = isinstance(node, Select) and node.operand == Ident("device")
    if isinstance(node, Select) and of_device and node.field not in DEVICE_FIELDS:
        raise CompileError(f"compilation failed: undefined field '{node.field}'")
    if isinstance(node, Call) and node.function in _UNSUPPORTED:
        raise CompileError(f"compilation failed: {node.function}() has no use in selectors")
    for child in _children(node):
        _check(child)


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


@cache
def _library() -> Any:
    try:
        from cel_expr_python import cel
    except ImportError:
        raise CompileError(NOT_INSTALLED) from None
    return cel


@cache
def _regex() -> Any:
    cel = _library()
    text = cel.Type.STRING
    return cel.NewEnv(variables={"text": text, "pattern": text}).compile("text.matches(pattern)")


@cache
def _environment() -> Any:
    cel = _library()
    from cel_expr_python.ext import ext_bindings, ext_optional

    kind = cel.Type
    quantity = kind.AbstractType("kubernetes.Quantity")
    of_capacity, of_attributes = (
        kind.Map(kind.STRING, kind.Map(kind.STRING, value)) for value in (quantity, kind.DYN)
    )
    return cel.NewEnv(
        variables={
            "device": kind.Map(kind.STRING, kind.DYN),
            "device.driver": kind.STRING,
            "device.attributes": of_attributes,
            "device.capacity": of_capacity,
            "device.allowMultipleAllocations": kind.BOOL,
        },
        extensions=[ext_bindings.ExtBindings(), ext_optional.ExtOptional()],
        functions=_declarations(cel, quantity),
    )


def _declarations(cel: Any, quantity: Any) -> list[Any]:
    """Kubernetes' quantity, semver, strings, lists and sets libraries."""
    kind = cel.Type
    version = kind.AbstractType("kubernetes.Semver")
    text, number, truth, anything = kind.STRING, kind.INT, kind.BOOL, kind.DYN
    anything_list = kind.List(anything)
    declared: dict[str, list[Any]] = {}

    def overload(name: str, result: Any, *args: Any, member: bool = True) -> None:
        known = declared.setdefault(name, [])
        identity = f"{name.replace('.', '_')}_{len(known)}"
        known.append(cel.Overload(identity, result, list(args), member))

    for parse, made in (("quantity", quantity), ("semver", version)):
        overload(parse, made, text, member=False)
        overload(f"is{parse.title()}", truth, text, member=False)
    overload("semver", version, text, truth, member=False)
    overload("isSemver", truth, text, truth, member=False)
    overload("sign", number, quantity, member=False)
    for ordered in (quantity, version):
        overload("isGreaterThan", truth, ordered, ordered)
        overload("isLessThan", truth, ordered, ordered)
        overload("compareTo", number, ordered, ordered)
    for part in ("major", "minor", "patch"):
        overload(part, number, version)
    overload("asApproximateFloat", kind.DOUBLE, quantity)
    overload("asInteger", number, quantity)
    overload("isInteger", truth, quantity)
    for change in ("add", "sub"):
        overload(change, quantity, quantity, quantity)
        overload(change, quantity, quantity, number)
    overload("isSorted", truth, anything_list)
    for fold in ("sum", "min", "max"):
        overload(fold, anything, anything_list)
    overload("indexOf", number, anything_list, anything)
    overload("lastIndexOf", number, anything_list, anything)
    overload("includes", truth, anything, anything)
    for where in ("indexOf", "lastIndexOf"):
        overload(where, number, text, text)
        overload(where, number, text, text, number)
    for case in ("lowerAscii", "upperAscii", "trim"):
        overload(case, text, text)
    overload("charAt", text, text, number)
    overload("substring", text, text, number)
    overload("substring", text, text, number, number)
    overload("replace", text, text, text, text)
    overload("replace", text, text, text, text, number)
    overload("split", kind.List(text), text, text)
    overload("split", kind.List(text), text, text, number)
    overload("join", text, kind.List(text))
    overload("join", text, kind.List(text), text)
    for of_sets in ("sets.contains", "sets.equivalent", "sets.intersects"):
        overload(of_sets, truth, anything_list, anything_list, member=False)
    return [cel.FunctionDecl(name, overloads) for name, overloads in declared.items()]
