"""Runs controllers on what changed, at once or for ever.

Every write to the store is noted. `settle` hands the notes to whom they concern, until nobody has
anything left to do; `run` does so whenever something changed.
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
    """Brings what there is closer to what is asked."""

    @property
    def watches(self) -> tuple[Resource, ...]:
        """The resources whose changes concern it."""
        ...

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        """The keys of its objects that a change concerns."""
        ...

    def reconcile(self, key: str) -> None:
        """Do what is to be done for one object, which may be gone."""
        ...


class ControllerClient:
    """What controllers work with: the cluster, pods by owner, and a list of what was refused."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.cluster = cluster
        self.store = cluster.registry.store
        self.pods = OwnedPods(self.store.table(PODS))
        self.refused: Counter[tuple[str, str]] = Counter()
        """How often the API server refused to create something, by owner and reason."""

    def find(self, resource: Resource, key: str) -> Raw | None:
        """An object as it is, or None."""
        entry = self.store.table(resource).entries.get(key)
        return None if entry is None else entry.raw

    def create(self, resource: Resource, raw: Raw, owner: str) -> bool:
        """Create an object; a refusal is noted, and tried again when its owner changes."""
        try:
            self.cluster.add(resource, raw)
        except ApiError as error:
            self.refused[owner, str(error)] += 1
            return False
        return True

    def delete(self, resource: Resource, raw: Raw) -> None:
        """Delete an object, or begin to."""
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
        """Do all there is to do."""
        while self._notes:
            notes, self._notes = self._notes, []
            changed = {resource.plural for resource, _ in notes}
            for controller, watched in self._controllers:
                if not watched.isdisjoint(changed):
                    for key in _keys(controller, watched, notes):
                        self._reconcile(controller, key)

    async def run(self) -> None:
        """Do what there is to do whenever something changes."""
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
    """The objects of a controller that changes concern, each once."""
    return {
        key: None
        for resource, record in notes
        if resource.plural in watched
        for key in controller.concerned(resource, record)
    }
