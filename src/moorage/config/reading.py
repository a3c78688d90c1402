"""YAML (and JSON) text into plain values, strictly, with the line each value was written on.

Duplicate keys are refused. Scalars resolve as they do for Kubernetes: a time of day or a date is
text, `1e3` is a number.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import yaml

try:
    from yaml import CSafeLoader as _Base
except ImportError:  # PyYAML without libyaml
    from yaml import SafeLoader as _Base  # type: ignore[assignment]

from moorage.config.places import Path
from moorage.config.problems import ConfigError, Problem

_MOST_REPEATS: Final = 100_000
"""How many values may come from aliases; stops aliases of aliases that multiply."""


class Text(NamedTuple):
    """One document of a text: its value, and where things stand in it."""

    value: Any
    lines: dict[Path, int]
    literals: frozenset[Path]
    """The paths of literal block scalars (`|`), whose own lines follow the line of their key."""


class _Refusal(Exception):
    """YAML that is well formed but not taken."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class _Loader(_Base):
    """A safe loader with the scalars that Kubernetes knows."""


_KEPT: Final = {f"tag:yaml.org,2002:{name}" for name in ("bool", "null", "merge")}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _KEPT]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+"
        r"|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))$|\.(?:nan|NaN|NAN)$"
    ),
    list("-+0123456789."),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$"),
    list("-+0123456789"),
)


def read(
    text: str | bytes, *, source: str = "", within: str = "", after_line: int = 0
) -> list[Text]:
    """Return the documents of a text; `after_line` is the line of the file just before it."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        loader = _Loader(text)
        return [_Build(loader, after_line).document(node) for node in _nodes(loader)]
    except _Refusal as error:
        raise ConfigError([Problem("", error.message, error.line, source, within)]) from None
    except UnicodeDecodeError as error:
        message = f"not UTF-8: {error.reason} at byte {error.start}"
        raise ConfigError([Problem("", message, 0, source, within)]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 + after_line if mark else 0
        message = ": ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError([Problem("", f"not YAML: {message}", line, source, within)]) from None
    except yaml.YAMLError as error:
        raise ConfigError([Problem("", f"not YAML: {error}", 0, source, within)]) from None


def _nodes(loader: _Loader) -> Iterator[yaml.Node]:
    while loader.check_node():
        node = loader.get_node()
        if node is not None:
            yield node


class _Build:
    """Builds the value of one document from its nodes."""

    def __init__(self, loader: _Loader, after_line: int) -> None:
        self._loader = loader
        self._after_line = after_line
        self._lines: dict[Path, int] = {}
        self._literals: set[Path] = set()
        self._above: list[yaml.Node] = []
        self._seen: set[int] = set()
        self._repeats = 0

    def document(self, node: yaml.Node) -> Text:
        """Build the document whose root is `node`."""
        self._lines[()] = self._line(node)
        return Text(self._value(node, ()), self._lines, frozenset(self._literals))

    def _value(self, node: yaml.Node, path: Path) -> Any:
        self._repeats += id(node) in self._seen
        self._seen.add(id(node))
        if any(node is above for above in self._above) or self._repeats > _MOST_REPEATS:
            raise self._refusal(node, "anchors and aliases make it endless")
        self._above.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return [self._item(item, (*path, i)) for i, item in enumerate(node.value)]
            return self._scalar(node, path)
        finally:
            self._above.pop()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        self._refuse_duplicates(node)
        self._loader.flatten_mapping(node)
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            self._lines[(*path, key)] = self._line(key_node)
            out[key] = self._value(value_node, (*path, key))
        return out

    def _refuse_duplicates(self, node: yaml.MappingNode) -> None:
        seen: dict[str, int] = {}
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self._key(key_node)
            if key in seen:
                first = seen[key]
                raise self._refusal(key_node, f'key "{key}" is already set in line {first}')
            seen[key] = self._line(key_node)

    def _item(self, node: yaml.Node, path: Path) -> Any:
        self._lines[path] = self._line(node)
        return self._value(node, path)

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        if isinstance(node, yaml.ScalarNode) and node.style == "|":
            self._literals.add(path)
        return self._loader.construct_object(node)

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._refusal(node, "a key must be text")
        return str(node.value)

    def _line(self, node: yaml.Node) -> int:
        return int(node.start_mark.line) + 1 + self._after_line

    def _refusal(self, node: yaml.Node, message: str) -> _Refusal:
        return _Refusal(message, self._line(node))
