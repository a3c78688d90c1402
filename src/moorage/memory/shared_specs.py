"""Shares equal pod specs: a thousand pods hold only as many specs as there are different ones."""

from collections import OrderedDict
from typing import Final, NamedTuple

import msgspec

from moorage.watch.api_server import Raw

SPECS_KEPT: Final = 1024


class SharedSpec(NamedTuple):
    """A spec that nobody else changes, and whether an equal one was seen before."""

    spec: Raw
    seen: bool


class SharedSpecs:
    """Remembers the last specs, by their content."""

    def __init__(self) -> None:
        self._specs: OrderedDict[bytes, Raw] = OrderedDict()

    def of(self, spec: Raw) -> SharedSpec:
        """The shared spec equal to this one, which is not changed."""
        text = msgspec.json.encode(spec)
        known = self._specs.get(text)
        if known is not None:
            return SharedSpec(known, True)
        copy: Raw = msgspec.json.decode(text)
        self._specs[text] = copy
        if len(self._specs) > SPECS_KEPT:
            self._specs.popitem(last=False)
        return SharedSpec(copy, False)
