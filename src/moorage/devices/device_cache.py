"""The devices of a cluster, kept up to date from the cached objects.

It is made when a pod first needs devices, and lives as long as the node table: all profiles share
it, so that they see the same devices taken.
"""

from collections.abc import Callable
from typing import Any, Final

from moorage.api.resource_claims import ResourceClaim
from moorage.api.resource_slices import DeviceClass, DeviceTaintRule, ResourceSlice
from moorage.cache.cache import Cache
from moorage.devices.claim_tracker import ClaimTracker
from moorage.devices.classes import Classes
from moorage.devices.errands import Errand
from moorage.devices.inventory import Inventory
from moorage.devices.node_pools import PoolIndex

KEY: Final = "devices"


class DeviceCache:
    """Slices, classes, and the devices that claims hold."""

    def __init__(
        self, cache: Cache, claims: Callable[[Inventory], ClaimTracker] = ClaimTracker
    ) -> None:
        self.inventory = Inventory()
        self.classes = Classes()
        self.claims = claims(self.inventory)
        self.pools = PoolIndex(self.inventory, cache.table.row_of)
        self.columns: dict[Any, Any] = {}
        """Results that plugins keep for pods with equal claims, by their own keys."""
        self.verdicts: dict[Any, Any] = {}
        """What they have found for all who ask for the same under other names."""
        self.totals: dict[str, Any] = {}
        """How many devices each node reaches, by the name of the class."""
        self.errands: list[Errand] = []
        """Writes to make outside of attempts."""
        self.unlisted: frozenset[str] = frozenset()
        """Resources that are not fully listed yet; while there are any, nothing is allocated."""
        follow: tuple[tuple[type, Callable[[Any], None], Callable[[Any], None]], ...] = (
            (DeviceTaintRule, self.inventory.put_rule, self.inventory.remove_rule),
            (ResourceSlice, self.inventory.put_slice, self.inventory.remove_slice),
            (DeviceClass, self.classes.put, self.classes.remove),
            (ResourceClaim, self.claims.put, self.claims.remove),
        )
        for kind, put, remove in follow:
            cache.objects.follow(kind, put, remove)


def device_cache(cache: Cache) -> DeviceCache:
    """The devices of a cache's cluster; made on first use."""
    found: DeviceCache | None = cache.table.derived.get(KEY)
    if found is None:
        found = cache.table.derived[KEY] = DeviceCache(cache)
    return found


def backing_class(cache: Cache, resource: str) -> DeviceClass | None:
    """The class that backs an extended resource; None if none does."""
    if not cache.objects.version(DeviceClass):
        return None
    return device_cache(cache).classes.of_resource(resource)
