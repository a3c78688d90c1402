"""ElasticQuotas: writes to their status what namespaces use, and reports contradictory ones."""

from typing import Final

from moorage.api import resource_amounts
from moorage.api.podgroup import ElasticQuota
from moorage.bind.event_recorder import EventRecorder
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.observe.observers import Observers
from moorage.scheduler.alarms import Alarms
from moorage.scheduler.feature import Feature
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.tasks import Start
from moorage.tenancy import quotas
from moorage.tenancy.capacity_scheduling import CapacityScheduling
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_resources import RESOURCES, Resource
from moorage.watch.api_server import ApiServer
from moorage.watch.reflector import Change

QUOTAS: Final = RESOURCES["elasticquotas"]
WRITE_SECONDS: Final = 5.0
"""The least time between two writes of a quota's usage."""


class ElasticQuotas(Feature):
    """Follows quotas, while any profile has CapacityScheduling; `enabled` tells whether."""

    hears = (QUOTAS.plural,)
    optional = ((QUOTAS,),)

    def __init__(
        self,
        cache: Cache,
        clock: Clock,
        server: ApiServer,
        profiles: Profiles,
        recorder: EventRecorder,
        observers: Observers,
        start: Start,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._server = server
        self._profiles = profiles
        self._recorder = recorder
        self._observers = observers
        self._start = start
        self._alarms = Alarms()
        self._said: dict[str, str] = {}
        self.enabled = False
        self.reconfigured()

    def needs_optional(self) -> bool:
        """True while enabled: a pod placed before the quotas are known might exceed one."""
        return self.enabled

    def reconfigured(self) -> None:
        """Profiles changed: quotas may begin or cease to count."""
        had = self.enabled
        self.enabled = any(
            isinstance(plugin, CapacityScheduling)
            for profile in self._profiles
            for plugin in profile.plugins.values()
        )
        for quota in self._cache.objects.all(ElasticQuota):
            if self.enabled and not had:
                self._alarms.set(quota.key, self._clock.now())
            elif not self.enabled:
                self._alarms.clear(quota.key)

    def after(self, change: Change, resource: Resource) -> None:
        """A quota was written: review it at the next tick."""
        if not self.enabled:
            return
        if isinstance(change.new, ElasticQuota):
            self._alarms.set(change.new.key, self._clock.now())
        elif isinstance(change.old, ElasticQuota):
            self._alarms.clear(change.old.key)
            self._said.pop(change.old.uid, None)

    def tick(self, now: float) -> None:
        """Review the quotas that are due, and again `WRITE_SECONDS` later."""
        for key in self._alarms.due(now):
            namespace, _, name = key.partition("/")
            quota = self._cache.objects.get(ElasticQuota, name, namespace)
            if quota is not None:
                self._review(quota)
                self._alarms.set(key, now + WRITE_SECONDS)

    def next_due(self) -> float | None:
        return self._alarms.next()

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
        first = quotas.books_of(self._cache).quotas.get(quota.namespace)
        return first is not None and first.key != quota.key

    def _say(self, quota: ElasticQuota, note: str) -> None:
        if self._said.get(quota.uid) != note:
            self._said[quota.uid] = note
            self._recorder.record(
                self._profiles.controller,
                quota,
                "Warning",
                "InvalidElasticQuota",
                "Scheduling",
                note,
            )

    def _write_used(self, quota: ElasticQuota) -> None:
        table, usage = self._cache.table, quotas.books_of(self._cache).usage
        usage.catch_up(table)
        used = usage.of(quota.namespace)
        names = sorted({*quota.spec.min, *quota.spec.max})
        indexes = {name: table.resources.find(name) for name in names}
        text = {
            name: resource_amounts.format_amount(name, 0 if index is None else used[index])
            for name, index in indexes.items()
        }
        if text != quota.status.used:
            gone = dict.fromkeys(quota.status.used.keys() - text.keys())
            self._start(self._patch(quota, {**gone, **text}), f"status/{quota.key}")

    async def _patch(self, quota: ElasticQuota, used: dict[str, str | None]) -> None:
        """Write what is used; None takes a resource out that the quota no longer names."""
        server, patch = self._server, {"status": {"used": used}}
        try:
            await server.patch(QUOTAS, quota.namespace, quota.name, patch, subresource="status")
        except NotFound:
            return
        except ApiError as error:
            self._observers.failed(quota.key, "", error)
