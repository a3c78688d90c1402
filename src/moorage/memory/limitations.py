"""What the embedded cluster does not take into account, and the effect of that."""

from collections.abc import Callable, Iterator
from typing import Final

from moorage.memory import resource_quotas
from moorage.memory.cluster_resources import (
    CRON_JOBS,
    KEPT_RESOURCES,
    RESOURCE_QUOTAS,
    STATEFUL_SETS,
)
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_resources import POD_DISRUPTION_BUDGETS, Resource
from moorage.watch.api_server import Raw


def _ordered(raw: Raw) -> bool:
    policy = raw["spec"].get("podManagementPolicy") or "OrderedReady"
    return bool(policy == "OrderedReady" and raw["spec"].get("replicas") not in (None, 0, 1))


def _without_status(raw: Raw) -> bool:
    return not (raw.get("status") or {}).get("observedGeneration")


def _scoped(raw: Raw) -> bool:
    return not resource_quotas.is_enforced(raw)


_LIMITATIONS: Final[tuple[tuple[Resource, Callable[[Raw], bool], str], ...]] = (
    (
        CRON_JOBS,
        lambda raw: not raw["spec"].get("suspend"),
        "their Jobs are not started: a run is over before their time comes",
    ),
    (
        STATEFUL_SETS,
        _ordered,
        "podManagementPolicy OrderedReady: all their pods are made at once, where a real "
        "controller waits for each to be ready",
    ),
    (
        RESOURCE_QUOTAS,
        _scoped,
        "quotas with scopes are not enforced: pods are taken that a real cluster may refuse",
    ),
    (
        POD_DISRUPTION_BUDGETS,
        _without_status,
        "no status is computed for them: without one they allow no disruption, so preemption "
        "takes their pods last",
    ),
)


def limitation_notes(cluster: MemoryCluster) -> tuple[str, ...]:
    """A line for each kind of object in the cluster that is not fully taken into account."""
    return tuple(_notes(cluster))


def _notes(cluster: MemoryCluster) -> Iterator[str]:
    for resource, applies, effect in _LIMITATIONS:
        table = cluster.registry.store.table(KEPT_RESOURCES[resource.plural])
        names = [entry.raw["metadata"]["name"] for entry in table.in_order() if applies(entry.raw)]
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            yield f"{resource.kind} {', '.join(names[:3])}{more}: {effect}"
