"""YAML and JSON documents: read strictly, with line numbers; found by kind, in ConfigMaps too.

Duplicate keys are refused. Scalars resolve as in Kubernetes: a time of day or a date is text, `1e3`
is a number, and a number beyond float64 (`1e400`) is text.
"""

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import yaml
from yaml.constructor import ConstructorError

from moorage.config.field_errors import ConfigError, Path, Problem, SourceMap
from moorage.config.plain_blocks import BlockReader
from moorage.config.plain_yaml import NOT_PLAIN

try:
    from yaml import CSafeLoader as _Base
except ImportError:  # PyYAML without libyaml
    from yaml import SafeLoader as _Base  # type: ignore[assignment]


SUFFIXES: Final = (".yaml", ".yml", ".json")
"""The suffixes of files that are read as manifests or configuration."""
_MOST_REPEATS: Final = 100_000
"""The most values that may come from aliases; stops aliases of aliases from multiplying."""


_DEEPEST: Final = 200
_ABYSS: Final = 1000
_BRACKET: Final = re.compile(r"[\[\]{}]")
_DASHES: Final = re.compile(rf"(?:[-?] +){{{_ABYSS}}}")
ENDLESS: Final = "anchors and aliases make it endless"
TOO_DEEP: Final = f"nested more than {_DEEPEST} levels deep: flatten it"


class ParsedYaml(NamedTuple):
    """One document of a text: its value, and the lines of its paths."""

    value: Any
    lines: dict[Path, int]
    literals: frozenset[Path]
    """The paths of literal block scalars (`|`), whose own lines follow the line of their key."""


class _Refusal(Exception):
    """YAML that is well formed but not accepted."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class _Loader(_Base):
    """A safe loader with the scalars that Kubernetes knows."""

    merged = 0
    """How many keys came from merges; merges of merges must not multiply."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put the keys that a mapping merges (`<<`) before its own; a later one wins."""
        merges = [value for key, value in node.value if key.tag == _MERGE]
        if not merges:
            return
        own = [(key, value) for key, value in node.value if key.tag != _MERGE]
        pairs: dict[Any, Any] = {}
        node.value = own  # what a mapping offers that merges itself
        for merge in merges:
            for source in self._sources(merge):
                self.flatten_mapping(source)
                self.merged += len(source.value)
                if self.merged > _MOST_REPEATS:
                    raise ConstructorError(None, None, ENDLESS, source.start_mark)
                pairs |= ((_identity(key), (key, value)) for key, value in source.value)
        pairs |= ((_identity(key), (key, value)) for key, value in own)
        node.value = list(pairs.values())

    def _sources(self, merge: yaml.Node) -> list[yaml.MappingNode]:
        """The mappings that a merge names, the one that wins last."""
        named = merge.value[::-1] if isinstance(merge, yaml.SequenceNode) else [merge]
        sources = [source for source in named if isinstance(source, yaml.MappingNode)]
        if len(sources) < len(named):
            message = "<< must name a mapping or a list of mappings"
            raise ConstructorError(None, None, message, merge.start_mark)
        return sources


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > _MOST_BITS


def _identity(key: yaml.Node) -> Any:
    return key.value if isinstance(key, yaml.ScalarNode) else id(key)


_MERGE: Final = "tag:yaml.org,2002:merge"
_NULL: Final = "tag:yaml.org,2002:null"
_MOST_BITS: Final = 1024
"""Of a whole number: one that is longer than the largest float64 is none anywhere."""
_SHOWN: Final = 40


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


_SEPARATOR: Final = re.compile(r"^---[ ]*\n", re.MULTILINE)
_NOT_SPLIT: Final = ("\n%", "\n...", "\r", "\ufeff", "\x85", "\u2028", "\u2029")
"""Directives, ends of documents, and line breaks of YAML: such texts are not split here."""


