"""Claims as they are known, assumed, or about to be allocated.

1. A claim is known from the watch.
2. The answer of an API call is assumed until the watch has caught up.
3. Between Reserve and the end of PreBind an allocation is in flight: counted, but not written yet.
   Pods of one group may share it.

A device is taken as long as any of the three says so.
"""

from collections.abc import Iterator

from moorage.api.annotations import read_int
from moorage.api.resource_claims import AllocationResult, ResourceClaim
from moorage.devices.inventory import Inventory
from moorage.devices.ledger import Ledger

SHARED_IN_GROUP = "devices/shared in group"
"""Key in `cycle.state` of the uids of claims whose allocation is in flight for other pods of the
group that is being placed: its pods may share it."""
EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"


class ClaimTracker:
    """Every claim, and what each holds in the ledger."""

    def __init__(self, inventory: Inventory) -> None:
        self.ledger = Ledger()
        self._inventory = inventory
        self._known: dict[str, ResourceClaim] = {}
        self._assumed: dict[str, ResourceClaim] = {}
        self._in_flight: dict[str, AllocationResult] = {}
        self._sharers: dict[str, int] = {}
        """Claim uid -> number of pods that share its allocation in flight."""
        self._held: dict[str, AllocationResult] = {}
        self._extended: dict[str, str] = {}
        """Pod uid -> key of the claim made for its extended resources."""

    def get(self, key: str) -> ResourceClaim | None:
        """The claim as it will be once the watch has caught up."""
        return self._assumed.get(key) or self._known.get(key)

    def all(self) -> Iterator[ResourceClaim]:
        return (self._assumed.get(key, claim) for key, claim in self._known.items())

    def extended_claim_of(self, pod_uid: str) -> ResourceClaim | None:
        """The claim that was made for a pod's extended resources in an earlier attempt."""
        key = self._extended.get(pod_uid)
        return None if key is None else self.get(key)

    def put(self, claim: ResourceClaim) -> None:
        """Take over a claim from the watch, unless a newer version is assumed."""
        key = claim.key
        old = self._known.get(key)
        self._known[key] = claim
        assumed = self._assumed.get(key)
        if assumed is not None and (assumed.uid != claim.uid or not _is_newer(assumed, claim)):
            del self._assumed[key]
        if old is not None and old.uid != claim.uid:
            self._count(old.uid)
        self._index(claim)
        self._count(claim.uid, key)

    def remove(self, claim: ResourceClaim) -> None:
        key = claim.key
        self._known.pop(key, None)
        self._assumed.pop(key, None)
        for owner in claim.metadata.owner_references:
            if self._extended.get(owner.uid) == key:
                del self._extended[owner.uid]
        self._count(claim.uid)

    def assume(self, claim: ResourceClaim, *, is_new: bool = False) -> None:
        """Assume a claim from the answer of an API call, unless the watch has a newer version.

        `is_new`: the claim was just created, so the watch may not know it yet."""
        known = self._known.get(claim.key)
        if known is None:
            if not is_new:
                return
        elif known.uid != claim.uid or not _is_newer(claim, known):
            return
        self._assumed[claim.key] = claim
        self._count(claim.uid, claim.key)

    def assumed(self) -> list[ResourceClaim]:
        """Claims with a newer version than the watch has shown."""
        return list(self._assumed.values())

    def pending_allocation(self, uid: str) -> AllocationResult | None:
        """The allocation of a claim that is about to be written."""
        return self._in_flight.get(uid)

    def begin_allocation(self, claim: ResourceClaim, allocation: AllocationResult) -> None:
        """Count an allocation before it is written."""
        self._in_flight[claim.uid] = allocation
        self._sharers[claim.uid] = 1
        self._count(claim.uid, claim.key)

    def share_allocation(self, uid: str) -> None:
        """Count one more pod that shares an allocation in flight."""
        self._sharers[uid] = self.sharers(uid) + 1

    def sharers(self, uid: str) -> int:
        return self._sharers.get(uid, 0)

    def leave_allocation(self, uid: str, key: str) -> None:
        """A pod gives up an allocation in flight; it ends with the last pod that shares it."""
        left = self.sharers(uid) - 1
        if left > 0:
            self._sharers[uid] = left
        else:
            self.end_allocation(uid, key)

    def end_allocation(self, uid: str, key: str) -> None:
        """End an allocation in flight: it was written, or will not be."""
        self._sharers.pop(uid, None)
        if self._in_flight.pop(uid, None) is not None:
            self._count(uid, key)

    def _index(self, claim: ResourceClaim) -> None:
        if claim.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true":
            for owner in claim.metadata.owner_references:
                if owner.controller:
                    self._extended[owner.uid] = claim.key

    def _count(self, uid: str, key: str = "") -> None:
        """Bring the ledger up to date about one claim."""
        current = self.get(key) if key else None
        holds = current.status.allocation if current is not None and current.uid == uid else None
        now = holds or self._in_flight.get(uid)
        before = self._held.get(uid)
        if now is before or (now is not None and before is not None and now == before):
            return
        pools = set()
        if before is not None:
            pools |= self.ledger.release(self._held.pop(uid))
        if now is not None:
            pools |= self.ledger.take(now)
            self._held[uid] = now
        for pool in pools:
            self._inventory.pool_changed(pool)


def _is_newer(claim: ResourceClaim, than: ResourceClaim) -> bool:
    ours, theirs = claim.metadata.resource_version, than.metadata.resource_version
    number, other = read_int(ours), read_int(theirs)
    if number is None or other is None:
        return ours != theirs
    return number > other
