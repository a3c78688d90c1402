"""`MemoryCluster`: the `ApiServer` protocol over the in-memory store, and ways to load it."""

import random
from collections.abc import AsyncGenerator, Iterable, Mapping

from moorage.api.meta import KubeObject
from moorage.clock import Clock, SystemClock
from moorage.memory import (
    creation,
    deletion,
    list_watch,
    manifest_loader,
    pod_subresources,
    priority_admission,
    updates,
)
from moorage.memory.admission_plugins import AdmissionPlugins
from moorage.memory.list_watch import Lister
from moorage.memory.object_registry import ClusterOptions, ObjectRegistry, Stamps, deep_copy
from moorage.memory.pod_admission import PodSpecAdmission
from moorage.memory.shared_specs import SharedSpecs
from moorage.memory.stored_objects import Entry
from moorage.memory.validation import object_validation
from moorage.memory.validation.object_validation import ObjectValidation
from moorage.memory.versioned_store import Store, Wants
from moorage.watch.api_resources import NAMESPACES, PODS, PRIORITY_CLASSES, Resource
from moorage.watch.api_server import Page, PatchType, Raw, WatchEvent


class MemoryCluster:
    """A cluster held in memory.

    The async methods are those of `ApiServer`. They copy objects that go in or out, as a network
    connection would. `apply` and `load` take manifests. `add` and `read` copy nothing, for speed:
    the caller must not change what it passes in or gets back.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        options: ClusterOptions | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        options = options or ClusterOptions()
        stamps = Stamps(self.clock, rng or random.Random())
        store = Store(options.history)
        specs = PodSpecAdmission(store.table(PRIORITY_CLASSES))
        plugins = AdmissionPlugins(store)
        self.registry = ObjectRegistry(store, stamps, specs, ObjectValidation(), plugins, options)
        self._specs = SharedSpecs()
        self.warnings: list[str] = []
        """Complaints about manifests that were accepted nevertheless."""
        self._lister = Lister(self.registry.store, options.snapshots)
        creation.create_object(self.registry, NAMESPACES, {"metadata": {"name": "default"}})
        for name in priority_admission.SYSTEM_CLASSES:
            creation.create_object(
                self.registry, PRIORITY_CLASSES, priority_admission.system_class(name)
            )

    @property
    def resource_version(self) -> int:
        """The version of the last write."""
        return self.registry.store.version

    def add(self, resource: Resource, object: Raw) -> KubeObject:
        """Create an object as `create` does."""
        return creation.create_object(self.registry, resource, object).view

    def apply(self, object: Raw) -> KubeObject:
        """Store an object as written, status included; it replaces one of the same name."""
        self.keep_uids([object])
        return self._apply(manifest_loader.resource_of(object), object)

    def load(self, documents: Iterable[Raw]) -> list[KubeObject]:
        """Apply the objects of manifests in load order; lists are expanded to their items."""
        ordered = manifest_loader.in_load_order(documents)
        self.keep_uids(raw for _, raw in ordered)
        return [self._apply(resource, raw) for resource, raw in ordered]

    def keep_uids(self, objects: Iterable[Raw]) -> None:
        """Reserve the uids of these objects: no object created from now on gets one of them."""
        for each in objects:
            metadata = each.get("metadata")
            uid = metadata.get("uid") if isinstance(metadata, dict) else None
            if isinstance(uid, str):
                self.registry.stamps.keep_uid(uid)

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
        """Objects of all namespaces in the order of their keys, at most `limit` (0: all)."""
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

        Only a watch with a timeout ends and gets bookmarks. A watch without one never reads the
        clock.
        """
        every = self.registry.options.bookmark_seconds
        alarm = (
            list_watch.WatchTimer(self.clock, timeout_seconds, every, bookmarks)
            if timeout_seconds
            else None
        )
        return list_watch.watch_changes(self.registry.store, resource, resource_version, alarm)

    def follow(
        self, resource: Resource, wants: Wants, resource_version: str = ""
    ) -> AsyncGenerator[WatchEvent, None]:
        """The changes after that version that `wants` accepts; others do not wake the reader."""
        store = self.registry.store
        return list_watch.watch_changes(store, resource, resource_version, None, wants)

    async def get(self, resource: Resource, namespace: str, name: str) -> Raw:
        """The object as it is now."""
        return deep_copy(self.read(resource, namespace, name))

    async def post(self, resource: Resource, object: Raw) -> None:
        """Create the object."""
        self._create(resource, object)

    async def create(self, resource: Resource, object: Raw) -> Raw:
        """Create the object in the namespace of its metadata; returns the object as stored."""
        return deep_copy(self._create(resource, object).raw)

    def _create(self, resource: Resource, object: Raw) -> Entry:
        if self.registry.options.validate:
            object_validation.warnings_about(resource, object)
        return creation.create_object(self.registry, resource, deep_copy(object))

    async def update(self, resource: Resource, object: Raw, *, subresource: str = "") -> Raw:
        """Replace the object."""
        entry = updates.update_object(self.registry, resource, deep_copy(object), subresource)
        return deep_copy(entry.raw)

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
        change = deep_copy(patch)
        entry = updates.patch_object(self.registry, *where, change, subresource, patch_type)
        return deep_copy(entry.raw)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace_period_seconds: int | None = None,
    ) -> None:
        """Delete the object, or mark it as terminating."""
        deletion.delete_object(self.registry, resource, namespace, name, uid, grace_period_seconds)

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Assign the pod to the node, and add annotations to it."""
        pod_subresources.bind_pod(self.registry, namespace, name, uid, node, annotations or {})

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        """Change the pod's status by a strategic merge patch, if the pod still has that uid."""
        change = deep_copy({**patch, "metadata": {"uid": uid}} if uid else patch)
        updates.patch_object(self.registry, PODS, namespace, name, change, "status", "strategic")

    async def evict(
        self, namespace: str, name: str, *, uid: str = "", grace_period_seconds: int | None = None
    ) -> None:
        """Delete the pod if its disruption budget allows it."""
        pod_subresources.evict_pod(self.registry, namespace, name, uid, grace_period_seconds)

    def _apply(self, resource: Resource, raw: Raw) -> KubeObject:
        spec, seen = raw.get("spec"), False
        copy = deep_copy({field: value for field, value in raw.items() if field != "spec"})
        if isinstance(spec, dict):
            copy["spec"], seen = (
                self._specs.of(spec) if resource == PODS else (deep_copy(spec), False)
            )
        elif "spec" in raw:
            copy["spec"] = spec
        if self.registry.options.validate and not manifest_loader.is_from_server(raw):
            about = {**copy, "spec": {}} if seen else copy
            self.warnings.extend(object_validation.warnings_about(resource, about))
        return manifest_loader.restore_object(self.registry, resource, copy).view
