"""What calls cost, by cel-go's rules and those of Kubernetes' libraries."""

import math
from collections.abc import Callable
from typing import Any, Final

from moorage.devices.cel.named_formats import NamedFormat
from moorage.devices.cel.network import CIDR, IP
from moorage.devices.cel.values import Optional

_BY_TEXT: Final = 0.1
_BY_PATTERN: Final = 0.25
LIST_COST: Final = 10
MAP_COST: Final = 30
_SELF_COMPARISON: Final = 2.0


def call_cost(function: str, args: list[Any], result: Any) -> int:
    """What one call costs, by its arguments."""
    rule = _COSTS.get(function)
    return 1 if rule is None else rule(args, result)


def _size(value: Any) -> int:
    if isinstance(value, Optional):
        return _size(value.value) if value.has_value else 1
    return len(value) if isinstance(value, str | bytes | list | dict | IP | CIDR) else 1


def _traversal(size: float) -> int:
    return math.ceil(size * _BY_TEXT)


def _comparison(args: list[Any], _: Any) -> int:
    if isinstance(args[0], IP | CIDR):
        return 1
    return _traversal(min(_size(args[0]), _size(args[1])))


def _text_comparison(args: list[Any], result: Any) -> int:
    return _comparison(args, result) if isinstance(args[0], str | bytes) else 1


def _pattern(args: list[Any], _: Any) -> int:
    return math.ceil((1 + _size(args[0])) * _BY_TEXT) * math.ceil(_size(args[1]) * _BY_PATTERN)


def _first(args: list[Any], _: Any) -> int:
    return _traversal(_size(args[0]))


def _each(args: list[Any], _: Any) -> int:
    return _tree(args[0])


def _tree(value: Any) -> int:
    """A traversal of everything in a value, texts by their length."""
    if isinstance(value, str):
        return int(len(value.encode()) * _BY_TEXT)
    if isinstance(value, bytes):
        return int(len(value) * _BY_TEXT)
    if isinstance(value, list):
        return sum(map(_tree, value))
    if isinstance(value, dict):
        return sum(_tree(key) + _tree(each) for key, each in value.items())
    return 1


def _made(size: float) -> int:
    """A call that makes a list."""
    return int(size) + 1 + LIST_COST


def _result(_: list[Any], result: Any) -> int:
    return _made(_size(result))


def _flatten(args: list[Any], _: Any) -> int:
    return _made((args[1] if len(args) > 1 else 1) * _size(args[0]))


def _among_each_other(values: Any) -> int:
    """Every element is compared with every other."""
    of_texts = bool(values) and isinstance(values[0], str | bytes)
    return _made((_SELF_COMPARISON + _BY_TEXT * of_texts) * len(values) ** 2)


def _contains_ip(args: list[Any], _: Any) -> int:
    text = _traversal(_size(args[1])) if isinstance(args[1], str) else 0
    return _traversal(2 * _size(args[0])) + text


def _contains_cidr(args: list[Any], result: Any) -> int:
    return _contains_ip(args, result) + _traversal(_size(args[0])) + 1


def _validate(args: list[Any], _: Any) -> int:
    size = args[0].pattern_size if isinstance(args[0], NamedFormat) else 1
    return math.ceil((1 + _size(args[1])) * _BY_TEXT) * math.ceil(size * _BY_PATTERN)


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
    **dict.fromkeys(("matches", "find", "findAll"), _pattern),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _each),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _first),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _first),
    **dict.fromkeys(("url", "cidr", "isIP", "isCIDR", "format", "strings.quote"), _first),
    "ip": lambda args, result: 1 if isinstance(args[0], CIDR) else _first(args, result),
    "ip.isCanonical": lambda args, _: _traversal(2 * _size(args[0])),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    **dict.fromkeys(("slice", "lists.range", "reverse"), _result),
    "flatten": _flatten,
    **dict.fromkeys(("sort", "distinct"), lambda args, _: _among_each_other(args[0])),
    "@sortByAssociatedKeys": lambda args, _: _among_each_other(args[1]),
    **dict.fromkeys(("replace", "split"), lambda args, _: _traversal(2 * _size(args[0]))),
    "join": lambda _, result: _traversal(2 * _size(result)),
}
