"""Plain values into typed structs; every field that is unknown or does not fit is reported.

msgspec stops at the first error. Here the value at fault is reported and left out, and decoding
starts again, until the rest decodes. Before that, fields that the types do not have are reported
and left out, even if the structs would ignore them.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from moorage.config import durations, field_errors
from moorage.config.field_errors import Path, Report, required, unsupported
from moorage.config.plugin_catalogue import closest_name, did_you_mean

T = TypeVar("T")

_MISFIT: Final = re.compile(r"(.*?)(?: - at `(?:key` in `)?(\$.*)`)?", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(.*)`")
_NOT_LISTED: Final = "Invalid enum value"
_WORDS: Final = {
    "int": "an integer",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}


def decode(
    value: Any, wanted: type[T], report: Report, path: Path = (), *, any_acronyms: bool = False
) -> T | None:
    """Decode the valid parts of `value`, which is at `path`; None if there are none.

    With `any_acronyms`, a field is found by `enableGPU` and by `enableGpu`.
    """
    return _StrictDecoder(_type_info(wanted), report, path, any_acronyms).run(value, wanted)


def encode(struct: msgspec.Struct) -> dict[str, Any]:
    """Return a struct as plain values (mappings, lists, scalars), with all its defaults."""
    plain = msgspec.to_builtins(struct, enc_hook=durations.encode_hook, str_keys=True)
    return {key: _listed(value) for key, value in plain.items()}


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(inner) for key, inner in value.items()}
    return [_listed(inner) for inner in value] if isinstance(value, list | tuple) else value


_INFOS: Final[dict[type, inspect.Type]] = {}


def _type_info(wanted: type) -> inspect.Type:
    if wanted not in _INFOS:
        _INFOS[wanted] = inspect.type_info(wanted)
    return _INFOS[wanted]


class _StrictDecoder:
    """One value being decoded."""

    def __init__(self, info: inspect.Type, report: Report, path: Path, any_acronyms: bool) -> None:
        self._info = info
        self._report = report
        self._path = path
        self._any_acronyms = any_acronyms
        self._value: Any = None

    def run(self, value: Any, wanted: type[T]) -> T | None:
        self._value = self._known_part(value, self._info, ())
        while True:
            try:
                return msgspec.convert(self._value, wanted, dec_hook=durations.decode_hook)
            except msgspec.ValidationError as misfit:
                if not self._leave_out(str(misfit), wanted):
                    return None

    def _known_part(self, value: Any, info: inspect.Type, at: Path) -> Any:
        """Copy `value` without the fields, at any depth, that its type does not have."""
        info = _fitting(value, info)
        if value is None and isinstance(info, inspect.StructType):
            return {}
        if isinstance(value, dict):
            if isinstance(info, inspect.StructType):
                return self._known_fields(value, info, at)
            inner = info.value_type if isinstance(info, inspect.DictType) else inspect.AnyType()
            return {key: self._known_part(v, inner, (*at, key)) for key, v in value.items()}
        if isinstance(value, list):
            inner = getattr(info, "item_type", inspect.AnyType())
            return [self._known_part(v, inner, (*at, i)) for i, v in enumerate(value)]
        return value

    def _known_fields(self, value: dict[str, Any], info: inspect.StructType, at: Path) -> Any:
        fields = {field.encode_name: field for field in info.fields}
        out = {}
        for given, inner in value.items():
            key = self._field(given, fields, value)
            if key not in fields:
                similar = did_you_mean(closest_name(key, fields))
                self._report.problem((*self._path, *at, key), f"unknown field{similar}")
            elif inner is not None or _takes_null(fields[key].type):
                out[key] = self._known_part(inner, fields[key].type, (*at, key))
        return out

    def _field(self, key: str, fields: Mapping[str, inspect.Field], given: Collection[str]) -> str:
        """The name of the field that a key stands for: `enableGPU` and `enableGpu` are one."""
        if key in fields or not self._any_acronyms or not isinstance(key, str):
            return key
        same = (n for n, field in fields.items() if n not in given and _spells(key, field.name))
        return next(same, key)

    def _leave_out(self, misfit: str, wanted: type) -> bool:
        """Report the value at fault and leave it out; False if it is the whole value."""
        parts = _MISFIT.fullmatch(misfit)
        assert parts is not None
        message, place = parts.group(1), self._place(parts.group(2) or "$", wanted)
        missing = _MISSING.fullmatch(message)
        if missing:
            at = (*self._path, *place, missing.group(1))
            if not self._report.blames(at):
                self._report.problem(at, required())
        elif choices := _choices(self._info_at(place)) if message.startswith(_NOT_LISTED) else ():
            self._report.problem((*self._path, *place), unsupported(self._at(place), choices))
        else:
            self._report.problem((*self._path, *place), _worded(message))
        if not place:
            return False
        self._remove(place)
        return True

    def _remove(self, place: Path) -> None:
        container = self._at(place[:-1])
        if isinstance(container, list):
            index = int(place[-1])
            self._report.places.leave_out((*self._path, *place[:-1]), index, len(container))
        del container[place[-1]]

    def _place(self, steps: str, wanted: type) -> Path:
        """Parse the place that msgspec names; for `[...]`, find the key that is meant."""
        place: Path = ()
        reduced: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for step in field_errors.parse_path(steps.removeprefix("$")):
            if step == "...":
                mapping = self._at(place)
                reduced.append((mapping, dict(mapping)))
                before = steps[: _nth_index(steps, "[...]", len(reduced))]
                step = self._misfit_key(mapping, before, wanted)
            place = (*place, step)
        for mapping, entries in reduced:
            mapping.clear()
            mapping.update(entries)
        return place

    def _misfit_key(self, mapping: dict[str, Any], before: str, wanted: type) -> str:
        """Reduce the mapping to its first entry that does not fit, and return its key."""
        for key, value in dict(mapping).items():
            mapping.clear()
            mapping[key] = value
            try:
                msgspec.convert(self._value, wanted, dec_hook=durations.decode_hook)
            except msgspec.ValidationError as misfit:
                if f"`{before}[...]" in str(misfit):
                    return key
        raise AssertionError("each entry of the mapping fits")

    def _info_at(self, place: Path) -> inspect.Type:
        """The type of the value at a place."""
        info, value = _fitting(self._value, self._info), self._value
        for step in place:
            value = value[step]
            info = _fitting(value, _inner(info, step))
        return info

    def _at(self, place: Path) -> Any:
        found = self._value
        for step in place:
            found = found[step]
        return found


def _spells(key: str, field: str) -> bool:
    """Whether a key is a field's name in camelCase, possibly with more capitals."""
    first, *rest = field.split("_")
    plain = first + "".join(word.title() for word in rest)
    return len(key) == len(plain) and all(
        given in (letter, letter.upper()) for given, letter in zip(key, plain, strict=True)
    )


