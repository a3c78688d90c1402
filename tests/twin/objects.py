"""The objects of stories, as an API server takes them."""

from typing import Any, Final

Raw = dict[str, Any]
TENANT: Final = "tenant"
QUOTA_CPU: Final = 3
GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
URGENT: Final = "urgent"
CUSTOM: Final = "scheduling.x-k8s.io/v1alpha1"


def node(name: str, cpu: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": name[-1]}},
        "status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "20"}},
    }


def group(name: str, members: int) -> Raw:
    return {
        "apiVersion": CUSTOM,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": members},
    }


def urgency() -> Raw:
    """The class of pods that evict others."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": URGENT},
        "value": 10,
    }


def quota() -> Raw:
    """What the tenant may use at most."""
    return {
        "apiVersion": CUSTOM,
        "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": TENANT},
        "spec": {"min": {"cpu": str(QUOTA_CPU)}, "max": {"cpu": str(QUOTA_CPU)}},
    }


def budget() -> Raw:
    """Two of the guarded pods are to stay; one may go at a time."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guarded", "namespace": "default"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"guarded": "yes"}}},
        "status": {"disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2},
    }


def pod(name: str, cpu: str, labels: Raw, namespace: str = "default", **spec: Any) -> Raw:
    resources = {"requests": {"cpu": cpu}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": resources}],
            "terminationGracePeriodSeconds": 1,
            **spec,
        },
    }


def apart() -> Raw:
    """No two of them on one node."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "a"}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread() -> list[Raw]:
    return [
        {
            "topologyKey": "zone",
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"s": "s"}},
        }
    ]