def read_values(text: bytes, *, source: str = "") -> list[Any]:
    """The values of a text's documents, without line numbers; plain documents are read fast.

    Callers must not change them: equal parts of them may be one object.
    """
    try:
        written = text.decode("utf-8")
        if not (written.startswith(("%", "...")) or any(each in written for each in _NOT_SPLIT)):
            return _values(written)
    except (UnicodeDecodeError, ConfigError):
        pass  # reported below, with the right line
    return [each.value for each in read_yaml(text, source=source, lines=False)]


def _values(text: str) -> list[Any]:
    added = "" if text.endswith("\n") else "\n"
    text += added
    has_several = text.startswith("---") or "\n---" in text
    first, *others = _SEPARATOR.split(text) if has_several else [text]
    reader = BlockReader(_resolve)
    found: list[Any] = []
    for number, part in enumerate((first, *others)):
        value = reader.read(part.removesuffix("\n"))
        if value is NOT_PLAIN:
            written = part.removesuffix(added) if number == len(others) else part
            marked = f"---\n{written}" if number else written
            found += [each.value for each in read_yaml(marked, lines=False)]
        elif number or value is not None:
            found.append(value)
    return found


def _resolve(word: str) -> Any:
    """The value of a plain word, for example a number; doubtful ones are left to libyaml."""
    patterns = _Loader.yaml_implicit_resolvers.get(word[0], ())
    if word[0].isdigit() and not any(pattern.match(word) for _, pattern in patterns):
        return word
    return read_yaml(f"- {word}", lines=False)[0].value[0]