def _fitting(value: Any, info: inspect.Type) -> inspect.Type:
    """Of a union, return the member that has the shape of the value."""
    if not isinstance(info, inspect.UnionType):
        return info
    for member in info.types:
        if isinstance(value, dict) and isinstance(member, inspect.StructType | inspect.DictType):
            return member
        if isinstance(value, list) and hasattr(member, "item_type"):
            return member
    return info


def _inner(info: inspect.Type, step: str | int) -> inspect.Type:
    """The type of a field, of a mapping's value or of a list's item."""
    if isinstance(info, inspect.StructType):
        return next(field.type for field in info.fields if field.encode_name == step)
    if isinstance(info, inspect.DictType):
        return info.value_type
    return getattr(info, "item_type", inspect.AnyType())


def _choices(info: inspect.Type) -> tuple[str, ...]:
    """The values that a type lists."""
    members = info.types if isinstance(info, inspect.UnionType) else (info,)
    listed = (member.values for member in members if isinstance(member, inspect.LiteralType))
    named = (member.cls for member in members if isinstance(member, inspect.EnumType))
    return tuple(str(one) for values in listed for one in values) + tuple(
        str(one.value) for enum in named for one in enum
    )


def _nth_index(text: str, part: str, n: int) -> int:
    """Return where `part` begins in `text` for the n-th time."""
    return len(part.join(text.split(part)[:n]))


def _takes_null(info: inspect.Type) -> bool:
    members = info.types if isinstance(info, inspect.UnionType) else (info,)
    return any(isinstance(member, inspect.NoneType | inspect.AnyType) for member in members)


def _worded(message: str) -> str:
    """Replace msgspec's names of types by words for users."""
    words = re.sub(
        r"`([^`]*)`",
        lambda quoted: " or ".join(_WORDS.get(w, w) for w in quoted.group(1).split(" | ")),
        message,
    )
    return words[:1].lower() + words[1:]
