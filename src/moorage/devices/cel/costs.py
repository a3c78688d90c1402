"""What calls cost, by cel-go's rules and those of Kubernetes' libraries.

A call is charged before it is made, so its cost follows from the arguments alone. Where cel-go
counts less than what a call must do here (it concatenates lists without a copy, and compares lists
of lists for the price of the outer ones), the size of what is read or made is the cost.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from moorage.devices.cel.named_formats import NamedFormat
from moorage.devices.cel.network import CIDR, IP
from moorage.devices.cel.text_format import digits_asked
from moorage.devices.cel.values import COST_LIMIT, CostLimitError, Optional, is_number

_BY_TEXT: Final = 0.1
_BY_PATTERN: Final = 0.25
_LONG_TEXT: Final = 100
"""From here on, a text costs something even where cel-go has no rule."""
LIST_COST: Final = 10
MAP_COST: Final = 30
_SELF_COMPARISON: Final = 2.0


def call_cost(function: str, args: list[Any]) -> int:
    """What one call costs, by its arguments."""
    rule = _COSTS.get(function)
    if rule is not None:
        return rule(args)
    return max([1, *(len(arg) // _LONG_TEXT for arg in args if isinstance(arg, str | bytes))])


def _size(value: Any) -> int:
    if isinstance(value, Optional):
        return _size(value.value) if value.has_value else 1
    return len(value) if isinstance(value, str | bytes | list | dict | IP | CIDR) else 1


def _count(value: Any) -> int:
    """A number that an argument asks for; what is none is the call's to refuse."""
    return int(value) if is_number(value) and abs(value) <= COST_LIMIT else 2 * COST_LIMIT


def _traversal(size: float) -> int:
    return math.ceil(size * _BY_TEXT)


def _weight(value: Any, levels: float = math.inf, letters: int = _LONG_TEXT) -> int:
    """How much there is in a value: its elements, theirs, and one for so many letters of a text.

    What is in a value twice counts twice, so a small one may have a weight without end: from the
    limit on nothing more is counted.
    """
    weight, rest = 1, [(value, levels)]
    while rest:
        if weight > COST_LIMIT:
            raise CostLimitError
        each, left = rest.pop()
        if isinstance(each, Optional):
            each = each.value
        if isinstance(each, str | bytes):
            weight += len(each) // letters
        elif isinstance(each, list | dict):
            weight += len(each)
            inside = each if isinstance(each, list) else [*each, *each.values()]
            if left > 0:
                rest += [(part, left - 1) for part in inside if isinstance(part, _HEAVY)]
    return weight


_NESTED: Final = (list, dict, Optional)
_HEAVY: Final = (str, bytes, *_NESTED)


def _comparison(args: list[Any]) -> int:
    if isinstance(args[0], IP | CIDR):
        return 1
    size = _size(args[0])
    cost = _traversal(min(size, _size(args[1])))
    if isinstance(args[0], _NESTED) and isinstance(args[1], _NESTED):
        return max(cost, _weight(args[0]) - 1 - size)  # what is within its elements
    return cost


def _text_comparison(args: list[Any]) -> int:
    return _comparison(args) if isinstance(args[0], str | bytes) else 1


def _addition(args: list[Any]) -> int:
    sizes = _size(args[0]) + _size(args[1])
    if isinstance(args[0], str | bytes):
        return _traversal(sizes)
    return sizes if isinstance(args[0], list) else 1


def _membership(args: list[Any]) -> int:
    return _size(args[1]) * _weight(args[0]) if isinstance(args[1], list) else 1


def _pattern(args: list[Any]) -> int:
    return math.ceil((1 + _size(args[0])) * _BY_TEXT) * math.ceil(_size(args[1]) * _BY_PATTERN)


def _first(args: list[Any]) -> int:
    return _traversal(_size(args[0]))


def _each(args: list[Any]) -> int:
    return _tree(args[0]) if _weight(args[0]) else 0


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


def _range(args: list[Any]) -> int:
    return _made(max(0, _count(args[0])))


