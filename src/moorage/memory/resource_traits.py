"""Which resources have a status subresource, a generation, or need a resourceVersion."""

from typing import Final

from moorage.watch.api_resources import Resource

WITH_STATUS: Final = frozenset(
    (
        "pods",
        "nodes",
        "namespaces",
        "persistentvolumes",
        "persistentvolumeclaims",
        "volumeattachments",
        "services",
        "replicasets",
        "replicationcontrollers",
        "statefulsets",
        "poddisruptionbudgets",
        "csinodes",
        "resourceclaims",
        "devicetaintrules",
        "podgroups",
        "compositepodgroups",
        "elasticquotas",
        "deployments",
        "daemonsets",
        "jobs",
        "cronjobs",
        "resourcequotas",
    )
)
"""Their status can be written through the status subresource only."""

CREATED_STATUS: Final[dict[str, dict[str, str | int]]] = {
    **{plural: {} for plural in WITH_STATUS - {"nodes"}},
    "pods": {"phase": "Pending"},
    "poddisruptionbudgets": {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
    "namespaces": {"phase": "Active"},
    "persistentvolumes": {"phase": "Pending"},
    "persistentvolumeclaims": {"phase": "Pending"},
}
"""The status of a new object, whatever its creator wrote. A node keeps the status it comes with."""

WITH_GENERATION: Final = frozenset(
    (
        "pods",
        "replicasets",
        "replicationcontrollers",
        "statefulsets",
        "poddisruptionbudgets",
        "priorityclasses",
        "podgroups",
        "compositepodgroups",
        "elasticquotas",
        "deployments",
        "daemonsets",
        "jobs",
        "cronjobs",
    )
)
"""They have a generation, which counts changes of the spec."""

UPDATED_BY_VERSION: Final = frozenset(
    (
        "poddisruptionbudgets",
        "csinodes",
        "csidrivers",
        "csistoragecapacities",
        "volumeattachments",
        "leases",
        "resourceclaims",
        "resourceclaimtemplates",
        "resourceslices",
        "deviceclasses",
        "devicetaintrules",
        "podgroups",
        "compositepodgroups",
        "elasticquotas",
    )
)
"""An update must name the version it replaces."""


def is_custom(resource: Resource) -> bool:
    """Whether the resource is defined by a CustomResourceDefinition."""
    return resource.group == "scheduling.x-k8s.io"
