"""Deployments: a ReplicaSet of the current template gets the requested replicas.

A Deployment whose ReplicaSets, or pods of one, are in a loaded dump is not expanded again.
"""

from collections.abc import Iterable

import msgspec

from moorage.api import selectors
from moorage.api.annotations import read_int
from moorage.api.meta import LabelSelector
from moorage.memory import updates
from moorage.memory.cluster_resources import DEPLOYMENTS, REPLICA_SETS
from moorage.memory.controllers import owned_pods, workload_template
from moorage.memory.controllers.controller_manager import ControllerClient
from moorage.memory.versioned_store import Record
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import Raw

HASH_LABEL = "pod-template-hash"
_REVISION = "deployment.kubernetes.io/revision"


class DeploymentController:
    """Creates and scales the ReplicaSet of every Deployment."""

    watches = (DEPLOYMENTS,)

    def __init__(self, client: ControllerClient) -> None:
        self._client = client

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        yield record.entry.key

    def reconcile(self, key: str) -> None:
        deployment = self._client.find(DEPLOYMENTS, key)
        if deployment is None or "deletionTimestamp" in deployment["metadata"]:
            return
        owned = self._owned(deployment)
        if owned:
            self._scale(deployment, owned)
            return
        orphans = self._owner_of_pods(deployment)
        made = replica_set(deployment) if orphans is None else _revived(deployment, orphans)
        self._client.create(REPLICA_SETS, made, f"Deployment {key}")

    def _owned(self, deployment: Raw) -> list[Raw]:
        mine = workload_template.key_of(DEPLOYMENTS, deployment)
        entries = self._client.store.table(REPLICA_SETS).entries.values()
        return [entry.raw for entry in entries if owned_pods.owner_key(entry.raw) == mine]

    def _scale(self, deployment: Raw, owned: list[Raw]) -> None:
        """Scale the newest ReplicaSet so that all of them together have the requested replicas."""
        newest = max(owned, key=_revision)
        others = sum(workload_template.wanted(each) for each in owned if each is not newest)
        replicas = max(0, workload_template.wanted(deployment) - others)
        if replicas != workload_template.wanted(newest):
            metadata = newest["metadata"]
            where = (REPLICA_SETS, metadata["namespace"], metadata["name"])
            change = {"spec": {"replicas": replicas}}
            updates.patch_object(self._client.cluster.registry, *where, change, "", "merge")

    def _owner_of_pods(self, deployment: Raw) -> Raw | None:
        """The reference to a ReplicaSet that does not exist, but owns pods of the Deployment."""
        given = deployment["spec"].get("selector")
        if not given:
            return None
        selector = selectors.compile(msgspec.convert(given, LabelSelector))
        namespace = deployment["metadata"]["namespace"]
        for kind, where, name in self._client.pods.owners():
            if kind != REPLICA_SETS.kind or where != namespace:
                continue
            if self._client.find(REPLICA_SETS, f"{where}/{name}") is not None:
                continue
            for entry in self._client.pods.of((kind, where, name)):
                if selector.matches(entry.raw["metadata"].get("labels") or {}):
                    return owned_pods.controller_of(entry.raw)
        return None


def replica_set(deployment: Raw) -> Raw:
    """The ReplicaSet of a Deployment's template; the label pod-template-hash identifies it."""
    metadata, spec = deployment["metadata"], deployment["spec"]
    template = spec["template"]
    code = workload_template.template_hash(template)
    return {
        "apiVersion": REPLICA_SETS.api_version,
        "kind": REPLICA_SETS.kind,
        "metadata": {
            "name": f"{metadata['name']}-{code}",
            "namespace": metadata["namespace"],
            "labels": _labelled(template, code)["metadata"]["labels"],
            "annotations": {_REVISION: "1"},
            "ownerReferences": [workload_template.reference(DEPLOYMENTS, deployment)],
        },
        "spec": {
            "replicas": workload_template.wanted(deployment),
            "selector": _narrowed(spec.get("selector") or {}, code),
            "template": _labelled(template, code),
        },
    }


def _revived(deployment: Raw, reference: Raw) -> Raw:
    """The ReplicaSet that existing pods name as their owner, with the Deployment's template."""
    made = replica_set(deployment)
    made["metadata"]["name"] = reference["name"]
    return made


def _labelled(template: Raw, code: str) -> Raw:
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), HASH_LABEL: code}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _narrowed(selector: Raw, code: str) -> Raw:
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: code}}


def _revision(raw: Raw) -> tuple[int, str]:
    annotations = raw["metadata"].get("annotations") or {}
    number = read_int(str(annotations.get(_REVISION) or "0"))
    return number or 0, raw["metadata"].get("creationTimestamp") or ""