def _slice(args: list[Any]) -> int:
    return _made(max(0, min(_count(args[2]), _size(args[0])) - max(0, _count(args[1]))))


def _reverse(args: list[Any]) -> int:
    return _made(_size(args[0]))


def _flatten(args: list[Any]) -> int:
    depth = _count(args[1]) if len(args) > 1 else 1
    return max(_made(depth * _size(args[0])), _made(_weight(args[0], depth)))


def _among_each_other(values: Any) -> int:
    """Every element is compared with every other."""
    size = _size(values)
    of_texts = isinstance(values, list) and bool(values) and isinstance(values[0], str | bytes)
    return _made((_SELF_COMPARISON + _BY_TEXT * of_texts) * size**2)


def _distinct(args: list[Any]) -> int:
    cost = _among_each_other(args[0])
    return cost if cost > COST_LIMIT else max(cost, _weight(args[0]) * _size(args[0]))


def _set(args: list[Any], times: int = 1) -> int:
    """Every element of one list is compared with every one of the other."""
    return 1 + times * (_weight(args[0]) - 1) * _size(args[1])


def _replace(args: list[Any]) -> int:
    cost = _traversal(2 * _size(args[0]))
    text, old, new = args[:3]
    if not (isinstance(text, str) and isinstance(old, str) and isinstance(new, str)):
        return cost
    return max(cost, _traversal(text.count(old) * len(new)))


def _join(args: list[Any]) -> int:
    texts = args[0] if isinstance(args[0], list) else []
    joints = len(texts) * _size(args[1]) if len(args) > 1 else 0
    return max(_traversal(2 * (sum(map(_size, texts)) + joints)), len(texts) // 10)


def _format(args: list[Any]) -> int:
    cost = _first(args)
    if not isinstance(args[0], str):
        return cost
    return max(cost, _traversal(digits_asked(args[0])), _weight(args[1], letters=10) // 4)


def _contains_ip(args: list[Any]) -> int:
    text = _traversal(_size(args[1])) if isinstance(args[1], str) else 0
    return _traversal(2 * _size(args[0])) + text


def _contains_cidr(args: list[Any]) -> int:
    return _contains_ip(args) + _traversal(_size(args[0])) + 1


def _validate(args: list[Any]) -> int:
    size = args[0].pattern_size if isinstance(args[0], NamedFormat) else 1
    return math.ceil((1 + _size(args[1])) * _BY_TEXT) * math.ceil(size * _BY_PATTERN)


_COSTS: Final[dict[str, Callable[[list[Any]], int]]] = {
    "_==_": _comparison,
    "_!=_": _comparison,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _text_comparison),
    **dict.fromkeys(("_[_]", "_[?_]", "_?._", "size"), lambda _: 1),
    "_+_": _addition,
    "@in": _membership,
    "startsWith": lambda args: _traversal(_size(args[1])),
    "endsWith": lambda args: _traversal(_size(args[1])),
    "contains": lambda args: _traversal(_size(args[0])) * _traversal(_size(args[1])),
    **dict.fromkeys(("matches", "find", "findAll"), _pattern),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _each),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _first),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _first),
    **dict.fromkeys(("url", "cidr", "isIP", "isCIDR", "strings.quote"), _first),
    "ip": lambda args: 1 if isinstance(args[0], CIDR) else _first(args),
    "ip.isCanonical": lambda args: _traversal(2 * _size(args[0])),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "lists.range": _range,
    "slice": _slice,
    "reverse": _reverse,
    "flatten": _flatten,
    "sort": lambda args: _among_each_other(args[0]),
    "@sortByAssociatedKeys": lambda args: _among_each_other(args[1]),
    "distinct": _distinct,
    **dict.fromkeys(("sets.contains", "sets.intersects"), _set),
    "sets.equivalent": lambda args: _set(args, times=2),
    **dict.fromkeys(
        ("optional.unwrap", "unwrapOpt", "cel.@mapInsert"), lambda args: _size(args[0])
    ),
    "replace": _replace,
    "split": lambda args: _traversal(2 * _size(args[0])),
    "join": _join,
    "format": _format,
}
