"""Which devices that share counters may be allocated together.

A device may declare groups for each counter set that it consumes. Devices are compatible on a
counter set if all of them declare a common group, or if none of them declares any.
"""

from collections.abc import Callable
from typing import NamedTuple

from moorage.devices.inventory import PoolDevice, PoolID
from moorage.devices.ledger import Ledger
from moorage.devices.node_pools import Pool

Groups = frozenset[str]
Restore = Callable[[], None]


class Common(NamedTuple):
    """What the devices on a counter set declare: no groups at all, or these in common."""

    is_ungrouped: bool
    groups: Groups

    def admits(self, groups: Groups) -> bool:
        if self.is_ungrouped or not groups:
            return self.is_ungrouped and not groups
        return not self.groups.isdisjoint(groups)

    def with_device(self, groups: Groups) -> "Common":
        if self.is_ungrouped or not groups:
            return self
        return Common(False, self.groups & groups)


def _added(known: Common | None, groups: Groups) -> Common:
    return Common(not groups, groups) if known is None else known.with_device(groups)


class CompatibilityGroups:
    """The devices on each counter set: those of one search, and those allocated before."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._common: dict[PoolID, dict[str, Common]] = {}

    def take(self, device: PoolDevice, pool: Pool) -> Restore | None:
        """Add a device if it is compatible with all others; a function that removes it again."""
        common = self._of_pool(pool)
        before = [(name, common.get(name)) for name, _ in device.groups]

        def restore() -> None:
            for name, known in reversed(before):
                if known is None:
                    common.pop(name, None)
                else:
                    common[name] = known

        for name, groups in device.groups:
            known = common.get(name)
            if known is not None and not known.admits(groups):
                restore()
                return None
            common[name] = _added(known, groups)
        return restore

    def _of_pool(self, pool: Pool) -> dict[str, Common]:
        found = self._common.get(pool.id)
        if found is None:
            found = self._common[pool.id] = {}
            for entry in (*pool.slices, *pool.others):
                for device in entry.devices:
                    if device.groups and self._ledger.is_allocated(device.id):
                        for name, groups in device.groups:
                            found[name] = _added(found.get(name), groups)
        return found
