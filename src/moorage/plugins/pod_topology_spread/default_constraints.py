"""Default constraints, and the selector of the services and controller a pod belongs to."""

from typing import NamedTuple

from moorage.api import selectors
from moorage.api.affinity import TopologySpreadConstraint
from moorage.api.cluster_objects import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.api.meta import LabelSelector, OwnerReference
from moorage.api.node import HOSTNAME_LABEL, ZONE_LABEL
from moorage.api.pod import Pod
from moorage.api.selectors import EVERYTHING, Selector, SelectorError
from moorage.cache.object_store import ObjectStore
from moorage.cache.pod_sets import LabelGroup
from moorage.plugins.pod_topology_spread.spread_constraints import SOFT

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME_LABEL, when_unsatisfiable=SOFT, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE_LABEL, when_unsatisfiable=SOFT, max_skew=5),
)

_SETS: dict[tuple[str, str], type[ReplicaSet] | type[StatefulSet]] = {
    ("apps/v1", "ReplicaSet"): ReplicaSet,
    ("apps/v1", "StatefulSet"): StatefulSet,
}
_KEPT = 4096
_NO_LABELS: dict[str, str] = {}


class _CachedSelector(NamedTuple):
    """A computed selector, and what it was computed from."""

    services: dict[str, str]
    owned: LabelSelector | dict[str, str] | None
    selector: Selector


class DefaultSelectors:
    """Selectors of the services and the controller that a pod belongs to."""

    __slots__ = ("_known", "_merged", "_services", "_version")

    def __init__(self) -> None:
        self._version = -1
        self._services: dict[str, list[dict[str, str]]] = {}
        self._merged: dict[LabelGroup, dict[str, str]] = {}
        self._known: dict[tuple[str, str, str], _CachedSelector] = {}

    def of(self, pod: Pod, group: LabelGroup, objects: ObjectStore) -> Selector:
        """The selector for a pod; if the pod belongs to nothing, one that selects everything."""
        owner = pod.owner
        services = self._service_labels(group, objects)
        if owner is None:
            return selectors.from_labels(services) if services else EVERYTHING
        owned = _owned_by(owner, pod.namespace, objects)
        key = (pod.namespace, owner.kind, owner.name)
        known = self._known.get(key)
        if known is None or known.owned != owned or known.services != services:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[key] = _CachedSelector(services, owned, _combine(services, owned))
        return known.selector

    def may_belong(self, pod: Pod, objects: ObjectStore) -> bool:
        """Whether the pod has an owner, or its namespace a service."""
        if pod.metadata.owner_references:
            return True
        self._catch_up(objects)
        return pod.namespace in self._services

    def _catch_up(self, objects: ObjectStore) -> None:
        version = objects.version(Service)
        if self._version != version or len(self._merged) >= _KEPT:
            self._index(objects)
            self._merged.clear()
            self._version = version

    def _service_labels(self, group: LabelGroup, objects: ObjectStore) -> dict[str, str]:
        """The merged selectors of all services that select the pods of a label group."""
        self._catch_up(objects)
        listed = self._services.get(group.namespace)
        if listed is None:
            return _NO_LABELS
        merged = self._merged.get(group)
        if merged is None:
            merged = self._merged[group] = _merged(listed, group)
        return merged

    def _index(self, objects: ObjectStore) -> None:
        self._services = {}
        for service in objects.all(Service):
            if service.spec.selector:
                self._services.setdefault(service.namespace, []).append(service.spec.selector)


def _merged(listed: list[dict[str, str]], group: LabelGroup) -> dict[str, str]:
    labels = group.labels.items()
    merged: dict[str, str] = {}
    for selector in listed:
        if selector.items() <= labels:
            merged |= selector
    return merged


def _owned_by(
    owner: OwnerReference, namespace: str, objects: ObjectStore
) -> LabelSelector | dict[str, str] | None:
    if (owner.api_version, owner.kind) == ("v1", "ReplicationController"):
        controller = objects.get(ReplicationController, owner.name, namespace)
        return controller.spec.selector if controller else None
    kind = _SETS.get((owner.api_version, owner.kind))
    found = objects.get(kind, owner.name, namespace) if kind else None
    return found.spec.selector if found else None


def _combine(services: dict[str, str], owned: LabelSelector | dict[str, str] | None) -> Selector:
    """The services' and the controller's selector combined; an invalid controller's is ignored."""
    if isinstance(owned, dict):
        return selectors.from_labels(services | owned)
    alone = selectors.from_labels(services)
    if owned is None:
        return alone
    try:
        return selectors.compile(owned).with_labels(services)
    except SelectorError:
        return alone
