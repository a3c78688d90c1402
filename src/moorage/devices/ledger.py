"""Which devices, shares of devices and capacities are taken by claims."""

from collections import Counter
from typing import TypeVar

from moorage.api.resource_claims import AllocationResult
from moorage.devices.inventory import DeviceID, PoolID, nano

K = TypeVar("K")


class Ledger:
    """What all allocations together hold; devices for admin access are not counted."""

    def __init__(self) -> None:
        self.dedicated: Counter[DeviceID] = Counter()
        self.shares: dict[DeviceID, Counter[str]] = {}
        self.capacity: dict[DeviceID, dict[str, int]] = {}

    def take(self, allocation: AllocationResult) -> set[PoolID]:
        """Count an allocation; the pools of its devices."""
        return self._change(allocation, 1)

    def release(self, allocation: AllocationResult) -> set[PoolID]:
        return self._change(allocation, -1)

    def is_allocated(self, device: DeviceID) -> bool:
        return device in self.dedicated or device in self.shares or device in self.capacity

    def is_shared_out(self, device: DeviceID) -> bool:
        """Whether parts of a device are taken."""
        return device in self.shares or device in self.capacity

    def _change(self, allocation: AllocationResult, sign: int) -> set[PoolID]:
        pools: set[PoolID] = set()
        for result in allocation.devices.results:
            if result.admin_access:
                continue
            device = DeviceID(result.driver, result.pool, result.device)
            pools.add(PoolID(result.driver, result.pool))
            if result.share_id is None:
                _count(self.dedicated, device, sign)
            else:
                shares = self.shares.setdefault(device, Counter())
                _count(shares, result.share_id, sign)
                if not shares:
                    del self.shares[device]
                self._consume(device, result.consumed_capacity, sign)
        return pools

    def _consume(self, device: DeviceID, amounts: dict[str, str], sign: int) -> None:
        if not amounts:
            return
        held = self.capacity.setdefault(device, {})
        for name, text in amounts.items():
            held[name] = held.get(name, 0) + sign * nano(text)
        if not any(held.values()):
            del self.capacity[device]


def _count(counter: Counter[K], key: K, sign: int) -> None:
    counter[key] += sign
    if counter[key] <= 0:
        del counter[key]
