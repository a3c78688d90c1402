"""StatefulSets: a pod for each ordinal, and a claim for each of its volumeClaimTemplates.

All pods are created at once, whatever the podManagementPolicy: no controller here waits for pods
to become ready.
"""

from collections.abc import Iterable

from moorage.memory.cluster_resources import CLAIMS, STATEFUL_SETS
from moorage.memory.controllers import owned_pods, workload_template
from moorage.memory.controllers.controller_manager import ControllerClient
from moorage.memory.versioned_store import Record
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Raw

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


class StatefulSetController:
    """Creates missing claims and pods, and deletes pods with ordinals beyond the last."""

    watches = (STATEFUL_SETS, PODS)

    def __init__(self, client: ControllerClient) -> None:
        self._client = client

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        if resource == STATEFUL_SETS:
            yield record.entry.key
        elif record.type == "DELETED":
            owner = owned_pods.owner_key(record.entry.raw)
            if owner is not None and owner[0] == STATEFUL_SETS.kind:
                yield f"{owner[1]}/{owner[2]}"

    def reconcile(self, key: str) -> None:
        owner = self._client.find(STATEFUL_SETS, key)
        if owner is None or "deletionTimestamp" in owner["metadata"]:
            return
        start = ((owner["spec"].get("ordinals") or {}).get("start")) or 0
        names = [
            (f"{owner['metadata']['name']}-{ordinal}", ordinal)
            for ordinal in range(start, start + workload_template.wanted(owner))
        ]
        self._delete_others(owner, {name for name, _ in names})
        for name, ordinal in names:
            if self._client.find(PODS, f"{owner['metadata']['namespace']}/{name}") is None:
                self._create(owner, name, ordinal, f"StatefulSet {key}")

    def _create(self, owner: Raw, name: str, ordinal: int, whose: str) -> None:
        for claim in claims_of(owner, name):
            key = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
            if self._client.find(CLAIMS, key) is None:
                self._client.create(CLAIMS, claim, whose)
        labels = {POD_NAME: name, POD_INDEX: str(ordinal)}
        spec = spec_of(owner, name)
        pod = workload_template.pod_from(STATEFUL_SETS, owner, name, labels=labels, spec=spec)
        self._client.create(PODS, pod, whose)

    def _delete_others(self, owner: Raw, names: set[str]) -> None:
        for entry in list(self._client.pods.of(workload_template.key_of(STATEFUL_SETS, owner))):
            metadata = entry.raw["metadata"]
            if metadata["name"] not in names and owned_pods.is_active(entry.raw):
                self._client.delete(PODS, entry.raw)


def claims_of(owner: Raw, pod: str) -> list[Raw]:
    """The claims of one pod."""
    return [
        {
            **template,
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                **template["metadata"],
                "name": f"{template['metadata']['name']}-{pod}",
                "namespace": owner["metadata"]["namespace"],
            },
            "spec": template.get("spec") or {},
        }
        for template in owner["spec"].get("volumeClaimTemplates") or ()
    ]


def spec_of(owner: Raw, pod: str) -> Raw:
    """The pod's spec; a volume of a claim replaces a volume of the same name."""
    spec: Raw = owner["spec"]["template"]["spec"]
    templates = owner["spec"].get("volumeClaimTemplates") or ()
    claimed = [
        {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}"}}
        for name in (template["metadata"]["name"] for template in templates)
    ]
    replaced = {volume["name"] for volume in claimed}
    kept = [volume for volume in spec.get("volumes") or () if volume["name"] not in replaced]
    return {
        **spec,
        "hostname": pod,
        "subdomain": owner["spec"].get("serviceName") or "",
        **({"volumes": [*claimed, *kept]} if claimed else {}),
    }
