"""Fairness between tenants: their dominant shares, and Jain's index of them over time."""

from collections.abc import Mapping


def dominant_share(held: Mapping[str, float], capacity: Mapping[str, float]) -> float:
    """The largest share of the cluster's capacity that is held, over all resources."""
    return max(
        (amount / capacity[name] for name, amount in held.items() if capacity.get(name)),
        default=0.0,
    )


class _Tenant:
    __slots__ = ("area", "held", "pods", "share", "since")

    def __init__(self, now: float) -> None:
        self.pods = 0
        self.held: dict[str, float] = {}
        self.share = self.area = 0.0
        self.since = now


class Fairness:
    """The resources that tenants hold, while they have pods waiting or running.

    At each moment, Jain's index covers the tenants that have any pods. Moments where nobody holds
    anything do not count.
    """

    def __init__(self) -> None:
        self._tenants: dict[str, _Tenant] = {}
        self._capacity: Mapping[str, float] = {}
        self._active = 0
        self._sum = self._squares = 0.0
        self._since = self._area = self._seconds = 0.0

    def begin(self, now: float) -> None:
        """Start counting at `now`."""
        self._since = now

    def resized(self, now: float, capacity: Mapping[str, float]) -> None:
        """The cluster's capacity has changed."""
        self._advance(now)
        self._capacity = capacity
        for tenant in self._tenants.values():
            self._set(now, tenant, dominant_share(tenant.held, capacity))

    def pod_came(self, now: float, name: str) -> None:
        """A tenant has one more waiting pod."""
        self._advance(now)
        tenant = self._tenants.get(name)
        if tenant is None:
            tenant = self._tenants[name] = _Tenant(now)
        self._active += not tenant.pods
        tenant.pods += 1

    def pod_left(self, now: float, name: str) -> None:
        """A tenant has one pod less; its resources were returned before."""
        self._advance(now)
        tenant = self._tenants[name]
        tenant.pods -= 1
        self._active -= not tenant.pods

    def shift(self, now: float, name: str, requests: Mapping[str, float], sign: int) -> None:
        """A pod of a tenant takes (1) or returns (-1) the resources it requests."""
        self._advance(now)
        tenant = self._tenants[name]
        held = tenant.held
        for resource, amount in requests.items():
            held[resource] = held.get(resource, 0.0) + sign * amount
        self._set(now, tenant, dominant_share(held, self._capacity))

    def index(self, now: float) -> float:
        """The mean of Jain's index over time."""
        self._advance(now)
        return self._area / self._seconds if self._seconds else self._jain()

    def shares(self, start: float, now: float) -> dict[str, float]:
        """The mean dominant share of each tenant over time."""
        length = now - start
        found = {}
        for name in sorted(self._tenants):
            tenant = self._tenants[name]
            area = tenant.area + tenant.share * (now - max(tenant.since, start))
            found[name] = area / length if length > 0 else tenant.share
        return found

    def _set(self, now: float, tenant: _Tenant, share: float) -> None:
        tenant.area += tenant.share * (now - tenant.since)
        tenant.since = now
        self._sum += share - tenant.share
        self._squares += share * share - tenant.share * tenant.share
        tenant.share = share

    def _jain(self) -> float:
        if self._squares <= 1e-18 or not self._active:
            return 1.0
        return min(1.0, self._sum * self._sum / (self._active * self._squares))

    def _advance(self, now: float) -> None:
        passed = now - self._since
        if passed <= 0:
            return
        self._since = now
        if self._active and self._squares > 1e-18:
            self._area += self._jain() * passed
            self._seconds += passed
