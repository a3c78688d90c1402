"""Intake: one reflector task per resource; each change is handed on once, in order.

Resources that a server need not have are followed in the first version that it serves. That all
are synced says that each has been listed, or is known not to be there.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Final

from moorage.api.pod import Pod
from moorage.clock import Clock
from moorage.gang.feature import DIALECTS
from moorage.watch.api_errors import ApiError, Forbidden, NotFound
from moorage.watch.api_resources import PODS, PRIORITY_CLASSES, RESOURCES, Resource
from moorage.watch.api_server import ApiServer
from moorage.watch.reflector import Change, Reflector

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler


ASK_AGAIN_SECONDS: Final = 30.0

Make = Callable[[Resource], Reflector]


async def optional_changes(
    server: ApiServer,
    resources: Iterable[Resource],
    make: Make,
    clock: Clock,
    failed: Callable[[Resource, ApiError], None],
) -> AsyncIterator[tuple[Resource, Change | None]]:
    """Every change of the first of these resources that is served; None, once, if none is yet."""
    versions, told = tuple(resources), False
    while (resource := await _served(server, versions, clock, failed)) is None:
        if not told:
            told = True
            yield versions[0], None
        await clock.sleep(ASK_AGAIN_SECONDS)
    async with aclosing(make(resource).changes()) as following:
        async for change in following:
            yield resource, change


async def _served(
    server: ApiServer,
    resources: Iterable[Resource],
    clock: Clock,
    failed: Callable[[Resource, ApiError], None],
) -> Resource | None:
    for resource in resources:
        while True:
            try:
                await server.list_page(resource, limit=1)
            except (NotFound, Forbidden):
                break
            except ApiError as error:
                failed(resource, error)
                await clock.sleep(max(1.0, error.retry_after))
            else:
                return resource
    return None


FOLLOWED = tuple(
    resource
    for plural, resource in RESOURCES.items()
    if plural not in {"events", "leases", "configmaps", "podgroups", "elasticquotas"}
)

OPTIONAL = (*DIALECTS, (RESOURCES["elasticquotas"],))
"""Resources that are followed where they are served, each in the first version that is."""


class Intake:
    """Hears of changes, and lets everyone know whom they concern."""

    def __init__(self, scheduler: "Scheduler", followed: Iterable[Resource]) -> None:
        self._desk = scheduler
        self.reflectors = {resource.plural: self._reflector(resource) for resource in followed}
        named = {reflector.resource for reflector in self.reflectors.values()}
        self._optional = [versions for versions in OPTIONAL if not set(versions) & named]
        self._unsynced = len(self.reflectors) + len(self._optional)

    @property
    def synced(self) -> bool:
        """Whether every resource has been listed once."""
        return self._unsynced == 0

    def pod(self, key: str) -> Pod | None:
        """A pod as it was last heard of, whether it runs, waits or has finished."""
        known = self.reflectors[PODS.plural].known.get(key)
        return known if isinstance(known, Pod) else None

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Begin to follow."""
        for plural, reflector in self.reflectors.items():
            tasks.create_task(self._follow(reflector), name=f"watch/{plural}")
        for versions in self._optional:
            name = f"watch/{versions[0].qualified}"
            tasks.create_task(self._follow_where_served(versions), name=name)

    async def _follow(self, reflector: Reflector) -> None:
        async for change in reflector.changes():
            self._hear(change, reflector.resource)
            self._unsynced -= change.type == "synced"

    async def _follow_where_served(self, versions: tuple[Resource, ...]) -> None:
        desk, known = self._desk, False
        following = optional_changes(
            desk.server, versions, self._reflector, desk.clock, self._failed
        )
        async for resource, change in following:
            if change is None:
                desk.ganging.served(resource, known=False)
            else:
                self._hear(change, resource)
            if not known and (change is None or change.type == "synced"):
                known = True
                self._unsynced -= 1
                desk.wake()

    def _hear(self, change: Change, resource: Resource) -> None:
        self._desk.deciding.later(partial(self._heard, change, resource))

    def _heard(self, change: Change, resource: Resource) -> None:
        desk = self._desk
        if change.type == "synced":
            desk.ganging.served(resource, known=True)
        else:
            try:
                desk.ganging.apply(desk.ledger.adjust(change), resource)
                desk.quoting.see(change)
            except Exception as error:  # one object that breaks us must not stop the others
                desk.observers.failed(_key(change), "", error)
            if change.old is None and isinstance(change.new, Pod):
                desk.preempting.guard.arrived(change.new)
            if resource == PRIORITY_CLASSES:
                desk.preempting.reconsider()
        desk.wake()

    def _reflector(self, resource: Resource) -> Reflector:
        return Reflector(
            self._desk.server,
            resource,
            clock=self._desk.clock,
            rng=self._desk.rng,
            on_error=partial(self._failed, resource),
        )

    def _failed(self, resource: Resource, error: ApiError, delay: float = 0.0) -> None:
        self._desk.observers.failed(f"watch/{resource.plural}", "", error)


def _key(change: Change) -> str:
    obj = change.new if change.new is not None else change.old
    return "" if obj is None else f"{type(obj).__name__} {obj.key}"
