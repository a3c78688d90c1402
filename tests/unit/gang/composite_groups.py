"""CompositePodGroups, the PodGroups below them, and their pods, as users write them."""

from typing import Any

from moorage.testing import PodBuilder, pod
from tests.unit.gang.gang_world import Raw

ZONE = "topology.kubernetes.io/zone"
RACK = "example.com/rack"


def packed(key: str) -> Raw:
    return {"schedulingConstraints": {"topology": [{"key": key}]}}


def composite(name: str, groups: int | None, parent: str = "", **spec: Any) -> Raw:
    """A CompositePodGroup: a gang of so many groups, or with None of the basic policy."""
    gang = {"basic": {}} if groups is None else {"gang": {"minGroupCount": groups}}
    return _made("CompositePodGroup", "v1alpha3", name, gang, parent, spec)


def leaf(name: str, pods: int | None, parent: str = "", **spec: Any) -> Raw:
    """A PodGroup below: a gang of so many pods, or with None of the basic policy."""
    gang = {"basic": {}} if pods is None else {"gang": {"minCount": pods}}
    return _made("PodGroup", "v1beta1", name, gang, parent, spec)


def _made(kind: str, version: str, name: str, policy: Raw, parent: str, spec: Raw) -> Raw:
    above = {"parentCompositePodGroupName": parent} if parent else {}
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "uid": f"{kind}-{name}"},
        "spec": {"schedulingPolicy": policy, **above, **spec},
    }


def workers(of: str, count: int, cpu: str = "1", **spec: Any) -> list[PodBuilder]:
    """Pods of a PodGroup."""
    named = {"podGroupName": of}
    return [
        pod(f"{of}-{i}").requesting(cpu=cpu).with_spec(schedulingGroup=named, **spec)
        for i in range(count)
    ]
