"""ResourceClaims: created from templates for pods, deallocated and deleted when pods finish."""

from collections.abc import Iterable
from typing import Final

from moorage.memory import updates
from moorage.memory.controllers import workload_template
from moorage.memory.controllers.controller_manager import ControllerClient
from moorage.memory.versioned_store import Record
from moorage.watch.api_resources import PODS, RESOURCES, Resource
from moorage.watch.api_server import Raw

CLAIMS: Final = RESOURCES["resourceclaims"]
TEMPLATES: Final = RESOURCES["resourceclaimtemplates"]
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"


class ResourceClaimController:
    """Creates claims from the templates that pods name, and writes their names to pod status.

    When a claim's pods are gone or finished, it is deallocated. If it was created for such a pod,
    it is deleted.
    """

    watches = (PODS, TEMPLATES)

    def __init__(self, client: ControllerClient) -> None:
        self._client = client

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        raw = record.entry.raw
        if resource == TEMPLATES:
            namespace = raw["metadata"]["namespace"]
            for entry in self._client.store.table(PODS).in_order():
                if entry.raw["metadata"]["namespace"] == namespace and _claims_of(entry.raw):
                    yield entry.key
        elif _claims_of(raw) or _extended(raw):
            if record.type == "DELETED":
                self._release(raw)
            else:
                yield record.entry.key

    def reconcile(self, key: str) -> None:
        pod = self._client.find(PODS, key)
        if pod is None:
            return
        if _has_finished(pod):
            self._release(pod)
            return
        known = {each["name"] for each in _statuses(pod)}
        made = []
        for claim in _claims_of(pod):
            template = claim.get("resourceClaimTemplateName")
            if template and claim["name"] not in known:
                name = self._make(pod, claim["name"], template)
                if name is not None:
                    made.append({"name": claim["name"], "resourceClaimName": name})
        if made:
            status = {"resourceClaimStatuses": [*_statuses(pod), *made]}
            self._patch(PODS, pod, {"status": status}, "status")

    def _make(self, pod: Raw, name: str, template_name: str) -> str | None:
        metadata = pod["metadata"]
        template = self._client.find(TEMPLATES, f"{metadata['namespace']}/{template_name}")
        if template is None:
            return None
        spec = template.get("spec") or {}
        given = spec.get("metadata") or {}
        made = self._client.cluster.registry.stamps.name(f"{metadata['name']}-{name}-")
        claim = {
            "apiVersion": CLAIMS.api_version,
            "kind": CLAIMS.kind,
            "metadata": {
                "labels": given.get("labels") or {},
                "annotations": {**(given.get("annotations") or {}), POD_CLAIM: name},
                "name": made,
                "namespace": metadata["namespace"],
                "ownerReferences": [workload_template.reference(PODS, pod)],
            },
            "spec": spec.get("spec") or {},
        }
        owner = f"Pod {metadata['namespace']}/{metadata['name']}"
        return made if self._client.create(CLAIMS, claim, owner) else None

    def _release(self, pod: Raw) -> None:
        """Remove a pod from its claims' reservedFor; deallocate claims without users."""
        uid, namespace = pod["metadata"]["uid"], pod["metadata"]["namespace"]
        for name in _claim_names(pod):
            claim = self._client.find(CLAIMS, f"{namespace}/{name}")
            if claim is None:
                continue
            status = claim.get("status") or {}
            users = status.get("reservedFor") or []
            left = [each for each in users if each["uid"] != uid]
            if len(left) < len(users):
                freed = {"reservedFor": left} if left else _NOTHING
                self._patch(CLAIMS, claim, {"status": freed}, "status")
            if not left:
                self._drop_finalizer(f"{namespace}/{name}")
            owners = claim["metadata"].get("ownerReferences") or ()
            if any(owner.get("uid") == uid for owner in owners):
                self._client.delete(CLAIMS, claim)

    def _drop_finalizer(self, key: str) -> None:
        claim = self._client.find(CLAIMS, key)
        finalizers = [] if claim is None else claim["metadata"].get("finalizers") or []
        if claim is not None and FINALIZER in finalizers:
            kept = [each for each in finalizers if each != FINALIZER]
            self._patch(CLAIMS, claim, {"metadata": {"finalizers": kept}}, "")

    def _patch(self, resource: Resource, obj: Raw, change: Raw, subresource: str) -> None:
        metadata = obj["metadata"]
        where = (resource, metadata["namespace"], metadata["name"])
        registry = self._client.cluster.registry
        updates.patch_object(registry, *where, change, subresource, "merge")


_NOTHING: Final[Raw] = {"reservedFor": None, "allocation": None, "devices": None}


def _claims_of(pod: Raw) -> list[Raw]:
    return pod["spec"].get("resourceClaims") or []


def _statuses(pod: Raw) -> list[Raw]:
    return (pod.get("status") or {}).get("resourceClaimStatuses") or []


def _extended(pod: Raw) -> Raw | None:
    return (pod.get("status") or {}).get("extendedResourceClaimStatus")


def _has_finished(pod: Raw) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _claim_names(pod: Raw) -> set[str]:
    """The names of the claims that a pod uses, including the one for its extended resources."""
    named = {each["resourceClaimName"] for each in _claims_of(pod) if each.get("resourceClaimName")}
    made = {each.get("resourceClaimName") for each in _statuses(pod)}
    extended = _extended(pod)
    if extended is not None:
        made.add(extended.get("resourceClaimName"))
    return named | {name for name in made if name}
