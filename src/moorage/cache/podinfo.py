"""PodInfo: a pod with what its spec means, computed once per class of equal pods."""

from collections.abc import Iterable
from typing import Any, Final
from weakref import ref

import msgspec

from moorage.api.meta import ObjectError
from moorage.api.pod import Pod, PodSpec, PodStatus
from moorage.api.pod_spec import Container
from moorage.api.resource_amounts import pod_nonzero_requests, pod_requests, pod_scoring_requests
from moorage.api.resource_requests import is_resize_infeasible
from moorage.api.volumes import Volume
from moorage.cache.interner import Interner

CPU, MEMORY, EPHEMERAL_STORAGE = 0, 1, 2
ORDINARY = 1 << 46
"""Amounts from zero up to this are exact in float64, also as fractions and in percent."""

SWEEP_AFTER: Final = 4096
"""The least number of new classes after which those without pods are swept."""

BASE_RESOURCES = ("cpu", "memory", "ephemeral-storage")

_BUT_CLAIMS: Final = "like but claims"

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Feature:
    """What a pod may bring that concerns certain plugins; flags in a plain int, for speed."""

    PORTS = 1
    VOLUMES = 2
    NODE_AFFINITY = 4
    CLAIMS = 8
    NODE_NAME = 16
    POD_AFFINITY = 32
    KUBELET = 64
    """Settings of containers that may need a feature of the kubelet."""
    EXTENDED = 128
    """A request for an extended resource, such as a GPU."""
    ANYTHING = -1


class HostPort(msgspec.Struct, frozen=True):
    ip: str
    protocol: str
    port: int


class PodClass:
    """Pods whose scheduling-relevant spec is equal share one class.

    Volumes and mounts that no scheduler reads are ignored: every pod has a volume for its token,
    under a name of its own.

    `requests` holds (resource index, amount), amounts above zero only, scalars by name.
    `asked_requests` are the same by name, `named_requests` are those as a resize has left them.
    `scored_requests` are of containers alone, with defaults where they ask for nothing: what kube's
    Fit scores by. The last two have a `_sign`, to tell columns apart by.
    `memo` is where plugins keep what they compile from the spec, under their own key.
    `like_spec` is equal for classes of one namespace that differ only in labels: every pod of a
    StatefulSet has labels of its own.
    """

    __slots__ = (
        "__weakref__",
        "asked_requests",
        "features",
        "id",
        "is_ordinary",
        "labels",
        "like_spec",
        "memo",
        "named_requests",
        "named_sign",
        "namespace",
        "nonzero",
        "ports",
        "requests",
        "sample",
        "scored_requests",
        "scored_sign",
    )

    def __init__(
        self, id_: int, sample: Pod, resources: Interner[str], like: "PodClass | None" = None
    ) -> None:
        """`like` is a class of pods with the same spec and other labels, if there is one."""
        self.id = id_
        self.sample = sample
        self.namespace = sample.namespace
        self.labels = sample.labels
        self.memo: dict[str, Any] = {}
        self.like_spec: tuple[str, int] = (
            self.namespace,
            id_ if like is None else like.like_spec[1],
        )
        if like is None:
            self._read(sample, resources)
        else:
            self._copy(like)

    def _read(self, sample: Pod, resources: Interner[str]) -> None:
        """Compute everything that depends on the spec."""
        asked = msgspec.structs.replace(sample, status=PodStatus())
        named = self.asked_requests = pod_requests(asked)
        self.requests = request_vector(named, resources)
        self.named_requests = pod_requests(sample) if _resized(sample) else named
        self.named_sign = tuple(self.named_requests.items())
        self.scored_requests = _scored_requests(asked)
        self.scored_sign = tuple(self.scored_requests.get(name, 0) for name in ("cpu", "memory"))
        self.nonzero = pod_nonzero_requests(asked)
        amounts = (*self.nonzero, *(amount for _, amount in self.requests))
        self.is_ordinary = _are_ordinary(amounts) and (
            not _resized(sample) or _are_ordinary(pod_requests(sample).values())
        )
        self.ports = host_ports(sample)
        extended = any("/" in name for name in (*named, *self.named_requests))
        self.features = features_of(sample) | Feature.EXTENDED * extended

    def _copy(self, like: "PodClass") -> None:
        self.requests, self.nonzero = like.requests, like.nonzero
        self.asked_requests = like.asked_requests
        self.named_requests, self.named_sign = like.named_requests, like.named_sign
        self.scored_requests, self.scored_sign = like.scored_requests, like.scored_sign
        self.is_ordinary, self.ports, self.features = like.is_ordinary, like.ports, like.features


