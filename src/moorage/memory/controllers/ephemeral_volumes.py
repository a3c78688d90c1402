"""Claims of generic ephemeral volumes: each is created for its pod, which owns it."""

from collections.abc import Iterable

from moorage.memory.cluster_resources import CLAIMS
from moorage.memory.controllers import workload_template
from moorage.memory.controllers.controller_manager import ControllerClient
from moorage.memory.versioned_store import Record
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Raw


class EphemeralVolumeController:
    """Creates the claims of pods' generic ephemeral volumes."""

    watches = (PODS,)

    def __init__(self, client: ControllerClient) -> None:
        self._client = client

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        if record.type == "ADDED" and record.entry.raw["spec"].get("volumes"):
            yield record.entry.key
        elif record.type == "DELETED":
            self._delete_claims(record.entry.raw)

    def reconcile(self, key: str) -> None:
        pod = self._client.find(PODS, key)
        for volume in () if pod is None else pod["spec"].get("volumes") or ():
            if pod is not None and volume.get("ephemeral"):
                self._create(pod, volume)

    def _create(self, pod: Raw, volume: Raw) -> None:
        namespace = pod["metadata"]["namespace"]
        name = f"{pod['metadata']['name']}-{volume['name']}"
        if self._client.find(CLAIMS, f"{namespace}/{name}") is not None:
            return
        template = volume["ephemeral"].get("volumeClaimTemplate") or {}
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                **(template.get("metadata") or {}),
                "name": name,
                "namespace": namespace,
                "ownerReferences": [workload_template.reference(PODS, pod)],
            },
            "spec": template.get("spec") or {},
        }
        self._client.create(CLAIMS, claim, f"Pod {namespace}/{pod['metadata']['name']}")

    def _delete_claims(self, pod: Raw) -> None:
        for volume in pod["spec"].get("volumes") or ():
            name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}-{volume['name']}"
            claim = self._client.find(CLAIMS, name) if volume.get("ephemeral") else None
            if claim is not None:
                self._client.delete(CLAIMS, claim)
