"""The binding subresource of pods: the one way in which a pod gets its node."""

from moorage.memory import conditions, refusals
from moorage.memory.registry import Registry
from moorage.watch.errors import ServerError
from moorage.watch.resources import PODS
from moorage.watch.surface import Raw


def bind(registry: Registry, namespace: str, name: str, uid: str, node: str) -> None:
    """Assign a pod to a node, which need not exist; at most once in the pod's life."""
    if not node:
        raise ServerError("target.name: Required value")
    table, entry = registry.find(PODS, namespace, name)
    actual = entry.raw["metadata"]["uid"]
    if uid and uid != actual:
        raise refusals.wrong_uid(PODS, entry.key, name, uid, actual)
    if obstacle := _obstacle(entry.raw, name):
        raise refusals.conflict("pods/binding", name, obstacle)
    bound = _bound(entry.raw, node, registry.stamps.now())
    registry.store.replace(table, entry, bound, trusted=True)


def _obstacle(pod: Raw, name: str) -> str | None:
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if assigned := pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{assigned}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return None


def _bound(pod: Raw, node: str, now: str) -> Raw:
    status = conditions.put(pod["status"], now, "PodScheduled", "True")
    status.pop("nominatedNodeName", None)
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status}
