"""Finding the documents of a kind: among several in a file, and inside ConfigMaps."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from moorage.config import reading
from moorage.config.places import Places
from moorage.config.problems import ConfigError, Problem
from moorage.config.reading import Text


class Document(NamedTuple):
    """A document of the kind sought, and where things stand in it.

    `within` names the entry of a ConfigMap that holds it, if one does.
    """

    value: dict[str, Any]
    places: Places
    within: str = ""


def find(text: str | bytes | Mapping[str, Any], kind: str, source: str = "") -> list[Document]:
    """Return the documents of `kind` in the text, also those held in the data of ConfigMaps."""
    if isinstance(text, Mapping):
        texts = [Text(dict(text), {}, frozenset())]
    else:
        texts = reading.read(text, source=source)
    return [found for each in texts for found in _of_kind(each, kind, source)]


def one(text: str | bytes | Mapping[str, Any], kind: str, source: str = "") -> Document:
    """Return the only document of `kind`; raise ConfigError if there is none, or several."""
    found = find(text, kind, source)
    if len(found) == 1:
        return found[0]
    if found:
        message = f"{len(found)} documents of kind {kind} where one is expected"
    else:
        message = f'no document with "kind: {kind}"{_kinds(text)}'
    raise ConfigError([Problem("", message, 0, source)])


def _of_kind(text: Text, kind: str, source: str) -> Iterator[Document]:
    value = text.value
    if not isinstance(value, dict):
        return
    if value.get("kind") == kind:
        yield Document(value, Places(text.lines))
    elif value.get("kind") == "ConfigMap":
        yield from _in_config_map(text, kind, source)


def _in_config_map(text: Text, kind: str, source: str) -> Iterator[Document]:
    name = _mapping(text.value, "metadata").get("name", "")
    for key, entry in _mapping(text.value, "data").items():
        if not isinstance(entry, str) or kind not in entry:
            continue
        within = f"ConfigMap {name} data[{key}]" if name else f"ConfigMap data[{key}]"
        is_literal = ("data", key) in text.literals
        after_line = text.lines.get(("data", key), 0) if is_literal else 0
        for each in reading.read(entry, source=source, within=within, after_line=after_line):
            lines = each.lines if is_literal or not text.lines else {}
            for found in _of_kind(each._replace(lines=lines), kind, source):
                yield found._replace(within=within)


def _mapping(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _kinds(text: str | bytes | Mapping[str, Any]) -> str:
    values = [text] if isinstance(text, Mapping) else [each.value for each in reading.read(text)]
    kinds = [str(v.get("kind", "none")) for v in values if isinstance(v, Mapping)]
    return f"; found kinds: {', '.join(kinds)}" if kinds else ""
