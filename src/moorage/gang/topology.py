"""Topology of a group: the zones or racks in which it is packed, in the order to try them.

1. With a required label: preferred domains within required ones, then required ones. If pods of the
   group run already, only their domain is tried. With a preferred label alone: preferred domains,
   then the whole cluster.
2. Of domains that may have room, the smallest room goes first: the best fit leaves the large ones
   to others.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.podgroup import PodGroup
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.framework.verdicts import SchedulingError
from moorage.gang.group import Group

REQUIRED: Final = "moorage.io/required-topology"
PREFERRED: Final = "moorage.io/preferred-topology"
SEVERAL: Final = "more than 1 domain found for pod group: {}"


class Packing(NamedTuple):
    """The labels of which all nodes of a group must, or should, have one value; empty for none."""

    required: str = ""
    preferred: str = ""


def wanted_packing(group: PodGroup | None) -> Packing:
    """The packing that a group asks for: by annotation, or required by Kubernetes' own field."""
    if group is None:
        return Packing()
    required = group.topology_key or group.annotations.get(REQUIRED, "")
    return Packing(required, group.annotations.get(PREFERRED, ""))


class UnclearDomainError(SchedulingError):
    """Pods of one of Kubernetes' own groups run in several domains, or outside of any."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"cannot determine domain for already scheduled pods: {detail}")


def homes(group: Group, cache: Cache) -> dict[str, str]:
    """Pod key -> node, for the pods of a group that are on a node or assumed on one."""
    found = group.on_nodes(cache.assumed).items()
    return {pod.key: pod.spec.node_name or cache.node_of(uid) or "" for uid, pod in found}


def unclear_domain(group: Group, cache: Cache) -> str:
    """Why it is unclear which domain pods must join; empty if it is clear, or does not matter.

    It matters for Kubernetes' own groups only: pods of others join those that have a domain.
    """
    key = group.object.topology_key if group.object is not None else ""
    seen: dict[str, None] = {}
    for pod, home in homes(group, cache).items() if key else ():
        row = cache.table.row_of.get(home)
        if row is None:
            continue
        value = cache.table.node(row).labels.get(key)
        if value is None:
            return f"no topology domain found for pod {pod}"
        seen[value] = None
    first = list(seen)[:2]
    return SEVERAL.format(", ".join(first)) if len(first) > 1 else ""


def joined_nodes(group: Group, cache: Cache) -> frozenset[str] | None:
    """The nodes of the domain in which pods of the group run already; None for any node."""
    key = wanted_packing(group.object).required
    there = set(homes(group, cache).values()) if key else ()
    if not there:
        return None
    table = cache.table
    ids = table.label(key).ids
    values = {int(ids[table.row_of[home]]) for home in there if home in table.row_of} - {0}
    if not values:
        return None
    rows = np.flatnonzero(table.alive & np.isin(ids, list(values)))
    return frozenset(table.node(row).name for row in rows.tolist())


Ids = NDArray[np.int64]


class Domain(NamedTuple):
    """Nodes that share their values of some labels, and how many pods may fit there at most."""

    name: str
    rows: NDArray[np.intp]
    room: int


class Choice(NamedTuple):
    """The domains to try, and those that are too small; `anywhere`: the cluster is tried last."""

    domains: list[Domain]
    too_small: list[Domain]
    anywhere: bool

    def around(self, preferred: Domain | None) -> list[Domain | None]:
        """Where pods may go for which there is no place where their group would rather be."""
        if preferred is None:
            return []
        wider = [each for each in self.domains if _contains(each, preferred)]
        return [*wider, *((None,) if self.anywhere else ())]


def _contains(domain: Domain, other: Domain) -> bool:
    larger = len(domain.rows) > len(other.rows)
    return larger and bool(np.isin(other.rows, domain.rows).all())


def choose_domains(
    table: NodeTable,
    packing: Packing,
    members: Sequence[PodInfo],
    needed: int,
    occupied: Iterable[str],
) -> Choice:
    """Where to try a group of which `needed` pods must fit; `occupied` are nodes it runs on."""
    if packing == Packing():
        return Choice([], [], anywhere=True)
    rooms = _rooms(table, members)
    rows = [table.row_of[node] for node in occupied if node in table.row_of]
    fitting: list[Domain] = []
    too_small: list[Domain] = []
    for keys in _stages(packing):
        found = _domains(table, keys, rooms)
        if packing.required in keys and rows:
            found = [domain for domain in found if np.isin(rows, domain.rows).any()]
        fitting += sorted((d for d in found if d.room >= needed), key=lambda d: (d.room, d.name))
        too_small += [domain for domain in found if domain.room < needed]
    return Choice(fitting, too_small, anywhere=not packing.required)


def _stages(packing: Packing) -> list[tuple[str, ...]]:
    if packing.required and packing.preferred:
        return [(packing.required, packing.preferred), (packing.required,)]
    return [(packing.required or packing.preferred,)]


def _domains(table: NodeTable, keys: tuple[str, ...], rooms: Ids) -> list[Domain]:
    """Every domain of some labels; a node that lacks one of them is in none."""
    columns = [table.label(key) for key in keys]
    ids = np.stack([column.ids[: table.rows] for column in columns])
    inside = table.alive[: table.rows] & (ids != 0).all(axis=0)
    rows = np.flatnonzero(inside)
    if not len(rows):
        return []
    distinct, which = np.unique(ids[:, rows], axis=1, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel()))[:-1]
    domains = []
    for values, members in zip(distinct.T.tolist(), np.split(rows[order], ends), strict=True):
        named = zip(keys, columns, values, strict=True)
        name = ",".join(f"{key}={column.values.values[value]}" for key, column, value in named)
        domains.append(Domain(name, members, int(rooms[members].sum())))
    return domains


def _rooms(table: NodeTable, members: Sequence[PodInfo]) -> Ids:
    """int64 (row): an upper bound of the members that fit: their smallest requests combined."""
    count = table.rows
    rooms: Ids = (table.allowed_pods - table.pod_count)[:count].copy()
    for index, least in _smallest(members).items():
        if index < len(table.allocatable):
            free = (table.allocatable[index] - table.requested[index])[:count]
            np.minimum(rooms, free // least, out=rooms)
        else:
            rooms[:] = 0
    return rooms.clip(min=0)


def _smallest(members: Sequence[PodInfo]) -> dict[int, int]:
    """The smallest request of each resource that all members request."""
    asked = [dict(info.requests) for info in members]
    common = set.intersection(*(set(each) for each in asked)) if asked else set()
    return {index: min(each[index] for each in asked) for index in common}
