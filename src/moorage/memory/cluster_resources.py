"""The resources that the embedded cluster keeps: for scheduling, workloads and admission."""

from typing import Final

from moorage.watch.api_resources import PODS, RESOURCES, Resource


def _resource(group_version: str, plural: str, kind: str, *, namespaced: bool = True) -> Resource:
    group, _, version = group_version.rpartition("/")
    return Resource(group, version, plural, kind, namespaced)


RUNTIME_CLASSES: Final = _resource(
    "node.k8s.io/v1", "runtimeclasses", "RuntimeClass", namespaced=False
)
LIMIT_RANGES: Final = _resource("v1", "limitranges", "LimitRange")
RESOURCE_QUOTAS: Final = _resource("v1", "resourcequotas", "ResourceQuota")
DEPLOYMENTS: Final = _resource("apps/v1", "deployments", "Deployment")
DAEMON_SETS: Final = _resource("apps/v1", "daemonsets", "DaemonSet")
JOBS: Final = _resource("batch/v1", "jobs", "Job")
CRON_JOBS: Final = _resource("batch/v1", "cronjobs", "CronJob")
REPLICA_SETS: Final = RESOURCES["replicasets"]
REPLICATION_CONTROLLERS: Final = RESOURCES["replicationcontrollers"]
STATEFUL_SETS: Final = RESOURCES["statefulsets"]
VOLUMES: Final = RESOURCES["persistentvolumes"]
CLAIMS: Final = RESOURCES["persistentvolumeclaims"]
STORAGE_CLASSES: Final = RESOURCES["storageclasses"]

_BEFORE: Final = (RUNTIME_CLASSES, LIMIT_RANGES, RESOURCE_QUOTAS)
_AFTER: Final = (DEPLOYMENTS, DAEMON_SETS, JOBS, CRON_JOBS)
_ORDER: Final = (
    RESOURCES["namespaces"],
    RESOURCES["priorityclasses"],
    *_BEFORE,
    *(each for plural, each in RESOURCES.items() if plural not in ("namespaces", "pods")),
    *_AFTER,
    PODS,
)

KEPT_RESOURCES: Final[dict[str, Resource]] = {resource.plural: resource for resource in _ORDER}
"""Every resource by its plural. Each comes after the resources that its objects refer to."""

KEPT_KINDS: Final[dict[str, Resource]] = {each.kind: each for each in KEPT_RESOURCES.values()}
