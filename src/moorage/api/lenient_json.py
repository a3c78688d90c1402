"""Raw objects in the looser forms that Kubernetes accepts: nulls, numbers as quantities, dates.

A null stands for absence, a number for a quantity, and YAML turns some strings into timestamps. API
servers send none of these, so objects are cleaned only after decoding them has failed.

They do send JSON that is nested more deeply than a decoder follows: whoever may create a claim may
nest its parameters some thousand levels deep, and a list with one such object must be read all
the same. What is too deep is read as null; no field that scheduling reads is anywhere near as deep.
"""

import datetime
import re
import types
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import msgspec

T = TypeVar("T")
Clean = Callable[[Any], Any]

MOST_DEPTH: Final = 128

_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)


@cache
def cleaner(annotation: Any) -> Clean:
    """Return the function that cleans raw data for the annotated type."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _clean_quantity if is_quantity(annotation) else cleaner(args[0])
    if origin in (Union, types.UnionType):
        return cleaner(next(arg for arg in args if arg is not type(None)))
    if origin is tuple:
        return _list_cleaner(cleaner(args[0]))
    if origin is dict:
        return _map_cleaner(cleaner(args[1]), "0" if is_quantity(args[1]) else "")
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return _struct_cleaner(annotation)
    return _clean_text if annotation is str else _keep


def is_quantity(annotation: Any) -> bool:
    """Say whether the annotated type is the text of a quantity."""
    metadata = getattr(annotation, "__metadata__", ())
    return any(isinstance(m, msgspec.Meta) and (m.extra or {}).get("quantity") for m in metadata)


def _struct_cleaner(struct: type[msgspec.Struct]) -> Clean:
    fields = {f.encode_name: cleaner(f.type) for f in msgspec.structs.fields(struct)}

    def clean(raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        known = ((name, value) for name, value in raw.items() if name in fields)
        return {name: fields[name](value) for name, value in known if value is not None}

    return clean


def _list_cleaner(clean_item: Clean) -> Clean:
    def clean(raw: Any) -> Any:
        return [clean_item(item) for item in raw] if isinstance(raw, list | tuple) else raw

    return clean


def _map_cleaner(clean_item: Clean, absent: str) -> Clean:
    def clean(raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        return {key: absent if v is None else clean_item(v) for key, v in raw.items()}

    return clean


def _clean_quantity(raw: Any) -> Any:
    return repr(raw) if isinstance(raw, int | float) and not isinstance(raw, bool) else raw


def _clean_text(raw: Any) -> Any:
    return raw.isoformat() if isinstance(raw, datetime.date) else raw


def _keep(raw: Any) -> Any:
    return raw


def decode_any_depth(decode: Callable[[bytes], T], text: bytes) -> T:
    """What `decode` makes of JSON text."""
    try:
        return decode(text)
    except RecursionError:
        return decode(cut_depths(text))


def cut_depths(text: bytes) -> bytes:
    """The same JSON text, with null for each list and each object below `MOST_DEPTH`."""
    kept, since, depth = [], 0, 0
    for token in _TOKEN.finditer(text):
        match text[token.start()]:
            case 0x5B | 0x7B:  # [ {
                if depth == MOST_DEPTH:
                    kept.append(text[since : token.start()])
                depth += 1
            case 0x5D | 0x7D:  # ] }
                depth -= 1
                if depth == MOST_DEPTH:
                    kept.append(b"null")
                    since = token.end()
    kept.append(text[since:])
    return b"".join(kept)
