"""The subresources pods/binding and pods/eviction, with PodDisruptionBudgets."""

from collections.abc import Mapping
from typing import Final, cast

from moorage.api import selectors
from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.memory import conditions, deletion, error_messages, stored_objects
from moorage.memory.object_registry import ObjectRegistry
from moorage.memory.stored_objects import Entry
from moorage.watch.api_errors import Forbidden, ServerError, TooManyRequests
from moorage.watch.api_resources import POD_DISRUPTION_BUDGETS, PODS
from moorage.watch.api_server import Raw

BUDGET_VIOLATION: Final = "Cannot evict pod as it would violate the pod's disruption budget."
MAX_DISRUPTED_PODS: Final = 2000
RETRY_SECONDS: Final = 10.0


def exempts_unready(budget: Raw, pod: Raw) -> bool:
    """Whether the pod may be evicted without counting as a disruption, because it is not ready."""
    ready = conditions.find_condition(pod["status"], "Ready")
    if ready is not None and ready.get("status") == "True":
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return bool(0 < desired <= (status.get("currentHealthy") or 0))


def spend_disruption(registry: ObjectRegistry, budget: Entry, pod: str) -> None:
    """Count one disruption against a budget that `check_budget` has passed."""
    status = budget.raw["status"]
    now = registry.stamps.now()
    status = {
        **status,
        "disruptionsAllowed": status["disruptionsAllowed"] - 1,
        "disruptedPods": {**(status.get("disruptedPods") or {}), pod: now},
    }
    if not status["disruptionsAllowed"]:
        status = conditions.set_condition(
            status, now, "DisruptionAllowed", "False", reason="InsufficientPods", message=""
        )
    table = registry.store.table(POD_DISRUPTION_BUDGETS)
    registry.store.replace(table, budget, {**budget.raw, "status": status}, trusted=True)


def check_budget(budget: Raw) -> None:
    """Refuse one more disruption if the budget has no room for it."""
    metadata, status = budget["metadata"], budget.get("status") or {}
    name, allowed = metadata["name"], status.get("disruptionsAllowed") or 0
    if (status.get("observedGeneration") or 0) < (metadata.get("generation") or 0):
        cause = f"The disruption budget {name} is still being processed by the server."
        raise TooManyRequests(BUDGET_VIOLATION, causes=(cause,), retry_after=RETRY_SECONDS)
    if allowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > MAX_DISRUPTED_PODS:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise _forbidden(name, why)
    if allowed == 0:
        raise TooManyRequests(BUDGET_VIOLATION, causes=(_why_spent(name, status),))


def _forbidden(name: str, why: str) -> Forbidden:
    return Forbidden(f'poddisruptionbudget.policy "{name}" is forbidden: {why}')


def _why_spent(name: str, status: Raw) -> str:
    desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
    if current <= desired:
        return (
            f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        )
    return f"The disruption budget {name} does not allow evicting pods currently"


def bind_pod(
    registry: ObjectRegistry,
    namespace: str,
    name: str,
    uid: str,
    node: str,
    annotations: Mapping[str, str],
) -> None:
    """Bind a pod to a node, which need not exist, and add annotations to it.

    A pod can be bound only once.
    """
    if not node:
        raise ServerError("target.name: Required value")
    table, entry = registry.find(PODS, namespace, name)
    actual = entry.raw["metadata"]["uid"]
    if uid and uid != actual:
        raise error_messages.wrong_uid(PODS, entry.key, name, uid, actual)
    if obstacle := _obstacle(entry.raw, name):
        raise error_messages.conflict("pods/binding", name, obstacle)
    bound = _bound(entry.raw, node, annotations, registry.stamps.now())
    stored = registry.store.replace(table, entry, bound, trusted=True)
    view = stored_objects.bound_view(entry.view, stored.raw, node, annotations)
    if view is not None:
        stored.see(view)


def _obstacle(pod: Raw, name: str) -> str | None:
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if assigned := pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{assigned}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return None


def _bound(pod: Raw, node: str, annotations: Mapping[str, str], now: str) -> Raw:
    status = conditions.set_condition(pod["status"], now, "PodScheduled", "True")
    status.pop("nominatedNodeName", None)
    bound = {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status}
    if annotations:
        metadata = pod["metadata"]
        merged = {**(metadata.get("annotations") or {}), **annotations}
        bound["metadata"] = {**metadata, "annotations": merged}
    return bound


_PHASES_WITHOUT_BUDGET: Final = frozenset({"Pending", "Succeeded", "Failed"})


def evict_pod(
    registry: ObjectRegistry, namespace: str, name: str, uid: str, grace_period_seconds: int | None
) -> None:
    """Delete a pod if its disruption budget, if any, allows it."""
    _, entry = registry.find(PODS, namespace, name)
    budget = (
        _budget_to_spend(registry, namespace, entry) if _counts_as_disruption(entry.raw) else None
    )
    actual = entry.raw["metadata"]["uid"]
    if uid and uid != actual:
        raise error_messages.wrong_uid_to_delete(PODS, name, uid, actual)
    if budget is not None:
        spend_disruption(registry, budget, name)
    _mark_disrupted(registry, entry)
    deletion.delete_object(registry, PODS, namespace, name, uid, grace_period_seconds)


def _counts_as_disruption(pod: Raw) -> bool:
    """Whether evicting the pod is a disruption: it is neither deleted nor finished nor pending."""
    deleted = "deletionTimestamp" in pod["metadata"]
    return not deleted and pod["status"].get("phase") not in _PHASES_WITHOUT_BUDGET


def _budget_to_spend(registry: ObjectRegistry, namespace: str, pod: Entry) -> Entry | None:
    """The budget that the eviction counts against, or None; raises if it has no room."""
    found = _budgets_of(registry, namespace, pod)
    if len(found) > 1:
        raise ServerError(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support."
        )
    for budget in found:
        if not exempts_unready(budget.raw, pod.raw):
            check_budget(budget.raw)
            return budget
    return None


def _budgets_of(registry: ObjectRegistry, namespace: str, pod: Entry) -> list[Entry]:
    prefix, labels = f"{namespace}/", pod.raw["metadata"].get("labels") or {}
    return [
        entry
        for key, entry in registry.store.table(POD_DISRUPTION_BUDGETS).entries.items()
        if key.startswith(prefix) and _selects(entry, labels)
    ]


def _selects(budget: Entry, labels: dict[str, str]) -> bool:
    try:
        selector = selectors.compile(cast("PodDisruptionBudget", budget.view).spec.selector)
    except selectors.SelectorError:
        return False
    return selector.matches(labels)


def _mark_disrupted(registry: ObjectRegistry, pod: Entry) -> None:
    status = conditions.set_condition(
        pod.raw["status"],
        registry.stamps.now(),
        "DisruptionTarget",
        "True",
        reason="EvictionByEvictionAPI",
        message="Eviction API: evicting",
    )
    table = registry.store.table(PODS)
    registry.store.replace(table, pod, {**pod.raw, "status": status}, trusted=True)
