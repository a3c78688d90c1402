"""One text that holds configuration, with the file or ConfigMap it was read from."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.api.cluster_objects import ConfigMap
from moorage.config import yaml_documents
from moorage.config.field_errors import Problem


class ConfigText(NamedTuple):
    """One text, and its name in messages; `about` is the ConfigMap that it came from."""

    source: str
    content: bytes | Mapping[str, Any]
    about: ConfigMap | None = None

    @property
    def fingerprint(self) -> str:
        """A digest of the content."""
        content = self.content
        raw = (
            content if isinstance(content, bytes) else msgspec.json.encode(content, order="sorted")
        )
        return hashlib.sha256(raw).hexdigest()


def text_of_config_map(found: ConfigMap, key: str = "") -> ConfigText:
    """The texts of a ConfigMap, or the one under a key."""
    data = {key: found.data.get(key, "")} if key else found.data
    plain = {"kind": "ConfigMap", "metadata": {"name": found.name}, "data": data}
    return ConfigText(f"ConfigMap {found.key}", plain, found)


def unread_documents(text: ConfigText, kinds: Iterable[str]) -> list[Problem]:
    """Problems for documents of a ConfigMap that are of no known kind: probably a misspelling."""
    if text.about is None or isinstance(text.content, bytes):
        return []
    known = set(kinds)
    return [
        Problem("kind", f'"{kind}" is not read: {", ".join(sorted(known))} are', 0, text.source, at)
        for at, entry in _entries(text.content)
        for kind in _kinds(entry, text.source, at)
        if kind not in known
    ]


def _entries(content: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    return ((f"data[{key}]", entry) for key, entry in content["data"].items())


def _kinds(entry: str, source: str, within: str) -> Iterable[str]:
    for each in yaml_documents.read_yaml(entry, source=source, within=within):
        if each.value is not None:
            value = each.value
            yield str(value.get("kind", "none")) if isinstance(value, dict) else "none"


def count_documents(text: ConfigText, kind: str) -> int:
    """How many documents of a kind there are."""
    return len(yaml_documents.find_documents(text.content, kind, text.source))