def _scored_requests(asked: Pod) -> dict[str, int]:
    if asked.spec.resources is not None:
        spec = msgspec.structs.replace(asked.spec, resources=None)
        asked = msgspec.structs.replace(asked, spec=spec)
    return pod_scoring_requests(asked)


class PodInfo:
    """One pod and its class."""

    __slots__ = ("cls", "nonzero", "pod", "priority", "requests", "uid")

    def __init__(self, pod: Pod, cls: PodClass) -> None:
        self.pod = pod
        self.cls = cls
        self.uid = pod.uid
        self.priority = pod.priority
        self.requests = cls.requests
        self.nonzero = cls.nonzero

    def uses_as(self, other: "PodInfo") -> bool:
        """Whether the two pods use the same amounts and host ports of a node."""
        return (
            self.requests == other.requests
            and self.nonzero == other.nonzero
            and self.cls.ports == other.cls.ports
        )

    def __repr__(self) -> str:
        return f"PodInfo({self.pod.key})"


def request_vector(
    requests: dict[str, int], resources: Interner[str]
) -> tuple[tuple[int, int], ...]:
    """Requests as (resource index, amount): cpu, memory, storage, then the others as written."""
    others = (name for name in requests if name not in BASE_RESOURCES and name != "pods")
    named = (name for name in (*BASE_RESOURCES, *others) if requests.get(name))
    return tuple((resources.intern(name), requests[name]) for name in named)


