"""How much everything that a program keeps holds: containers by the way that leads to them."""

import asyncio
import gc
import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

LEAVES: Final = (str, bytes, int, float, bool, type(None), types.ModuleType, types.CodeType)
SIZED: Final = (dict, list, set, frozenset, tuple, deque)


def sizes(roots: dict[str, Any], package: str = "moorage") -> dict[str, int]:
    """The length of each container reached from `roots` and the package's modules, by its way.

    A step into a mapping or a sequence is not told apart by its key: `queue._pods[]._story`; what
    lies on one way is added up.
    """
    found: dict[str, int] = {}
    seen: set[int] = set()
    line: deque[tuple[str, Any]] = deque(roots.items())
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package:
            line.extend((f"{name}:{key}", value) for key, value in vars(module).items())
    while line:
        way, obj = line.popleft()
        if isinstance(obj, LEAVES) or id(obj) in seen:
            continue
        seen.add(id(obj))
        if isinstance(obj, SIZED):
            found[way] = found.get(way, 0) + len(obj)
        elif isinstance(obj, np.ndarray):
            found[way] = found.get(way, 0) + obj.nbytes // 8
        line.extend((way + step, each) for step, each in _inside(obj))
    return found


def _inside(obj: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(obj, dict):
        for key, value in list(obj.items()):
            yield "{k}", key
            yield "[]", value
    elif isinstance(obj, SIZED):
        for each in list(obj):
            yield "[]", each
    elif isinstance(obj, types.FunctionType):
        for cell in obj.__closure__ or ():
            yield "()", cell
    elif isinstance(obj, types.MethodType):
        yield "", obj.__self__
    elif isinstance(obj, type):
        if obj.__module__.partition(".")[0] == "moorage":
            yield from ((f".{key}", value) for key, value in list(vars(obj).items()))
    elif isinstance(obj, asyncio.AbstractEventLoop):
        return
    else:
        yield from _fields(obj)


def _fields(obj: Any) -> Iterator[tuple[str, Any]]:
    named: set[int] = set()
    if isinstance(obj, msgspec.Struct):
        names = obj.__struct_fields__
    else:
        names = tuple(n for c in type(obj).__mro__ for n in _slots(c))
    for name in names:
        value = getattr(obj, name, None)
        named.add(id(value))
        yield f".{name}", value
    held = getattr(obj, "__dict__", None)
    if isinstance(held, dict):
        for key, value in list(held.items()):
            named.add(id(value))
            yield f".{key}", value
        named.add(id(held))
    if not named:
        info = getattr(obj, "cache_info", None)
        if info is not None:
            yield "<lru>", [None] * info().currsize
    for other in gc.get_referents(obj):
        if id(other) not in named:
            yield f"<{type(obj).__name__}>", other


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    own = tuple(
        f"_{cls.__name__.lstrip('_')}{n}" if n.startswith("__") and not n.endswith("__") else n
        for n in names
    )
    return tuple(n for n in own if n not in ("__weakref__", "__dict__"))
