"""Makes the API objects that plugins get read-only.

API objects are frozen structs of strings, numbers, tuples and further structs; only their mappings
could be written. `seal` replaces these by read-only ones, in the object itself and once, when a
custom plugin first gets it. The columns of the node table are read-only for all.

An empty mapping must stay a plain dict, because encoding leaves those out. So all of them are
replaced by one shared dict, and `check_empty` detects whether anything was put into it.
"""

from functools import cache
from typing import Any, Final, NoReturn

import msgspec

MUTATION_REMEDY: Final = (
    "what a plugin is given may not be changed: keep your own in cycle.state (one attempt) or "
    "cycle.shared (longer)"
)


class MutationError(TypeError):
    """A plugin tried to write to a sealed mapping."""


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise MutationError(MUTATION_REMEDY)


class ReadOnlyDict(dict[str, Any]):
    """A read-only dict; copies of it are ordinary dicts."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: Any) -> dict[str, Any]:
        return dict(self)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


EMPTY: Final[dict[str, Any]] = {}


def seal(obj: Any) -> None:
    """Make every mapping inside an API object read-only; does nothing the second time."""
    labels = obj.metadata.labels
    if type(labels) is not ReadOnlyDict and labels is not EMPTY:
        _seal(obj)


def check_empty() -> None:
    """MutationError if something was put into the shared empty mapping, which is cleared again."""
    if EMPTY:
        EMPTY.clear()
        raise MutationError(MUTATION_REMEDY)


def _seal(value: Any) -> None:
    if isinstance(value, msgspec.Struct):
        for field in _fields(type(value)):
            inner = getattr(value, field)
            if type(inner) is dict:
                sealed = ReadOnlyDict(inner) if inner else EMPTY
                msgspec.structs.force_setattr(value, field, sealed)
            elif inner is not None and inner != ():
                _seal(inner)
    elif isinstance(value, tuple):
        for item in value:
            _seal(item)


@cache
def _fields(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a struct that may hold a mapping, at some depth."""
    info = msgspec.inspect.type_info(struct)
    assert isinstance(info, msgspec.inspect.StructType)
    return tuple(field.name for field in info.fields if _may_hold(field.type))


def _may_hold(info: msgspec.inspect.Type) -> bool:
    if isinstance(info, msgspec.inspect.Metadata):
        return _may_hold(info.type)
    if isinstance(info, msgspec.inspect.UnionType):
        return any(_may_hold(member) for member in info.types)
    if isinstance(info, msgspec.inspect.StructType):
        return bool(_fields(info.cls))
    if isinstance(info, msgspec.inspect.VarTupleType | msgspec.inspect.ListType):
        return _may_hold(info.item_type)
    return isinstance(info, msgspec.inspect.DictType)
