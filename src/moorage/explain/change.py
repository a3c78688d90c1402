"""A change that makes a pod fit: its kind, a summary, a patch, and a cost."""

from typing import Any, Literal

import msgspec

from moorage.explain.json_patch import Patch

Kind = Literal["request", "toleration", "selector", "affinity", "spread", "node", "evict", "wait"]


class Objects(msgspec.Struct, frozen=True, omit_defaults=True):
    """Objects to add to the cluster, or to delete from it."""

    add: tuple[dict[str, Any], ...] = ()
    delete: tuple[dict[str, str], ...] = ()


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One suggestion, checked by an attempt before it is given.

    `patch` is a JSON patch of the pod, or objects to add or delete. `cost` orders suggestions of
    all kinds: the fraction of a request that is given up, 1 for a dropped rule, more for a change
    that affects other objects. `minimal` says that no smaller change of the same kind suffices;
    False means that the search was cut short.
    """

    kind: Kind
    summary: str
    patch: Patch | Objects
    node: str
    cost: float
    minimal: bool
    kinds: tuple[Kind, ...] = ()
    """The kinds of all its parts, if it has several."""
    price_per_hour: float | None = None
