"""Quotas: those that make no sense are told, and all are told what their namespace uses."""

from collections import Counter
from typing import TYPE_CHECKING, Final

from moorage.api import resource_amounts
from moorage.api.podgroup import ElasticQuota
from moorage.scheduler.alarms import Alarms
from moorage.tenancy import quotas
from moorage.tenancy.capacity_scheduling import CapacityScheduling
from moorage.tenancy.usage import TenantUsage
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_resources import RESOURCES
from moorage.watch.reflector import Change

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler

QUOTAS: Final = RESOURCES["elasticquotas"]
WRITE_SECONDS: Final = 5.0
"""How often what is used is written, at most."""


class ElasticQuotas:
    """Follows quotas, where any profile has CapacityScheduling."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._desk = scheduler
        self.alarms = Alarms()
        self._usage = TenantUsage(lambda pod: pod.namespace)
        self._said: dict[str, str] = {}
        self._enabled = False
        self.rejoin()

    def rejoin(self) -> None:
        """Other profiles are in force: quotas may begin to count, or cease to."""
        desk, had = self._desk, self._enabled
        self._enabled = any(
            isinstance(plugin, CapacityScheduling)
            for profile in desk.lineup
            for plugin in profile.plugins.values()
        )
        for quota in desk.cache.objects.all(ElasticQuota):
            if self._enabled and not had:
                self.alarms.set(quota.key, desk.clock.now())
            elif not self._enabled:
                self.alarms.clear(quota.key)

    def see(self, change: Change) -> None:
        """A quota was written; what is to be said of it is said when we may."""
        if not self._enabled:
            return
        if isinstance(change.new, ElasticQuota):
            self.alarms.set(change.new.key, self._desk.clock.now())
        elif isinstance(change.old, ElasticQuota):
            self.alarms.clear(change.old.key)
            self._said.pop(change.old.uid, None)

    def tick(self, now: float) -> None:
        """Look at quotas that are due, and again in a while."""
        for key in self.alarms.due(now):
            namespace, _, name = key.partition("/")
            quota = self._desk.cache.objects.get(ElasticQuota, name, namespace)
            if quota is not None:
                self._review(quota)
                self.alarms.set(key, now + WRITE_SECONDS)

    def _review(self, quota: ElasticQuota) -> None:
        wrong = "; ".join(quotas.problems(quota))
        if wrong:
            self._say(quota, f"{wrong}: the quota is ignored")
        elif self._is_second(quota):
            self._say(quota, "the namespace has another ElasticQuota: this one is ignored")
        else:
            self._said.pop(quota.uid, None)
            self._write_used(quota)

    def _is_second(self, quota: ElasticQuota) -> bool:
        others = self._desk.cache.objects.all(ElasticQuota, quota.namespace)
        return any(other.key < quota.key and not quotas.problems(other) for other in others)

    def _say(self, quota: ElasticQuota, note: str) -> None:
        if self._said.get(quota.uid) != note:
            self._said[quota.uid] = note
            controller = next(iter(self._desk.profiles))
            self._desk.recorder.record(
                controller, quota, "Warning", "InvalidElasticQuota", "Scheduling", note
            )

    def _write_used(self, quota: ElasticQuota) -> None:
        table = self._desk.cache.table
        self._usage.catch_up(table)
        used: Counter[int] = self._usage.of(quota.namespace)
        names = sorted({*quota.spec.min, *quota.spec.max})
        indexes = {name: table.resources.find(name) for name in names}
        text = {
            name: resource_amounts.format_amount(name, 0 if index is None else used[index])
            for name, index in indexes.items()
        }
        if text != quota.status.used:
            self._desk.start(self._patch(quota, text), f"status/{quota.key}")

    async def _patch(self, quota: ElasticQuota, used: dict[str, str]) -> None:
        server, patch = self._desk.server, {"status": {"used": used}}
        try:
            await server.patch(QUOTAS, quota.namespace, quota.name, patch, subresource="status")
        except NotFound:
            return
        except ApiError as error:
            self._desk.observers.failed(quota.key, "", error)
