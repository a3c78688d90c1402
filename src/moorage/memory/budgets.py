"""Disruption budgets: whether one more pod may be disrupted, and counting that it was."""

from typing import Final

from moorage.memory import conditions
from moorage.memory.entries import Entry
from moorage.memory.registry import Registry
from moorage.watch.errors import Forbidden, TooManyRequests
from moorage.watch.resources import POD_DISRUPTION_BUDGETS
from moorage.watch.surface import Raw

VIOLATION: Final = "Cannot evict pod as it would violate the pod's disruption budget."
DISRUPTED_PODS: Final = 2000
RETRY_SECONDS: Final = 10.0


def spares(budget: Raw, pod: Raw) -> bool:
    """Whether the pod may go without being counted, because it is not ready anyway."""
    ready = conditions.find(pod["status"], "Ready")
    if ready is not None and ready.get("status") == "True":
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return bool(0 < desired <= (status.get("currentHealthy") or 0))


def spend(registry: Registry, budget: Entry, pod: str) -> None:
    """Count one disruption against a budget that has been checked."""
    status = budget.raw["status"]
    now = registry.stamps.now()
    status = {
        **status,
        "disruptionsAllowed": status["disruptionsAllowed"] - 1,
        "disruptedPods": {**(status.get("disruptedPods") or {}), pod: now},
    }
    if not status["disruptionsAllowed"]:
        status = conditions.put(
            status, now, "DisruptionAllowed", "False", reason="InsufficientPods", message=""
        )
    table = registry.store.table(POD_DISRUPTION_BUDGETS)
    registry.store.replace(table, budget, {**budget.raw, "status": status}, trusted=True)


def check(budget: Raw) -> None:
    """Refuse one more disruption, unless the budget has room for it."""
    metadata, status = budget["metadata"], budget.get("status") or {}
    name, allowed = metadata["name"], status.get("disruptionsAllowed") or 0
    if (status.get("observedGeneration") or 0) < (metadata.get("generation") or 0):
        cause = f"The disruption budget {name} is still being processed by the server."
        raise TooManyRequests(VIOLATION, causes=(cause,), retry_after=RETRY_SECONDS)
    if allowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > DISRUPTED_PODS:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise _forbidden(name, why)
    if allowed == 0:
        raise TooManyRequests(VIOLATION, causes=(_why_spent(name, status),))


def _forbidden(name: str, why: str) -> Forbidden:
    return Forbidden(f'poddisruptionbudget.policy "{name}" is forbidden: {why}')


def _why_spent(name: str, status: Raw) -> str:
    desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
    if current <= desired:
        return (
            f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        )
    return f"The disruption budget {name} does not allow evicting pods currently"
