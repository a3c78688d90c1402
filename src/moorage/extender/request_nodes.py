"""Finds the nodes of an extender request in the cache, or adds them to it.

If a cluster is followed, nodes are known by name. Otherwise whole nodes come with each request:
unchanged ones are recognised by their JSON text, and those that have not been named for
`FORGET_SECONDS` are removed.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from moorage.api.decode import DecodeError, decode_as
from moorage.api.node import Node
from moorage.cache.cache import Cache
from moorage.extender import protocol
from moorage.extender.protocol import WireDecodeError

FORGET_SECONDS: Final = 600.0
UNKNOWN_NODE: Final = "node is not known to the extender"


class RequestNodes:
    """The nodes of one request: rows by name, unknown names, and the JSON of whole nodes."""

    def __init__(self, by_name: bool) -> None:
        self.by_name = by_name
        self.rows: dict[str, int] = {}
        self.unknown: list[str] = []
        self.text: dict[str, msgspec.Raw] = {}


class NodeLookup:
    """Finds nodes in the cache, or adds them."""

    def __init__(self, cache: Cache, follows: bool, now: Callable[[], float]) -> None:
        self._cache = cache
        self._follows = follows
        self._now = now
        self._names: dict[bytes, str] = {}
        self._texts: dict[str, bytes] = {}
        self._spoken_of: dict[str, float] = {}
        self._looked = now()

    def of(self, args: protocol.ExtenderArgs) -> RequestNodes:
        """The nodes of a request; WireDecodeError if they cannot be decoded."""
        named = RequestNodes(args.nodes is None)
        if args.nodes is None:
            names = args.node_names or []
        else:
            items = protocol.decode_wire(args.nodes, protocol.NodeList).items or []
            named.text = {self._name(item): item for item in items}
            names = list(named.text)
        row_of = self._cache.table.row_of
        for name in names:
            row = row_of.get(name)
            if row is None:
                named.unknown.append(name)
            else:
                named.rows[name] = row
        return named

    def _name(self, item: msgspec.Raw) -> str:
        text = bytes(item)
        name = self._names.get(text)
        if name is None:
            try:
                node = decode_as(text, Node)
            except DecodeError as error:
                raise WireDecodeError(str(error)) from None
            name = node.name
            if not self._follows:
                self._cache.put_node(node)
            self._keep(text, name)
        self._spoken_of[name] = self._now()
        return name

    def _keep(self, text: bytes, name: str) -> None:
        """Recognise the node by this text from now on, and no longer by its former one."""
        former = self._texts.get(name)
        if former is not None:
            del self._names[former]
        self._names[text], self._texts[name] = name, text
        if self._now() - self._looked > FORGET_SECONDS:
            self._forget()

    def _forget(self) -> None:
        self._looked = self._now()
        old = {n for n, when in self._spoken_of.items() if self._looked - when > FORGET_SECONDS}
        for name in old:
            del self._names[self._texts.pop(name)]
            del self._spoken_of[name]
            row = self._cache.table.row_of.get(name)
            if row is not None and not self._follows:
                self._cache.remove_node(self._cache.table.node(row))
