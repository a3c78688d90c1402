"""The documents of one manifest text: YAML, JSON, or one JSON value after another."""

import json
import re
from typing import Any, Final, NoReturn

import msgspec

from moorage.config import yaml_documents
from moorage.config.field_errors import ConfigError, InputError

_JSON_SUFFIXES: Final = (".json", ".jsonl", ".ndjson")
_TEMPLATE: Final = re.compile(rb"\{\{-?[ .$\w]")
_SPACE: Final = re.compile(r"\s*")
_BOMS: Final = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def documents_of(text: bytes, title: str) -> list[Any]:
    """Every document of a text; `title` is the file, as messages call it."""
    text = _as_utf8(text, title)
    is_json = title.endswith(_JSON_SUFFIXES)
    if is_json or text.lstrip()[:1] in (b"{", b"["):
        try:
            return _json_documents(text)
        except ValueError as error:
            if is_json:
                raise InputError([f"{title}, document 1: not JSON: {error}"]) from None
    try:
        return yaml_documents.read_values(text, source=title)
    except ConfigError as error:
        raise InputError([f"{error}{_template_hint(text)}"]) from None


def _as_utf8(text: bytes, title: str) -> bytes:
    """The text without its byte order mark, which editors and PowerShell write."""
    for mark, encoding in _BOMS:
        if text.startswith(mark):
            try:
                return text[len(mark) :].decode(encoding).encode()
            except UnicodeError as error:
                raise InputError([f"{title}: not {encoding.upper()}: {error}"]) from None
    return text


def _json_documents(text: bytes) -> list[Any]:
    try:
        return [msgspec.json.decode(text)]
    except RecursionError:
        raise ValueError(yaml_documents.TOO_DEEP) from None
    except msgspec.DecodeError as error:
        try:
            found = _json_values(text.decode())
        except (ValueError, RecursionError):
            raise ValueError(str(error)) from None
        return found


def _json_values(text: str) -> list[Any]:
    """One value after another, as `kubectl get -o json` and `jq` write them in a row."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    found: list[Any] = []
    at = _after_space(text, 0)
    while at < len(text):
        value, end = decoder.raw_decode(text, at)
        found.append(value)
        at = _after_space(text, end)
    return found


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _template_hint(text: bytes) -> str:
    if not _TEMPLATE.search(text):
        return ""
    return " (a template? render it first: helm template, then read what that prints)"
