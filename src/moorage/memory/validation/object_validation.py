"""An object as a whole: its shape, its metadata, the rules of its kind."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from moorage.memory.error_messages import not_allowed
from moorage.memory.validation import (
    cluster_rules,
    field_shapes,
    pod_rules,
    storage_rules,
    workload_rules,
)
from moorage.memory.validation.field_causes import Causes, check_labels, check_owners
from moorage.watch.api_errors import BadRequest
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Raw

_RULES: Final[dict[str, Callable[[Raw], Causes]]] = {
    "deployments": workload_rules.check_workload,
    "replicasets": workload_rules.check_workload,
    "statefulsets": workload_rules.check_stateful_set,
    "daemonsets": workload_rules.check_workload,
    "replicationcontrollers": workload_rules.check_workload,
    "jobs": workload_rules.check_job,
    "cronjobs": workload_rules.check_cron_job,
    "persistentvolumeclaims": storage_rules.check_claim,
    "persistentvolumes": storage_rules.check_volume,
    "storageclasses": storage_rules.check_storage_class,
    "nodes": cluster_rules.check_node,
    "priorityclasses": cluster_rules.check_priority_class,
    "poddisruptionbudgets": cluster_rules.check_budget,
    "runtimeclasses": cluster_rules.check_runtime_class,
    "limitranges": cluster_rules.check_limit_range,
    "resourcequotas": cluster_rules.check_quota,
}
_SPECS_KEPT: Final = 1024


def warnings_about(resource: Resource, raw: Raw) -> list[str]:
    """Warnings about unknown fields, in the API server's words; refuses a wrong type."""
    try:
        unknown = field_shapes.unknown_fields(resource.kind, raw)
    except field_shapes.ShapeError as error:
        kind, version = resource.kind, resource.version
        raise BadRequest(
            f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
        ) from None
    return [f'unknown field "{field}"' for field in unknown]


class ObjectValidation:
    """Refuses what an API server refuses; a spec that pods share is checked once."""

    def __init__(self) -> None:
        self._good: OrderedDict[int, Raw] = OrderedDict()

    def causes(self, resource: Resource, raw: Raw) -> list[str]:
        """Every wrong field of an object that has its defaults; its name is checked elsewhere."""
        metadata = raw["metadata"]
        causes = [*check_labels("metadata.labels", metadata.get("labels"))]
        causes += check_owners("metadata.ownerReferences", metadata.get("ownerReferences"))
        if resource == PODS:
            causes += self._pod(raw)
        elif (rule := _RULES.get(resource.plural)) is not None:
            causes += rule(raw)
        return list(dict.fromkeys(causes))

    def _pod(self, raw: Raw) -> list[str]:
        spec: Raw = raw["spec"]
        if id(spec) in self._good:
            return []
        causes = list(pod_rules.check_pod_spec("spec", spec))
        if spec.get("ephemeralContainers"):
            causes.append(not_allowed("spec.ephemeralContainers", "cannot be set on create"))
        if not causes:
            self._good[id(spec)] = spec
            if len(self._good) > _SPECS_KEPT:
                self._good.popitem(last=False)
        return causes
