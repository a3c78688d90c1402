"""What pods request and nodes offer, as integers: millicores of cpu, units of everything else.

Sums over containers are exact, in nanos, and rounded up once at the end. Only amounts that are
negative or beyond int64 take the slow path through `Quantity`, which rounds and overflows as Go
does.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from moorage.api import int64, quantity
from moorage.api.name_validation import is_qualified_name
from moorage.api.node import Node
from moorage.api.quantity import BINARY_SI, DECIMAL_SI, Quantity
from moorage.api.resource_requests import RequestingPod, is_pod_level_set, total_requests

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"

DEFAULT_MILLI_CPU: Final = 100
DEFAULT_MEMORY: Final = 200 * 1024 * 1024

_DEFAULTS: Final = {CPU: f"{DEFAULT_MILLI_CPU}m", MEMORY: str(DEFAULT_MEMORY)}
_NO_DEFAULTS: Final[Mapping[str, str]] = {}
_PLAIN: Final = frozenset((CPU, MEMORY, EPHEMERAL_STORAGE))


class _BeyondError(Exception):
    """A quantity that cannot be held in plain nanos."""


def pod_requests(pod: RequestingPod, *, use_status: bool = True) -> dict[str, int]:
    """Return what the pod requests, under the names that scheduling counts.

    `use_status` counts what the kubelet has allocated during an in-place resize, as kube-scheduler
    does for pods on nodes. For the pod to be placed it reads only the spec.
    """
    total = _requests(pod, _NO_DEFAULTS, use_status)
    return {name: n for name, n in total.items() if name in _PLAIN or is_scalar(name)}


def pod_nonzero_requests(pod: RequestingPod) -> tuple[int, int]:
    """Return millicores and bytes, counting defaults for containers that request none.

    With pod-level requests, a default counts only if neither the pod nor any container requests.
    """
    defaults: Mapping[str, str] = _DEFAULTS
    if is_pod_level_set(pod):
        asked = _requests(pod, _NO_DEFAULTS, True)
        defaults = {name: text for name, text in _DEFAULTS.items() if name not in asked}
    requests = _requests(pod, defaults, True)
    return requests.get(CPU, 0), requests.get(MEMORY, 0)


def pod_scoring_requests(pod: RequestingPod) -> dict[str, int]:
    """Return the pod's requests as the scorers count them.

    Unlike `pod_nonzero_requests`, every container without a request counts with the default, even
    if requests are set for the pod as a whole.
    """
    return _requests(pod, _DEFAULTS, True)


def uncountable_requests(pod: RequestingPod) -> dict[str, str]:
    """The pod's requests that are negative, or too large for an int64 in the unit counted."""
    total = total_requests(pod, quantity.parse, _NO_DEFAULTS, use_status=False)
    most = {CPU: Quantity(int64.MAX, quantity.MILLI)}
    return {
        name: quantity.format(amount)
        for name, amount in total.items()
        if not Quantity(0) <= amount <= most.get(name, Quantity(int64.MAX))
    }


def node_allocatable(node: Node) -> dict[str, int]:
    """Return what the node offers, under the names that scheduling counts."""
    return {
        name: quantity.milli_value(text) if name == CPU else quantity.value(text)
        for name, text in node.status.allocatable.items()
        if is_counted(name)
    }


def is_counted(name: str) -> bool:
    """Say whether scheduling counts what nodes offer under a name."""
    return name in _PLAIN or name == PODS or is_scalar(name)


@lru_cache(maxsize=1 << 12)
def is_scalar(name: str) -> bool:
    """Say whether the name is an extended, huge page, prefixed native or attachable resource."""
    if "kubernetes.io/" in name or name.startswith(("hugepages-", "attachable-volumes-")):
        return True
    return is_extended(name)


def is_extended(name: str) -> bool:
    """Say whether the name is outside the kubernetes.io domain and fit for a quota."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return is_qualified_name(f"requests.{name}")


def _requests(pod: RequestingPod, defaults: Mapping[str, str], use_status: bool) -> dict[str, int]:
    try:
        total = total_requests(pod, _nanos, defaults, use_status)
        return {name: _rounded(name, nanos) for name, nanos in total.items()}
    except _BeyondError:
        exact = total_requests(pod, quantity.parse, defaults, use_status)
        return {name: q.milli_value if name == CPU else q.value for name, q in exact.items()}


def _nanos(text: str) -> int:
    nanos = quantity.nanos(text)
    if nanos is None:
        raise _BeyondError
    return nanos


def _rounded(name: str, nanos: int) -> int:
    rounded = -(-nanos // (10**6 if name == CPU else 10**9))
    if rounded > int64.MAX:
        raise _BeyondError
    return rounded


_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")


def format_amount(resource: str, value: int) -> str:
    """An amount in the units that scheduling counts in: `1500m`, `2Gi`, `8`."""
    if resource == "cpu":
        return quantity.format(Quantity(value, quantity.MILLI))
    form = BINARY_SI if resource.startswith(_BYTES) else DECIMAL_SI
    return quantity.format(Quantity(value, 0, form))
