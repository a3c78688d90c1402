"""Functions of lists: Kubernetes' own and those of CEL's lists library."""

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any, Final

from moorage.devices.cel import operators
from moorage.devices.cel.values import (
    NOTHING,
    CelError,
    Optional,
    equal,
    is_number,
    no_overload,
    type_name,
)


def as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise no_overload(value)
    return value


def _best(values: Any, name: str, sign: int) -> Any:
    best, *rest = as_list(values) or [None]
    if best is None:
        raise CelError(f"{name} called on empty list")
    for each in rest:
        best = each if operators.compare(each, best) == sign else best
    return best


def _sum(values: Any) -> Any:
    total: Any = 0
    for position, each in enumerate(as_list(values)):
        if isinstance(each, str | bytes | list):
            raise no_overload(each)
        total = each if not position else operators.add(total, each)
    return total


def _is_sorted(values: Any) -> bool:
    return all(operators.compare(a, b) <= 0 for a, b in pairwise(as_list(values)))


def _includes(where: Any, what: Any) -> bool:
    return operators.contains(what, where) if isinstance(where, list) else equal(where, what)


def _slice(values: Any, start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(as_list(values)):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return as_list(values)[start:end]


def _flatten(values: Any, depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    for each in as_list(values):
        if isinstance(each, list) and depth:
            flat += _flatten(each, depth - 1)
        else:
            flat.append(each)
    return flat


def _sort_by(values: Any, keys: Any) -> list[Any]:
    if len({type_name(key) for key in as_list(keys)}) > 1:
        raise CelError("list elements must have the same type")
    by_key = cmp_to_key(lambda a, b: operators.compare(keys[a], keys[b]))
    if len(keys) == 1:
        operators.compare(keys[0], keys[0])
    return [values[at] for at in sorted(range(len(keys)), key=by_key)]


def _range(count: Any) -> list[int]:
    if count < 0:
        raise CelError(f"lists.range: size must be non-negative, got {count}")
    return list(range(count))


def _distinct(values: Any) -> list[Any]:
    """The first of all that are equal; only what has no hash is compared with every other."""
    found: list[Any] = []
    seen: set[tuple[str, Any]] = set()
    unhashable: list[Any] = []
    for each in as_list(values):
        if is_number(each) or isinstance(each, str | bytes | bool):
            key = "number" if is_number(each) else type_name(each), each
            if key in seen and each == each:  # NaN is equal to nothing
                continue
            seen.add(key)
        elif any(equal(each, other) for other in unhashable):
            continue
        else:
            unhashable.append(each)
        found.append(each)
    return found


def _end(values: Any, at: int) -> Optional:
    return Optional(values[at]) if as_list(values) else NOTHING


def _unwrap(values: Any) -> list[Any]:
    return [each.value for each in as_list(values) if each.has_value]


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": lambda values: _best(values, "min", -1),
    "max": lambda values: _best(values, "max", 1),
    "includes": _includes,
    "slice": _slice,
    "flatten": _flatten,
    "sort": lambda values: _sort_by(as_list(values), values),
    "@sortByAssociatedKeys": _sort_by,
    "lists.range": _range,
    "reverse": lambda values: as_list(values)[::-1],
    "distinct": _distinct,
    "first": lambda values: _end(values, 0),
    "last": lambda values: _end(values, -1),
    "optional.unwrap": _unwrap,
    "unwrapOpt": _unwrap,
}
