"""The API server of a simulation in virtual time: objects as structs, no copies, no wire.

It keeps the resources that the scheduler reads, and forgets deleted objects. Thousands of pods come
and go per second of real time, so there is no admission and no history: from a list on, every
change is kept for the watch that follows it. `KubeletHooks` is called when a pod is bound or
deleted.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from moorage.api.decode import KINDS, decode_object
from moorage.api.meta import KubeObject, annotated
from moorage.api.pod import Pod, PodCondition
from moorage.bind.event_recorder import EventRecorder
from moorage.clock import Clock
from moorage.watch.api_errors import Conflict, NotFound
from moorage.watch.api_resources import EVENTS, PODS, RESOURCES, Resource
from moorage.watch.api_server import EventType, Page, PatchType, Raw, WatchEvent


class KubeletHooks(Protocol):
    """What a server calls for the pods on nodes."""

    def bound(self, pod: Pod) -> None:
        """A pod was assigned to its node."""

    def deleted(self, pod: Pod, grace_period_seconds: int | None) -> None:
        """A pod is to be deleted; the hook must remove it when it has stopped."""


class SilentRecorder(EventRecorder):
    """Writes no events, because nobody reads those of a simulated cluster."""

    def record(self, *args: Any, **more: Any) -> None:
        """Do nothing."""


class _Box:
    """Changes that one watcher has yet to read."""

    __slots__ = ("events", "reader")

    def __init__(self) -> None:
        self.events: deque[WatchEvent] = deque()
        self.reader: asyncio.Future[None] | None = None

    def put(self, event: WatchEvent) -> None:
        self.events.append(event)
        if self.reader is not None and not self.reader.done():
            self.reader.set_result(None)

    async def changed(self) -> None:
        if not self.events:
            self.reader = asyncio.get_running_loop().create_future()
            await self.reader


class SimulatedServer:
    """An `ApiServer` that holds structs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._version = 1
        self._tables: dict[str, dict[str, KubeObject]] = {plural: {} for plural in RESOURCES}
        self._boxes: dict[str, list[_Box]] = {plural: [] for plural in RESOURCES}
        self._opened: dict[tuple[str, str], list[_Box]] = {}
        self.kubelet: KubeletHooks | None = None

    def pod(self, key: str) -> Pod | None:
        """A pod as it is now."""
        found = self._tables["pods"].get(key)
        return found if isinstance(found, Pod) else None

    def objects(self, resource: Resource) -> Iterable[KubeObject]:
        """Every object of a resource."""
        return self._tables[resource.plural].values()

    def put(self, resource: Resource, found: KubeObject) -> KubeObject:
        """Create an object, or replace it by another version."""
        table = self._tables[resource.plural]
        type_: EventType = "MODIFIED" if found.key in table else "ADDED"
        self._version += 1
        version = str(self._version)
        metadata = msgspec.structs.replace(found.metadata, resource_version=version)
        stored = msgspec.structs.replace(found, metadata=metadata)
        table[stored.key] = stored
        self._publish(resource, WatchEvent(type_, stored, version))
        return stored

    def remove(self, resource: Resource, key: str) -> None:
        """Delete an object, whatever it is doing."""
        gone = self._tables[resource.plural].pop(key, None)
        if gone is not None:
            self._version += 1
            self._publish(resource, WatchEvent("DELETED", gone, str(self._version)))

    async def list_page(
        self,
        resource: Resource,
        *,
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
    ) -> Page:
        """All objects, in one page; later changes are kept for the watch from this version."""
        table, version = self._table(resource), str(self._version)
        self._opened.setdefault((resource.qualified, version), []).append(self._open(resource))
        return Page(tuple(table[key] for key in sorted(table)), version)

    async def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        timeout_seconds: float | None = None,
        bookmarks: bool = True,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Every change since the list of that version; it never ends."""
        kept = self._opened.get((resource.qualified, resource_version))
        box = kept.pop() if kept else self._open(resource)
        while True:
            while box.events:
                yield box.events.popleft()
            await box.changed()

    async def get(self, resource: Resource, namespace: str, name: str) -> Raw:
        """The object as it is now."""
        return _raw(self._find(resource, namespace, name))

    async def create(self, resource: Resource, object: Raw) -> Raw:
        """Create the object; events are not kept."""
        if resource.plural == EVENTS.plural:
            return object
        return _raw(self.put(resource, decode_object(object, resource.kind)))

    async def post(self, resource: Resource, object: Raw) -> None:
        """Create the object."""
        await self.create(resource, object)

    async def update(self, resource: Resource, object: Raw, *, subresource: str = "") -> Raw:
        """Replace the object."""
        return await self.create(resource, object)

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
        """Change the object by a merge patch."""
        if resource.plural == EVENTS.plural:
            return patch
        if resource.plural == PODS.plural:
            await self.patch_pod_status(namespace, name, patch, "")
            return {}
        found = self._find(resource, namespace, name)
        merged = _merge(_raw(found), patch)
        return _raw(self.put(resource, msgspec.convert(merged, KINDS[resource.kind].struct)))

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace_period_seconds: int | None = None,
    ) -> None:
        """Delete the object; a pod on a node first has to stop."""
        found = self._find(resource, namespace, name, uid)
        if isinstance(found, Pod) and self.kubelet is not None:
            self.kubelet.deleted(found, grace_period_seconds)
        else:
            self.remove(resource, found.key)

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Assign the pod to the node."""
        found = self._pod(namespace, name, uid)
        if found.is_terminating:
            raise Conflict(f"pod {name} is being deleted, cannot be assigned to a host")
        if found.spec.node_name:
            raise Conflict(f'pod {name} is already assigned to node "{found.spec.node_name}"')
        status = msgspec.structs.replace(found.status, nominated_node_name="", conditions=())
        spec = msgspec.structs.replace(found.spec, node_name=node)
        metadata = annotated(found.metadata, annotations)
        changed = msgspec.structs.replace(found, metadata=metadata, spec=spec, status=status)
        bound = self.put(PODS, changed)
        if self.kubelet is not None and isinstance(bound, Pod):
            self.kubelet.bound(bound)

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        """Change nomination and conditions of the pod, if it is still that pod."""
        found, change = self._pod(namespace, name, uid), patch.get("status") or {}
        status = found.status
        if "nominatedNodeName" in change:
            nominated = change["nominatedNodeName"] or ""
            status = msgspec.structs.replace(status, nominated_node_name=nominated)
        if given := change.get("conditions"):
            new = [msgspec.convert(_known(each), PodCondition) for each in given]
            types = {each.type for each in new}
            kept = (each for each in status.conditions if each.type not in types)
            status = msgspec.structs.replace(status, conditions=(*kept, *new))
        if status != found.status:
            self.put(PODS, msgspec.structs.replace(found, status=status))

    async def evict(
        self, namespace: str, name: str, *, uid: str = "", grace_period_seconds: int | None = None
    ) -> None:
        """Delete the pod."""
        await self.delete(PODS, namespace, name, uid=uid, grace_period_seconds=grace_period_seconds)

    def terminate(self, pod: Pod) -> None:
        """Mark a pod as being deleted."""
        at = datetime.fromtimestamp(self._clock.now(), UTC)
        metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=at)
        self.put(PODS, msgspec.structs.replace(pod, metadata=metadata))

    def _open(self, resource: Resource) -> _Box:
        box = _Box()
        if RESOURCES[resource.plural].group == resource.group:
            self._boxes[resource.plural].append(box)
        return box

    def _publish(self, resource: Resource, event: WatchEvent) -> None:
        for box in self._boxes[resource.plural]:
            box.put(event)

    def _table(self, resource: Resource) -> dict[str, KubeObject]:
        """The objects of a resource; empty for a resource of a group that is not kept here."""
        known = RESOURCES.get(resource.plural)
        if known is None:
            raise NotFound("the server could not find the requested resource")
        return self._tables[resource.plural] if known.group == resource.group else {}

    def _find(self, resource: Resource, namespace: str, name: str, uid: str = "") -> KubeObject:
        found = self._table(resource).get(resource.key(namespace, name))
        if found is None:
            raise NotFound(f'{resource.qualified} "{name}" not found')
        if uid and uid != found.uid:
            raise Conflict(f"{name} has the UID {found.uid}, not {uid}")
        return found

    def _pod(self, namespace: str, name: str, uid: str) -> Pod:
        found = self._find(PODS, namespace, name, uid)
        assert isinstance(found, Pod)
        return found


def _raw(found: KubeObject) -> Raw:
    raw: Raw = msgspec.to_builtins(found)
    return raw


def _merge(target: Any, patch: Raw) -> Raw:
    """A JSON merge patch."""
    merged: Raw = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merge(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def _known(condition: Raw) -> Raw:
    return {key: value for key, value in condition.items() if value is not None}
