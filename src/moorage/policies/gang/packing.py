"""Where a group wants to be packed: all of its pods in one zone, rack, or whatever a label says."""

from typing import Final, NamedTuple

import numpy as np

from moorage.api.podgroup import PodGroup
from moorage.cache.table import NodeTable
from moorage.policies.gang.group import Group

REQUIRED: Final = "moorage.io/required-topology"
PREFERRED: Final = "moorage.io/preferred-topology"


class Packing(NamedTuple):
    """Node labels whose value all pods of a group must share, or should; empty without one."""

    required: str = ""
    preferred: str = ""


def wanted(group: PodGroup | None) -> Packing:
    """What a group asks for, by annotation or in Kubernetes' own field, which is a requirement."""
    if group is None:
        return Packing()
    constraints = group.spec.scheduling_constraints
    topology = constraints.topology if constraints is not None else ()
    field = topology[0].key if topology else ""
    required = field or group.annotations.get(REQUIRED, "")
    return Packing(required, group.annotations.get(PREFERRED, ""))


def joined(group: Group, table: NodeTable) -> frozenset[str] | None:
    """The nodes that pods of a group must join because others of it run there; None: any."""
    key = wanted(group.object).required
    if not key or not group.placed:
        return None
    homes = {pod.spec.node_name for pod in group.placed.values()}
    ids = table.label(key).ids
    values = {int(ids[table.row_of[home]]) for home in homes if home in table.row_of} - {0}
    if not values:
        return None
    rows = np.flatnonzero(table.alive & np.isin(ids, list(values)))
    return frozenset(table.node(row).name for row in rows.tolist())
