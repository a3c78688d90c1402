"""Pods of other namespaces, and the cluster they share with the authors of hostile objects."""

from typing import Any, Final

Raw = dict[str, Any]

CONFIG: Final[Raw] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podMaxBackoffSeconds": 2,
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "multiPoint": {
                    "enabled": [{"name": "CapacityScheduling"}, {"name": "GPUPacking"}],
                }
            },
        },
        {
            "schedulerName": "policies",
            "plugins": {
                "multiPoint": {
                    "enabled": [
                        {"name": name}
                        for name in (
                            *("CapacityScheduling", "GPUTopology", "TenantIsolation"),
                            *("NetworkLatencyPlugin", "EnergyAware", "BusinessScorePlugin"),
                            *("CostOptimizationPlugin", "LowCpuScheduler", "AppConcentration"),
                            *("LoadBalancingPlugin", "SchedulingPolicies", "Compliance"),
                        )
                    ],
                }
            },
        },
    ],
}
POOL: Final = {"pool": "victims"}
CLAIMS_NAMESPACE: Final = "team-claim"


def cluster() -> list[Raw]:
    """The nodes of both, and what victims need beside them."""
    nodes = [_node(f"victim-{number}", POOL, zone=f"z{number % 2}") for number in range(4)]
    nodes[3]["status"]["allocatable"]["nvidia.com/gpu"] = "4"
    namespaces = ("evil", "team-plain", "team-gpu", CLAIMS_NAMESPACE, "team-gang", "team-quota")
    return [
        *(_object("v1", "Namespace", name) for name in namespaces),
        *nodes,
        _node("evil-0", {"pool": "evil"}, zone="evil"),
        *_devices("victims", "victim.example", "victim-1"),
        *_devices("evil", "evil.example", "evil-0"),
        _object(
            "scheduling.x-k8s.io/v1alpha1",
            "ElasticQuota",
            "quota",
            "team-quota",
            spec={"min": {"cpu": "4"}, "max": {"cpu": "4"}},
        ),
    ]


def victims(step: int) -> list[Raw]:
    """One of each, under other names in each step: plain, GPUs, a claim, a gang, a quota."""
    group, claim = f"gang-{step}", f"claim-{step}"
    grouped = {"scheduling.x-k8s.io/pod-group": group}
    request = {"deviceClassName": "victims", "allocationMode": "ExactCount", "count": 1}
    return [
        _object(
            "resource.k8s.io/v1",
            "ResourceClaim",
            claim,
            CLAIMS_NAMESPACE,
            spec={"devices": {"requests": [{"name": "r", "exactly": request}]}},
        ),
        _object(
            "scheduling.x-k8s.io/v1alpha1", "PodGroup", group, "team-gang", spec={"minMember": 2}
        ),
        _pod(f"plain-{step}", "team-plain"),
        _pod(f"gpu-{step}", "team-gpu", requests={"nvidia.com/gpu": "1"}),
        _pod(
            f"claim-{step}",
            CLAIMS_NAMESPACE,
            resourceClaims=[{"name": "c", "resourceClaimName": claim}],
        ),
        _pod(f"gang-{step}-a", "team-gang", labels=grouped),
        _pod(f"gang-{step}-b", "team-gang", labels=grouped),
        _pod(f"quota-{step}", "team-quota"),
        _pod(f"policies-{step}", "team-plain", schedulerName="policies"),
    ]


def _devices(name: str, driver: str, node: str) -> list[Raw]:
    """Four devices of a node, and a class of them."""
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"d{number}"} for number in range(4)]
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": devices}
    return [
        _object("resource.k8s.io/v1", "DeviceClass", name, spec={"selectors": [selector]}),
        _object("resource.k8s.io/v1", "ResourceSlice", name, spec=spec),
    ]


def _node(name: str, labels: Raw, zone: str) -> Raw:
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    places = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    status = {"allocatable": room, "capacity": dict(room)}
    return _object("v1", "Node", name, labels={**labels, **places}, status=status)


def _pod(
    name: str,
    namespace: str,
    *,
    labels: Raw | None = None,
    requests: Raw | None = None,
    **spec: Any,
) -> Raw:
    needs = {"cpu": "100m", "memory": "64Mi", **(requests or {})}
    container = {"name": "c", "image": "i", "resources": {"requests": needs, "limits": needs}}
    spec = {
        "schedulerName": "default-scheduler",
        "nodeSelector": POOL,
        "containers": [container],
        **spec,
    }
    return _object("v1", "Pod", name, namespace, labels=labels, spec=spec)


def _object(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "",
    *,
    labels: Raw | None = None,
    **fields: Any,
) -> Raw:
    meta: Raw = {"name": name, "labels": labels or {}}
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}