def features_of(pod: Pod) -> int:
    """The features that all pods of a class share, as flags."""
    spec, affinity = pod.spec, pod.spec.affinity
    found = Feature.CLAIMS * bool(spec.resource_claims)
    found |= Feature.VOLUMES * any(map(_is_read, spec.volumes))
    if spec.node_selector:
        found |= Feature.NODE_AFFINITY
    if affinity is not None:
        found |= Feature.NODE_AFFINITY * (affinity.node_affinity is not None)
        found |= Feature.POD_AFFINITY * (
            affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None
        )
    found |= Feature.KUBELET * spec.host_network
    for container in (*spec.containers, *spec.init_containers):
        found |= Feature.PORTS * bool(container.ports)
        if container.restart_policy_rules or any(
            mount.bind_mount_options for mount in container.volume_mounts
        ):
            found |= Feature.KUBELET
    return found


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Host ports of containers and of sidecars, with Kubernetes' defaults filled in."""
    sidecars = (c for c in pod.spec.init_containers if c.restart_policy == "Always")
    return tuple(
        HostPort(port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
        for container in (*pod.spec.containers, *sidecars)
        for port in container.ports
        if port.host_port > 0
    )


class PodError(ObjectError):
    """An invalid pod, which no API server would have stored."""


class PodClasses:
    """Finds the class of a pod, or makes a new one.

    A class without pods is kept until some thousand others have come: the pods of a workload may
    come back, while those with a name of their own in the spec do not.
    """

    def __init__(self, resources: Interner[str], sweep_after: int = SWEEP_AFTER) -> None:
        self._resources = resources
        self._sweep_after = self._sweep_at = sweep_after
        self._classes: dict[tuple[str, bytes, bytes], PodClass] = {}
        self._by_spec: dict[bytes, PodClass] = {}
        """One class of each spec, to share what depends on the spec: binding may add labels."""
        self._next = 0

    def info(self, pod: Pod) -> PodInfo:
        spec = pod.spec
        try:
            key = (pod.namespace, _encode(pod.labels), _encode(_what_scheduling_reads(pod)))
        except OverflowError:
            raise PodError(f"Pod {pod.key}: a number in its spec exceeds 64 bits") from None
        cls = self._classes.get(key)
        if cls is None:
            cls = self._start(key, pod)
        info = PodInfo(pod, cls)
        if spec.node_name and _resized(pod):
            info.requests = request_vector(pod_requests(pod), self._resources)
            info.nonzero = pod_nonzero_requests(pod)
        return info

    def _start(self, key: tuple[str, bytes, bytes], pod: Pod) -> PodClass:
        if len(self._classes) >= self._sweep_at:
            self._sweep()
        sample = msgspec.structs.replace(pod, status=PodStatus()) if pod.spec.node_name else pod
        like = self._by_spec.get(key[2])
        cls = self._classes[key] = PodClass(self._next, sample, self._resources, like)
        self._next += 1
        if like is None:
            self._by_spec[key[2]] = cls
        return cls

    def _sweep(self) -> None:
        """Forget classes that are not referenced; due again when the number of classes doubles."""
        held = [(key, ref(cls)) for key, cls in self._classes.items()]
        self._by_spec.clear()
        self._classes.clear()
        for key, reference in held:
            cls = reference()
            if cls is not None:
                self._classes[key] = cls
                self._by_spec.setdefault(key[2], cls)
        self._sweep_at = len(self._classes) + max(self._sweep_after, len(self._classes))

    def __len__(self) -> int:
        return len(self._classes)


def _are_ordinary(amounts: Iterable[int]) -> bool:
    return all(0 <= amount < ORDINARY for amount in amounts)


def _what_scheduling_reads(pod: Pod) -> PodSpec | tuple[PodSpec, PodStatus]:
    """The relevant part of the spec; for a pod that waits also the status, if it was resized."""
    spec = pod.spec
    is_bound = bool(spec.node_name)
    if spec.volumes:
        spec = msgspec.structs.replace(
            spec,
            volumes=tuple(filter(_is_read, spec.volumes)),
            containers=_without_plain_mounts(spec.containers),
            init_containers=_without_plain_mounts(spec.init_containers),
        )
    if is_bound:
        return msgspec.structs.replace(spec, node_name="")
    return (spec, pod.status) if _resized(pod) else spec


def like_but_claims(cls: PodClass) -> tuple[str, bytes]:
    """A key that is equal for classes of one namespace that differ only in labels and claim names.

    Every pod of a StatefulSet has claims of its own.
    """
    found: tuple[str, bytes] | None = cls.memo.get(_BUT_CLAIMS)
    if found is None:
        pod = cls.sample
        spec = msgspec.structs.replace(pod.spec, volumes=tuple(map(_nameless, pod.spec.volumes)))
        read = _what_scheduling_reads(msgspec.structs.replace(pod, spec=spec))
        found = cls.memo[_BUT_CLAIMS] = cls.namespace, _encode(read)
    return found


def _nameless(volume: Volume) -> Volume:
    claim = volume.persistent_volume_claim
    if claim is None:
        return volume
    nameless = msgspec.structs.replace(claim, claim_name="")
    return msgspec.structs.replace(volume, persistent_volume_claim=nameless)


def _is_read(volume: Volume) -> bool:
    """Whether a scheduler reads anything of a volume but its name; False for secrets and tokens."""
    return volume != Volume(name=volume.name)


def _without_plain_mounts(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    """The containers without the mounts that need no feature of the kubelet."""
    return tuple(
        msgspec.structs.replace(
            container,
            volume_mounts=tuple(m for m in container.volume_mounts if m.bind_mount_options),
        )
        if container.volume_mounts
        else container
        for container in containers
    )


def _resized(pod: Pod) -> bool:
    """Whether the status reports resources that may differ from the spec's, as after a resize."""
    status = pod.status
    if status.container_statuses or status.init_container_statuses:
        return True
    return bool(status.allocated_resources or status.resources) or is_resize_infeasible(pod)
