"""Extended resources that device classes back, as claims.

A pod that requests such a resource gets a claim of its own, which exists in memory until the pod
has a node. Its requests differ from node to node: a node that offers the resource through a device
plugin needs no devices for it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from moorage.api.meta import ApiStruct, OwnerReference
from moorage.api.pod import Container, Pod
from moorage.api.quantity import Quantity, parse
from moorage.api.resource_amounts import is_extended
from moorage.api.resource_claims import (
    EXACT_COUNT,
    ClaimMeta,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from moorage.api.resource_slices import DeviceClass
from moorage.devices.claim_tracker import EXTENDED_RESOURCE_CLAIM
from moorage.devices.classes import CLASS_RESOURCE_PREFIX

IN_MEMORY_NAME: Final = "<extended-resources>"
"""The name of a claim that exists in memory only; no claim on an API server can have it."""

ClassOf = Callable[[str], DeviceClass | None]


class RequestMapping(ApiStruct):
    """Maps a container's extended resource to the request of the claim that serves it."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class NodeRequests(NamedTuple):
    """The requests of a claim for extended resources on a node, and the containers they serve."""

    requests: tuple[DeviceRequest, ...]
    mappings: tuple[RequestMapping, ...]


def may_be_backed(resource: str) -> bool:
    """Whether a device class may back a resource of this name."""
    return is_extended(resource) or resource.startswith(CLASS_RESOURCE_PREFIX)


def backed_resources(requests: Mapping[str, int], class_of: ClassOf) -> bool:
    """Whether a pod requests any resource that a device class backs."""
    return any(
        amount and may_be_backed(name) and class_of(name) is not None
        for name, amount in requests.items()
    )


def in_memory_claim(pod: Pod) -> ResourceClaim:
    """The claim for a pod's extended resources, before anything is known of its node."""
    owner = OwnerReference(
        api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True
    )
    return ResourceClaim(
        metadata=ClaimMeta(
            name=IN_MEMORY_NAME,
            namespace=pod.namespace,
            uid=f"{IN_MEMORY_NAME}/{pod.uid}",
            generate_name=f"{pod.name}-extended-resources-",
            owner_references=(owner,),
            annotations={EXTENDED_RESOURCE_CLAIM: "true"},
        )
    )


def with_requests(claim: ResourceClaim, requests: tuple[DeviceRequest, ...]) -> ResourceClaim:
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=requests))
    return msgspec.structs.replace(claim, spec=spec)


def node_requests(pod: Pod, resources: Iterable[str], class_of: ClassOf) -> NodeRequests:
    """Requests and mappings for the resources that a node has no device plugin for."""
    requests: list[DeviceRequest] = []
    mappings: list[RequestMapping] = []
    for resource in sorted(resources):
        cls = class_of(resource)
        if cls is not None:
            of_resource = _ResourceRequests(pod, resource, cls.name)
            requests += of_resource.requests
            mappings += of_resource.mappings
    requests.sort(key=lambda request: request.name)
    return NodeRequests(tuple(requests), tuple(mappings))


class _ResourceRequests:
    """The requests for one resource.

    1. A container that keeps running (a sidecar too) has a request of its own.
    2. An init container that ends may use the devices of containers that start after it.
    3. What such init containers need beyond that is one request, as large as the largest need;
       they share it.
    """

    def __init__(self, pod: Pod, resource: str, class_name: str) -> None:
        self._resource = resource
        self._class_name = class_name
        self._containers = (*pod.spec.init_containers, *pod.spec.containers)
        starts = range(len(pod.spec.init_containers))
        brief = [i for i in starts if self._containers[i].restart_policy != "Always"]
        lasting = [i for i in range(len(self._containers)) if i not in brief]
        self.mappings: list[RequestMapping] = []
        self._own: list[DeviceRequest | None] = [None] * len(self._containers)
        for index in lasting:
            self._own[index] = self._request(index, (), self.mappings)
        shared = self._brief_request(brief)
        self.requests = [each for each in (shared, *self._own) if each is not None]

    def _brief_request(self, brief: list[int]) -> DeviceRequest | None:
        greediest: DeviceRequest | None = None
        names: set[str] = set()
        mappings: list[RequestMapping] = []
        for index in brief:
            request = self._request(index, self._own[index:], mappings)
            if request is None:
                continue
            names.add(request.name)
            if greediest is None or _count(greediest) < _count(request):
                greediest = request
        for mapping in mappings:
            if greediest is not None and mapping.request_name in names:
                mapping = msgspec.structs.replace(mapping, request_name=greediest.name)
            self.mappings.append(mapping)
        return greediest

    def _request(
        self,
        index: int,
        reusable: Iterable[DeviceRequest | None],
        mappings: list[RequestMapping],
    ) -> DeviceRequest | None:
        """The request for what a container needs beyond the reusable ones; None if nothing."""
        container = self._containers[index]
        wanted = _whole(container.resources.requests.get(self._resource))
        if not wanted:
            return None
        have = 0
        for other in reusable:
            if other is not None:
                have += _count(other)
                mappings.append(self._mapping(container, other.name))
                if have >= wanted:
                    return None
        position = sorted(container.resources.requests).index(self._resource)
        name = f"container-{index}-request-{position}"
        mappings.append(self._mapping(container, name))
        exact = ExactDeviceRequest(
            device_class_name=self._class_name, allocation_mode=EXACT_COUNT, count=wanted - have
        )
        return DeviceRequest(name=name, exactly=exact)

    def _mapping(self, container: Container, request: str) -> RequestMapping:
        return RequestMapping(
            container_name=container.name, resource_name=self._resource, request_name=request
        )


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0


def _whole(text: str | None) -> int:
    """The quantity as an integer; 0 if there is none, or if it is not whole."""
    if text is None:
        return 0
    parsed = parse(text)
    return parsed.value if Quantity(parsed.value) == parsed else 0
