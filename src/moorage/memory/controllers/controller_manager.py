"""Runs controllers on the objects that changed.

Every write to the store is recorded. `settle` calls the controllers that a write concerns, until no
write is left. `run` does so for ever, whenever something changes.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from moorage.memory import deletion, stored_objects
from moorage.memory.controllers.owned_pods import OwnedPods
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.versioned_store import Record, Table
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Raw


class Controller(Protocol):
    """Moves actual objects towards the state that their owners ask for."""

    @property
    def watches(self) -> tuple[Resource, ...]:
        """The resources whose changes the controller needs to see."""
        ...

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        """The keys of the controller's objects that a change concerns."""
        ...

    def reconcile(self, key: str) -> None:
        """Reconcile one object, which may have been deleted."""
        ...


class ControllerClient:
    """What controllers share: the cluster, pods by owner, and counts of refused creations."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.cluster = cluster
        self.store = cluster.registry.store
        self.pods = OwnedPods(self.store.table(PODS))
        self.refused: Counter[tuple[str, str]] = Counter()
        """How often the API server refused to create something, by owner and reason."""

    def find(self, resource: Resource, key: str) -> Raw | None:
        """The object as it is stored, or None if it does not exist."""
        entry = self.store.table(resource).entries.get(key)
        return None if entry is None else entry.raw

    def create(self, resource: Resource, raw: Raw, owner: str) -> bool:
        """Create an object; a refusal is counted, and tried again when the owner changes."""
        try:
            self.cluster.add(resource, raw)
        except ApiError as error:
            self.refused[owner, str(error)] += 1
            return False
        return True

    def delete(self, resource: Resource, raw: Raw) -> None:
        """Delete an object, or mark it as terminating."""
        metadata = raw["metadata"]
        where = (resource, metadata.get("namespace", ""), metadata["name"], metadata["uid"])
        deletion.delete_object(self.cluster.registry, *where, None)


class ControllerManager:
    """Runs a set of controllers on one cluster."""

    def __init__(self, client: ControllerClient, controllers: Iterable[Controller]) -> None:
        self._client = client
        self._controllers = tuple(
            (controller, frozenset(resource.plural for resource in controller.watches))
            for controller in controllers
        )
        self._watched = {plural for _, watched in self._controllers for plural in watched}
        self._notes: list[tuple[Resource, Record]] = []
        self._something = asyncio.Event()
        store = client.cluster.registry.store
        for plural in sorted(self._watched):
            table = next(t for t in store.tables() if t.resource.plural == plural)
            self._notes.extend(
                (table.resource, Record("ADDED", entry)) for entry in table.in_order()
            )
        store.listen(self._note)

    def settle(self) -> None:
        """Reconcile until no change is left."""
        while self._notes:
            notes, self._notes = self._notes, []
            changed = {resource.plural for resource, _ in notes}
            for controller, watched in self._controllers:
                if not watched.isdisjoint(changed):
                    for key in _keys(controller, watched, notes):
                        self._reconcile(controller, key)

    async def run(self) -> None:
        """Settle whenever something changes, for ever."""
        while True:
            self.settle()
            self._something.clear()
            await self._something.wait()

    def _reconcile(self, controller: Controller, key: str) -> None:
        try:
            controller.reconcile(key)
        except stored_objects.MALFORMED as error:
            what = f"{controller.watches[0].kind} {key}"
            said = str(error) if isinstance(error, ApiError) else "an API server would refuse it"
            self._client.refused[what, f"it is malformed: {said}"] += 1

    def _note(self, table: Table, record: Record) -> None:
        if table.resource == PODS:
            self._client.pods.apply(record)
        if table.resource.plural in self._watched:
            self._notes.append((table.resource, record))
            self._something.set()


def _keys(
    controller: Controller, watched: frozenset[str], notes: list[tuple[Resource, Record]]
) -> dict[str, None]:
    """The keys of a controller's objects that the changes concern, each once."""
    return {
        key: None
        for resource, record in notes
        if resource.plural in watched
        for key in controller.concerned(resource, record)
    }
