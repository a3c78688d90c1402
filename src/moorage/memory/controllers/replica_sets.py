"""ReplicaSets and ReplicationControllers: exactly as many pods as requested."""

from collections.abc import Iterable
from itertools import count

from moorage.memory.controllers import owned_pods, workload_template
from moorage.memory.controllers.controller_manager import ControllerClient
from moorage.memory.stored_objects import Entry
from moorage.memory.versioned_store import Record
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Raw


class ReplicaSetController:
    """Creates and deletes the pods of ReplicaSets, or of ReplicationControllers.

    Pods are numbered from 0, where the real controller appends five random letters. So two equal
    runs give the same names.
    """

    def __init__(self, client: ControllerClient, resource: Resource) -> None:
        self._client = client
        self._resource = resource
        self.watches = (resource, PODS)

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        if resource == self._resource:
            yield record.entry.key
        elif owned_pods.has_left(record):
            owner = owned_pods.owner_key(record.entry.raw)
            if owner is not None and owner[0] == self._resource.kind:
                yield f"{owner[1]}/{owner[2]}"

    def reconcile(self, key: str) -> None:
        owner = self._client.find(self._resource, key)
        if owner is None or "deletionTimestamp" in owner["metadata"]:
            return
        known = list(self._client.pods.of(workload_template.key_of(self._resource, owner)))
        active = [entry for entry in known if owned_pods.is_active(entry.raw)]
        missing = workload_template.wanted(owner) - len(active)
        if missing > 0:
            self._create(owner, missing)
        elif missing < 0:
            self._delete(active, -missing)

    def _create(self, owner: Raw, missing: int) -> None:
        name, namespace = owner["metadata"]["name"], owner["metadata"]["namespace"]
        taken = self._client.store.table(PODS).entries
        numbers = (n for n in count() if f"{namespace}/{name}-{n}" not in taken)
        for _ in range(missing):
            pod = workload_template.pod_from(self._resource, owner, f"{name}-{next(numbers)}")
            if not self._client.create(PODS, pod, f"{self._resource.kind} {namespace}/{name}"):
                return

    def _delete(self, active: list[Entry], excess: int) -> None:
        """Delete excess pods: pods without a node first, then the youngest."""
        ranked = sorted(reversed(active), key=lambda entry: bool(entry.raw["spec"].get("nodeName")))
        for entry in ranked[:excess]:
            self._client.delete(PODS, entry.raw)
