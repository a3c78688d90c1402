"""The embedded cluster as its users see it: an `ApiServer`, and a back door to load it."""

import random
from collections.abc import AsyncGenerator, Iterable

from moorage.api.meta import KubeObject
from moorage.clock import Clock, SystemClock
from moorage.memory import (
    binding,
    creating,
    deleting,
    evicting,
    manifests,
    priority,
    restoring,
    updating,
    watching,
)
from moorage.memory.paging import Lister
from moorage.memory.registry import Options, Registry, isolated
from moorage.memory.specs import Specs
from moorage.memory.stamps import Stamps
from moorage.memory.store import Store
from moorage.watch.resources import NAMESPACES, PODS, PRIORITY_CLASSES, Resource
from moorage.watch.surface import Page, PatchType, Raw, WatchEvent


class MemoryCluster:
    """A cluster held in memory.

    The async methods are those of `ApiServer`: objects that go in or out are copied, as if they had
    travelled over the wire. `apply` and `load` take manifests. `add` and `read` copy nothing, for
    speed: what goes through them must not be changed afterwards.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        options: Options | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        options = options or Options()
        stamps = Stamps(self.clock, rng or random.Random())
        store = Store(options.history)
        specs = Specs(store.table(PRIORITY_CLASSES))
        self.registry = Registry(store, stamps, specs, options)
        self._lister = Lister(self.registry.store, options.snapshots)
        creating.create(self.registry, NAMESPACES, {"metadata": {"name": "default"}})
        for name in priority.SYSTEM_CLASSES:
            creating.create(self.registry, PRIORITY_CLASSES, priority.system_class(name))

    @property
    def resource_version(self) -> int:
        """The version of the last write."""
        return self.registry.store.version

    def add(self, resource: Resource, object: Raw) -> KubeObject:
        """Create an object as `create` does."""
        return creating.create(self.registry, resource, object).view

    def apply(self, object: Raw) -> KubeObject:
        """Put an object in as it is written, status and all, in place of one of the same name."""
        return self._apply(manifests.resource_of(object), object)

    def load(self, documents: Iterable[Raw]) -> list[KubeObject]:
        """Apply the objects of manifests, lists taken apart, each kind after those it refers to."""
        return [self._apply(resource, raw) for resource, raw in manifests.in_order(documents)]

    def read(self, resource: Resource, namespace: str, name: str) -> Raw:
        """The object as it is now."""
        return self.registry.find(resource, namespace, name)[1].raw

    def objects(self, resource: Resource) -> list[KubeObject]:
        """All objects of a resource, in the order of their keys."""
        return [entry.view for entry in self.registry.store.table(resource).in_order()]

    def validate(self) -> None:
        """Raise AssertionError if what is stored contradicts itself."""
        self.registry.store.validate()

    async def list_page(
        self,
        resource: Resource,
        *,
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
    ) -> Page:
        """Objects of all namespaces in order of their keys, at most `limit` (0: all)."""
        return self._lister.page(resource, limit, continue_token, resource_version)

    def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        timeout_seconds: float | None = None,
        bookmarks: bool = True,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Every change after that version, in order.

        Only a watch with a time limit ends and is sent bookmarks; any other never looks at the
        clock.
        """
        every = self.registry.options.bookmark_seconds
        alarm = (
            watching.Alarm(self.clock, timeout_seconds, every, bookmarks)
            if timeout_seconds
            else None
        )
        return watching.watch(self.registry.store, resource, resource_version, alarm)

    async def get(self, resource: Resource, namespace: str, name: str) -> Raw:
        """The object as it is now."""
        return isolated(self.read(resource, namespace, name))

    async def post(self, resource: Resource, object: Raw) -> None:
        """Create the object."""
        await self.create(resource, object)

    async def create(self, resource: Resource, object: Raw) -> Raw:
        """Create the object, in the namespace its metadata names; the answer is as stored."""
        return isolated(creating.create(self.registry, resource, isolated(object)).raw)

    async def update(self, resource: Resource, object: Raw, *, subresource: str = "") -> Raw:
        """Replace the object."""
        entry = updating.update(self.registry, resource, isolated(object), subresource)
        return isolated(entry.raw)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Raw,
        *,
        subresource: str = "",
        patch_type: PatchType = "merge",
    ) -> Raw:
        """Change the object by a JSON merge patch or a strategic merge patch."""
        where = (resource, namespace, name)
        change = isolated(patch)
        entry = updating.patch(self.registry, *where, change, subresource, patch_type)
        return isolated(entry.raw)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace_period_seconds: int | None = None,
    ) -> None:
        """Delete the object, or begin to."""
        deleting.delete(self.registry, resource, namespace, name, uid, grace_period_seconds)

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Assign the pod to the node."""
        binding.bind(self.registry, namespace, name, uid, node)

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        """Change the pod's status by a strategic merge patch, if it is still that pod."""
        change = isolated({**patch, "metadata": {"uid": uid}} if uid else patch)
        updating.patch(self.registry, PODS, namespace, name, change, "status", "strategic")

    async def evict(
        self, namespace: str, name: str, *, uid: str = "", grace_period_seconds: int | None = None
    ) -> None:
        """Delete the pod if its disruption budget allows."""
        evicting.evict(self.registry, namespace, name, uid, grace_period_seconds)

    def _apply(self, resource: Resource, raw: Raw) -> KubeObject:
        return restoring.restore(self.registry, resource, isolated(raw)).view
