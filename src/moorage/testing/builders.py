"""Builds pods and nodes step by step. Every step returns a new builder; `.build()` the struct."""

import copy
from typing import Any, Generic, TypeVar

from moorage.api.decode import decode_as
from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod

Raw = dict[str, Any]
Built = TypeVar("Built", bound=KubeObject)
Self = TypeVar("Self", bound="_Builder[Any]")


class _Builder(Generic[Built]):
    struct: type[Built]

    def __init__(self, raw: Raw) -> None:
        self.raw = raw

    def _with(self: Self, change: Any) -> Self:
        raw = copy.deepcopy(self.raw)
        change(raw)
        return type(self)(raw)

    def labelled(self: Self, labels: dict[str, str] | None = None, /, **more: str) -> Self:
        """Add these labels; keys that are no Python names go in the dict."""
        given = {**(labels or {}), **more}
        return self._with(lambda raw: raw["metadata"].setdefault("labels", {}).update(given))

    def annotated(self: Self, annotations: dict[str, str] | None = None, /, **more: str) -> Self:
        given = {**(annotations or {}), **more}
        return self._with(lambda raw: raw["metadata"].setdefault("annotations", {}).update(given))

    def build(self) -> Built:
        """The API struct."""
        return decode_as(copy.deepcopy(self.raw), self.struct)


class PodBuilder(_Builder[Pod]):
    """Builds a pod."""

    struct = Pod

    def requesting(self, requests: dict[str, str] | None = None, /, **more: str) -> "PodBuilder":
        """Add one container with these requests: `{"example.com/gpu": "1"}`, `cpu="500m"`."""
        container = {"name": "c", "resources": {"requests": {**(requests or {}), **more}}}
        return self._with(lambda raw: raw["spec"].update(containers=[container]))

    def using(self, image: str) -> "PodBuilder":
        return self._with(lambda raw: raw["spec"]["containers"][0].update(image=image))

    def listening(self, port: int, protocol: str = "TCP", ip: str = "") -> "PodBuilder":
        """Add a host port."""
        given = {"containerPort": port, "hostPort": port, "protocol": protocol, "hostIP": ip}
        return self._with(
            lambda raw: raw["spec"]["containers"][0].setdefault("ports", []).append(given)
        )

    def tolerating(self, key: str, value: str | None = None, effect: str = "") -> "PodBuilder":
        """Tolerate a taint with this value, or with any."""
        toleration: Raw = {"key": key, "operator": "Exists" if value is None else "Equal"}
        if value is not None:
            toleration["value"] = value
        if effect:
            toleration["effect"] = effect
        return self._with(lambda raw: raw["spec"].setdefault("tolerations", []).append(toleration))

    def selecting(self, labels: dict[str, str] | None = None, /, **more: str) -> "PodBuilder":
        """Require nodes with these labels (spec.nodeSelector)."""
        given = {**(labels or {}), **more}
        return self._with(lambda raw: raw["spec"].setdefault("nodeSelector", {}).update(given))

    def prioritised(self, priority: int) -> "PodBuilder":
        return self.with_spec(priority=priority)

    def scheduled_by(self, scheduler: str) -> "PodBuilder":
        return self.with_spec(schedulerName=scheduler)

    def gated(self, *gates: str) -> "PodBuilder":
        return self.with_spec(schedulingGates=[{"name": gate} for gate in gates])

    def on(self, node: str) -> "PodBuilder":
        """Bind it to a node, where it runs."""
        started = self.with_spec(nodeName=node)
        return started._with(lambda raw: raw.setdefault("status", {}).update(phase="Running"))

    def with_spec(self, **fields: Any) -> "PodBuilder":
        """Set any other fields of the spec, in Kubernetes' own names."""
        return self._with(lambda raw: raw["spec"].update(copy.deepcopy(fields)))


class NodeBuilder(_Builder[Node]):
    """Builds a node."""

    struct = Node

    def offering(self, amounts: dict[str, str] | None = None, /, **more: str) -> "NodeBuilder":
        """Offer these resources, in addition to the default ones or in place of them."""
        given = {**(amounts or {}), **more}

        def change(raw: Raw) -> None:
            raw["status"]["allocatable"].update(given)
            raw["status"]["capacity"].update(given)

        return self._with(change)

    def in_zone(self, zone: str) -> "NodeBuilder":
        return self.labelled({"topology.kubernetes.io/zone": zone})

    def tainted(self, key: str, value: str = "", effect: str = "NoSchedule") -> "NodeBuilder":
        taint = {"key": key, "value": value, "effect": effect}
        return self._with(lambda raw: raw["spec"].setdefault("taints", []).append(taint))

    def cordoned(self) -> "NodeBuilder":
        return self._with(lambda raw: raw["spec"].update(unschedulable=True))

    def holding(self, image: str, size: int = 100 * 2**20) -> "NodeBuilder":
        """Add a container image, with its size in bytes."""
        held = {"names": [image], "sizeBytes": size}
        return self._with(lambda raw: raw["status"].setdefault("images", []).append(held))


def pod(name: str, namespace: str = "default") -> PodBuilder:
    """A pod without requests."""
    return PodBuilder(
        {
            "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"},
            "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c"}]},
        }
    )


def node(name: str) -> NodeBuilder:
    """A node of 4 cores, 16 GiB and room for 110 pods."""
    offered = {"cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return NodeBuilder(
        {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": {},
            "status": {"allocatable": dict(offered), "capacity": dict(offered)},
        }
    )
