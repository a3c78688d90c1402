"""Every place of every kind that scheduling reads, by a walk over the structs of `moorage.api`.

A place is a path: names of fields, 0 for the one item of a list, and a key for the one value of a
map. A field that is added to a struct is a place from then on, without a line here.
"""

import ast
import functools
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin

import msgspec

import moorage
from moorage.api.kinds import KINDS
from moorage.api.lenient_json import is_quantity
from moorage.api.meta import QuantityText

Step = str | int

KEY: Final = "example.com/x"
"""The key of the one value in a map."""
SERVERS_OWN: Final = frozenset(
    ("namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")
)
"""Metadata that the API server sets, whatever an author writes; and the author's own namespace."""
QUALIFIED: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*/[A-Za-z0-9][A-Za-z0-9_.-]*")
VERSION: Final = re.compile(r"v\d+((alpha|beta)\d+)?")
PLAIN_NAMES: Final = (
    "gpu-fraction",
    "gpu-memory",
    "gpu-fraction-num-devices",
    "pod-group.scheduling.sigs.k8s.io",
    "tenant",
    "duration",
    "app",
)
"""Labels and annotations whose names have no prefix, or that a configuration names."""
BEARERS: Final = ("Pod", "Node", "Namespace", "PodGroup", "PersistentVolumeClaim")
"""The kinds whose own labels and annotations are read by name."""
CONTAINER_RESOURCES: Final = ("spec", "containers", 0, "resources")
RESOURCE_MAPS: Final[tuple[tuple[str, tuple[Step, ...]], ...]] = (
    ("Pod", (*CONTAINER_RESOURCES, "requests")),
    ("Pod", (*CONTAINER_RESOURCES, "limits")),
    ("Node", ("status", "allocatable")),
)
"""Where resources are read by name."""
RESOURCE_NAMES: Final = ("cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi")


class Place(NamedTuple):
    """Where in an object of a kind something is, and the type that it has there."""

    kind: str
    path: tuple[Step, ...]
    type: Any

    def __str__(self) -> str:
        return f"{self.kind}.{'.'.join(map(str, self.path))}"


@functools.cache
def places() -> tuple[Place, ...]:
    """Every place, and every name of a label or an annotation on the kinds that may bear it."""
    fields = (place for kind in KINDS for place in of_kind(kind, KINDS[kind].struct))
    named = (
        Place(kind, ("metadata", where, name), str)
        for kind in BEARERS
        for where in ("labels", "annotations")
        for name in known_names()
    )
    amounts = (
        Place(kind, (*path, name), QuantityText)
        for kind, path in RESOURCE_MAPS
        for name in (*RESOURCE_NAMES, *known_names())
    )
    return (*fields, *named, *amounts)


def place_named(text: str) -> Place:
    """A place by its name, as `str` gives it."""
    return next(each for each in places() if str(each) == text)


@functools.cache
def known_names() -> tuple[str, ...]:
    """Names of labels and annotations: what looks like one among the texts of the source."""
    root = Path(moorage.__file__).parent
    texts = {
        node.value
        for file in root.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return (*PLAIN_NAMES, *sorted(filter(_is_name, texts)))


def _is_name(text: str) -> bool:
    prefix, _, name = text.partition("/")
    is_qualified = "." in prefix or prefix == "moorage"
    return bool(is_qualified and QUALIFIED.fullmatch(text) and not VERSION.fullmatch(name))


def of_kind(kind: str, struct: type[msgspec.Struct]) -> Iterator[Place]:
    """Every place in the objects of one kind."""
    return _of_struct(kind, (), struct, ())


def _of_struct(
    kind: str, path: tuple[Step, ...], struct: type[msgspec.Struct], outer: tuple[Any, ...]
) -> Iterator[Place]:
    if struct in outer:
        return
    for field in msgspec.structs.fields(struct):
        if path == ("metadata",) and field.encode_name in SERVERS_OWN:
            continue
        yield from _of_type(kind, (*path, field.encode_name), field.type, (*outer, struct))


def _of_type(
    kind: str, path: tuple[Step, ...], annotation: Any, outer: tuple[Any, ...]
) -> Iterator[Place]:
    """The place itself, and those inside it."""
    annotation = plain(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield from _of_struct(kind, path, annotation, outer)
        return
    yield Place(kind, path, annotation)
    if origin in (tuple, list):
        yield from _of_type(kind, (*path, 0), args[0], outer)
    elif origin is dict:
        yield from _of_type(kind, (*path, KEY), args[1], outer)


def plain(annotation: Any) -> Any:
    """The type without None, and without what annotates it unless it makes it a quantity."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated and not is_quantity(annotation):
        return plain(args[0])
    if origin in (Union, types.UnionType):
        return plain(next(arg for arg in args if arg is not type(None)))
    return annotation
