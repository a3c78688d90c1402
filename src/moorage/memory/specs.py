"""Pod specs: filled in and admitted once, however many pods share one.

Replicas made from one template share its spec, the very dict. What is stored for the first is
stored for all: a million pods of ten kinds hold ten specs.
"""

from collections import OrderedDict
from typing import Final, NamedTuple

from moorage.memory import labelkeys, poddefaults, priority, views
from moorage.memory.store import Table
from moorage.watch.resources import PODS
from moorage.watch.surface import Raw

REMEMBERED: Final = 256


class _Known(NamedTuple):
    given: Raw  # kept, so that no other spec takes its identity
    admitted: Raw
    classes: int


class Specs:
    """Remembers the last specs given, by identity, and what they were made into."""

    def __init__(self, classes: Table) -> None:
        self._classes = classes
        self._known: OrderedDict[int, _Known] = OrderedDict()

    def admitted(self, metadata: Raw, spec: Raw) -> Raw:
        """The spec of a new pod with defaults and priority; or a refusal."""
        known = self._known.get(id(spec))
        if known is not None and known.classes == self._classes.history.end:
            return known.admitted
        filled = poddefaults.fill(spec)
        merged = labelkeys.merge(filled, metadata.get("labels") or {})
        admitted = priority.admit(self._classes, metadata, merged)
        views.checked({"metadata": metadata, "spec": admitted}, PODS)
        if merged is filled:
            self._remember(spec, admitted)
        return admitted

    def _remember(self, spec: Raw, admitted: Raw) -> None:
        self._known[id(spec)] = _Known(spec, admitted, self._classes.history.end)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