def read_yaml(
    text: str | bytes,
    *,
    source: str = "",
    within: str = "",
    after_line: int = 0,
    lines: bool = True,
) -> list[ParsedYaml]:
    """Return the documents of a text; `after_line` is the line of the file just before it."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        _refuse_abyss(text)
        loader = _Loader(text)
        return [_Build(loader, after_line, lines).document(node) for node in _nodes(loader)]
    except _Refusal as error:
        raise ConfigError([Problem("", error.message, error.line, source, within)]) from None
    except RecursionError:
        raise ConfigError([Problem("", TOO_DEEP, 0, source, within)]) from None
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


def _refuse_abyss(text: str) -> None:
    """Refuse nesting so deep that libyaml would take for ever, or overflow the stack."""
    if _DASHES.search(text):
        raise _Refusal(TOO_DEEP, 0)
    if text.count("[") + text.count("{") > _ABYSS:
        depths = itertools.accumulate(1 if b in "[{" else -1 for b in _BRACKET.findall(text))
        if max(depths) > _ABYSS:
            raise _Refusal(TOO_DEEP, 0)


def _nodes(loader: _Loader) -> Iterator[yaml.Node]:
    while loader.check_node():
        node = loader.get_node()
        if node is not None:
            yield node


class _Build:
    """Builds the value of one document from its nodes."""

    def __init__(self, loader: _Loader, after_line: int, keeps_lines: bool) -> None:
        self._loader = loader
        self._keeps_lines = keeps_lines
        self._after_line = after_line
        self._lines: dict[Path, int] = {}
        self._literals: set[Path] = set()
        self._above: list[yaml.Node] = []
        self._seen: set[int] = set()
        self._repeats = 0

    def document(self, node: yaml.Node) -> ParsedYaml:
        """Build the document whose root is `node`."""
        self._lines[()] = self._line(node)
        return ParsedYaml(self._value(node, ()), self._lines, frozenset(self._literals))

    def _value(self, node: yaml.Node, path: Path) -> Any:
        self._repeats += id(node) in self._seen
        self._seen.add(id(node))
        if any(node is above for above in self._above) or self._repeats > _MOST_REPEATS:
            raise self._refusal(node, ENDLESS)
        if len(self._above) > _DEEPEST:
            raise self._refusal(node, TOO_DEEP)
        self._above.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return [
                    self._value(item, self._inner(path, index, item))
                    for index, item in enumerate(node.value)
                ]
            return self._scalar(node, path)
        finally:
            self._above.pop()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        self._refuse_duplicates(node)
        self._loader.flatten_mapping(node)
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            out[key] = self._value(value_node, self._inner(path, key, key_node))
        return out

    def _refuse_duplicates(self, node: yaml.MappingNode) -> None:
        seen: dict[str, int] = {}
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self._key(key_node)
            if key in seen:
                first = seen[key]
                raise self._refusal(key_node, f'key "{key}" is already set in line {first}')
            seen[key] = self._line(key_node)

    def _inner(self, path: Path, step: str | int, node: yaml.Node) -> Path:
        if not self._keeps_lines:
            return ()
        inner = (*path, step)
        self._lines[inner] = self._line(node)
        return inner

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        if isinstance(node, yaml.ScalarNode) and node.style == "|":
            self._literals.add(path)
        try:
            value = self._loader.construct_object(node)
        except ValueError:
            value = None
        if (value is None and node.tag != _NULL) or _is_huge(value):
            kind = node.tag.rpartition(":")[2]
            text = node.value if len(node.value) <= _SHOWN else f"{node.value[:_SHOWN]}..."
            raise self._refusal(node, f"{text} cannot be read as {kind}")
        if isinstance(value, float) and not math.isfinite(value):
            if value != value or node.value.lstrip("+-")[0] == ".":
                raise self._refusal(node, f"{node.value} is no number in JSON")
            return node.value
        return value

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._refusal(node, "a key must be text")
        return str(node.value)

    def _line(self, node: yaml.Node) -> int:
        return int(node.start_mark.line) + 1 + self._after_line

    def _refusal(self, node: yaml.Node, message: str) -> _Refusal:
        return _Refusal(message, self._line(node))


class Document(NamedTuple):
    """A document of the wanted kind, with the lines of its paths.

    `within` names the entry of a ConfigMap that holds it, if one does.
    """

    value: dict[str, Any]
    places: SourceMap
    within: str = ""


def find_documents(
    text: str | bytes | Mapping[str, Any], kind: str, source: str = ""
) -> list[Document]:
    """Return the documents of `kind` in the text, also those held in the data of ConfigMaps."""
    if isinstance(text, Mapping):
        texts = [ParsedYaml(dict(text), {}, frozenset())]
    else:
        texts = read_yaml(text, source=source)
    return [found for each in texts for found in _of_kind(each, kind, source)]


def find_only_document(
    text: str | bytes | Mapping[str, Any], kind: str, source: str = ""
) -> Document:
    """Return the only document of `kind`; raise ConfigError if there is none, or several."""
    found = find_documents(text, kind, source)
    if len(found) == 1:
        return found[0]
    if found:
        message = f"{len(found)} documents of kind {kind} where one is expected"
    else:
        message = f'no document with "kind: {kind}"{_kinds(text)}'
    raise ConfigError([Problem("", message, 0, source)])


def _of_kind(text: ParsedYaml, kind: str, source: str) -> Iterator[Document]:
    value = text.value
    if not isinstance(value, dict):
        return
    if value.get("kind") == kind:
        yield Document(value, SourceMap(text.lines))
    elif value.get("kind") == "ConfigMap":
        yield from _in_config_map(text, kind, source)


def _in_config_map(text: ParsedYaml, kind: str, source: str) -> Iterator[Document]:
    name = _mapping(text.value, "metadata").get("name", "")
    for key, entry in _mapping(text.value, "data").items():
        if not isinstance(entry, str) or kind not in entry:
            continue
        within = f"ConfigMap {name} data[{key}]" if name else f"ConfigMap data[{key}]"
        is_literal = ("data", key) in text.literals
        after_line = text.lines.get(("data", key), 0) if is_literal else 0
        for each in read_yaml(entry, source=source, within=within, after_line=after_line):
            lines = each.lines if is_literal or not text.lines else {}
            for found in _of_kind(each._replace(lines=lines), kind, source):
                yield found._replace(within=within)


def _mapping(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _kinds(text: str | bytes | Mapping[str, Any]) -> str:
    values = [text] if isinstance(text, Mapping) else [each.value for each in read_yaml(text)]
    named = (v.get("kind", "none") for v in values if isinstance(v, Mapping))
    kinds = [kind if isinstance(kind, str) else "none" for kind in named]
    return f"; found kinds: {', '.join(kinds)}" if kinds else ""
