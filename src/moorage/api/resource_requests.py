"""The sum of a pod's resource requests, over its containers, init containers and overhead.

1. Containers and sidecars add up.
2. An init container needs its own requests plus those of the sidecars started before it. The
   largest such need replaces the sum if it is larger.
3. While a pod is resized in place, the largest of the requested, allocated and actual amounts
   counts. The requested amount no longer counts once the kubelet calls it infeasible.
4. Requests of the pod as a whole replace the sum for cpu, memory and huge pages.
5. Overhead is added.

The caller chooses the number type: what `read` returns for a quantity's text, and adds and
compares.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from moorage.api import quantity
from moorage.api.pod_spec import Container, ContainerStatus, PodSpec, PodStatus
from moorage.api.quantity import Quantity

Number = TypeVar("Number", int, Quantity)
Read = Callable[[str], Number]
Texts = Mapping[str, str]
Pick = Callable[[Container], Texts]


class RequestingPod(Protocol):
    """The parts of a pod that determine its requests."""

    @property
    def spec(self) -> PodSpec: ...
    @property
    def status(self) -> PodStatus: ...


def total_requests(
    pod: RequestingPod, read: Read[Number], defaults: Texts, use_status: bool
) -> dict[str, Number]:
    """Sum the pod's requests; `defaults` replace what a container does not request."""
    if use_status and _has_status(pod):
        total = _with_status(pod, read, defaults)
    else:
        total = _aggregate(pod, read, defaults, _asked)
    if pod.spec.resources is not None:
        total.update(_pod_level(pod, read, use_status))
    if pod.spec.overhead:
        _add(total, _read_all(pod.spec.overhead, read))
    return total


def is_pod_level_set(pod: RequestingPod) -> bool:
    """Say whether the pod as a whole requests cpu, memory or huge pages."""
    resources = pod.spec.resources
    return resources is not None and any(map(_is_pod_level, resources.requests))


def is_resize_infeasible(pod: RequestingPod) -> bool:
    """Say whether the kubelet has given up on the requested resize."""
    for condition in pod.status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _has_status(pod: RequestingPod) -> bool:
    status = pod.status
    for container in (*status.container_statuses, *status.init_container_statuses):
        if container.allocated_resources or container.resources is not None:
            return True
    return bool(status.allocated_resources) or is_resize_infeasible(pod)


def _with_status(pod: RequestingPod, read: Read[Number], defaults: Texts) -> dict[str, Number]:
    status = pod.status
    infeasible = is_resize_infeasible(pod)
    if status.allocated_resources and status.resources and status.resources.requests:
        allocated = _read_all(status.allocated_resources, read)
        actuated = _read_all(status.resources.requests, read)
    else:
        statuses = _statuses(pod)
        allocated = _aggregate(pod, read, defaults, _allocated(statuses, infeasible))
        actuated = _aggregate(pod, read, defaults, _actuated(statuses, infeasible))
    total = {} if infeasible else _aggregate(pod, read, defaults, _asked)
    _raise_to(total, actuated)
    _raise_to(total, allocated)
    return total


def _pod_level(pod: RequestingPod, read: Read[Number], use_status: bool) -> dict[str, Number]:
    resources, status = pod.spec.resources, pod.status
    if resources is None or not is_pod_level_set(pod):
        return {}
    total = _read_all(resources.requests, read)
    if use_status and status.resources is not None:
        if is_resize_infeasible(pod):
            total = {}
        _raise_to(total, _read_all(status.resources.requests, read))
        _raise_to(total, _read_all(status.allocated_resources, read))
    return {name: number for name, number in total.items() if _is_pod_level(name)}


def _aggregate(
    pod: RequestingPod, read: Read[Number], defaults: Texts, pick: Pick
) -> dict[str, Number]:
    total: dict[str, Number] = {}
    for container in pod.spec.containers:
        _add(total, _need(container, read, defaults, pick))
    if pod.spec.init_containers:
        _add_init_containers(total, pod, read, defaults, pick)
    return total


def _add_init_containers(
    total: dict[str, Number], pod: RequestingPod, read: Read[Number], defaults: Texts, pick: Pick
) -> None:
    sidecars: dict[str, Number] = {}
    peak: dict[str, Number] = {}
    for container in pod.spec.init_containers:
        need = _need(container, read, defaults, pick)
        if container.restart_policy == "Always":
            _add(total, need)
            _add(sidecars, need)
            need = sidecars
        else:
            _add(need, sidecars)
        _raise_to(peak, need)
    _raise_to(total, peak)


def _need(
    container: Container, read: Read[Number], defaults: Texts, pick: Pick
) -> dict[str, Number]:
    asked = pick(container)
    return _read_all({**defaults, **asked} if defaults else asked, read)


def _asked(container: Container) -> Texts:
    return container.resources.requests


def _statuses(pod: RequestingPod) -> dict[str, ContainerStatus]:
    status = pod.status
    every = (*status.container_statuses, *status.init_container_statuses)
    return {s.name: s for s in reversed(every)}


def _allocated(statuses: Mapping[str, ContainerStatus], infeasible: bool) -> Pick:
    def pick(container: Container) -> Texts:
        status = statuses.get(container.name)
        if status is not None and status.allocated_resources:
            return status.allocated_resources
        return {} if infeasible else container.resources.requests

    return pick


def _actuated(statuses: Mapping[str, ContainerStatus], infeasible: bool) -> Pick:
    allocated = _allocated(statuses, infeasible)

    def pick(container: Container) -> Texts:
        status = statuses.get(container.name)
        if status is not None and status.resources is not None and status.resources.requests:
            return status.resources.requests
        return allocated(container)

    return pick


def _read_all(texts: Texts, read: Read[Number]) -> dict[str, Number]:
    return {name: read(text) for name, text in texts.items()}


def _add(total: dict[str, Number], more: Mapping[str, Number]) -> None:
    for name, number in more.items():
        total[name] = total[name] + number if name in total else number


def _raise_to(total: dict[str, Number], other: Mapping[str, Number]) -> None:
    for name, number in other.items():
        if name not in total:
            total[name] = number
        elif number > total[name]:
            total[name] = quantity.compared(number, total[name])
