"""The eviction subresource of pods: deletion that respects disruption budgets."""

from typing import Final, cast

from moorage.api import selectors
from moorage.api.policy import PodDisruptionBudget
from moorage.memory import budgets, conditions, deleting, refusals
from moorage.memory.entries import Entry
from moorage.memory.registry import Registry
from moorage.watch.errors import ServerError
from moorage.watch.resources import POD_DISRUPTION_BUDGETS, PODS
from moorage.watch.surface import Raw

_UNGUARDED: Final = frozenset({"Pending", "Succeeded", "Failed"})


def evict(
    registry: Registry, namespace: str, name: str, uid: str, grace_period_seconds: int | None
) -> None:
    """Delete a pod if no budget, or the one it falls under, objects."""
    _, entry = registry.find(PODS, namespace, name)
    budget = _budget_to_spend(registry, namespace, entry) if _is_guarded(entry.raw) else None
    actual = entry.raw["metadata"]["uid"]
    if uid and uid != actual:
        raise refusals.wrong_uid_to_delete(PODS, name, uid, actual)
    if budget is not None:
        budgets.spend(registry, budget, name)
    _mark_disrupted(registry, entry)
    deleting.delete(registry, PODS, namespace, name, uid, grace_period_seconds)


def _is_guarded(pod: Raw) -> bool:
    """Whether losing the pod would be a disruption: it runs, and is meant to go on running."""
    deleted = "deletionTimestamp" in pod["metadata"]
    return not deleted and pod["status"].get("phase") not in _UNGUARDED


def _budget_to_spend(registry: Registry, namespace: str, pod: Entry) -> Entry | None:
    """The budget that the eviction counts against, if any; refused where it has no room."""
    found = _budgets_of(registry, namespace, pod)
    if len(found) > 1:
        raise ServerError(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support."
        )
    for budget in found:
        if not budgets.spares(budget.raw, pod.raw):
            budgets.check(budget.raw)
            return budget
    return None


def _budgets_of(registry: Registry, namespace: str, pod: Entry) -> list[Entry]:
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


def _mark_disrupted(registry: Registry, pod: Entry) -> None:
    status = conditions.put(
        pod.raw["status"],
        registry.stamps.now(),
        "DisruptionTarget",
        "True",
        reason="EvictionByEvictionAPI",
        message="Eviction API: evicting",
    )
    table = registry.store.table(PODS)
    registry.store.replace(table, pod, {**pod.raw, "status": status}, trusted=True)
