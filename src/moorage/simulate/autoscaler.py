"""A simple autoscaler: it starts nodes for pending pods, and removes those that stay empty.

1. While pods are pending, every `every_seconds`, each pod that fits a node of some group is put
   on a node that is still starting. If none has room, a new node is started, of the group that
   costs least for this pod.
2. A node that it started is removed after it has held no pod for `idle_seconds`.
"""

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from moorage.api.node import HOSTNAME_LABEL, Node
from moorage.api.pod import Pod
from moorage.api.taints import NO_EXECUTE, NO_SCHEDULE, find_untolerated
from moorage.clock import VirtualClock
from moorage.simulate.node_pool import NodePool, offered
from moorage.simulate.pod_lifecycle import PodLifecycle
from moorage.simulate.scenario import NodeGroup, PricedNode, Scaling

_EFFECTS: Final = (NO_SCHEDULE, NO_EXECUTE)


class _Starting:
    """A node that is starting, and the free resources that no pending pod was put on yet."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.room = offered(node)

    def take(self, requests: Mapping[str, float]) -> bool:
        if not _fits(requests, self.room):
            return False
        for name, amount in requests.items():
            self.room[name] -= amount
        return True


class Autoscaler:
    """Looks periodically at the pending pods and at the nodes it started."""

    def __init__(
        self, scaling: Scaling, pool: NodePool, pods: PodLifecycle, clock: VirtualClock
    ) -> None:
        self._scaling = scaling
        self._pool = pool
        self._pods = pods
        self._clock = clock
        self._started: list[int] = [0] * len(scaling.groups)
        self._alive: dict[str, int] = {}
        self._empty_since: dict[str, float] = {}
        self._starting: dict[str, _Starting] = {}
        self._looking = False

    def wake(self) -> None:
        """Schedule a look, because pods are pending or nodes are empty."""
        if not self._looking:
            self._looking = True
            later = self._clock.now() + self._scaling.every_seconds
            self._clock.call_at(later, self._look)

    @property
    def may_help(self) -> bool:
        """Whether a new node would take one of the pending pods."""
        return any(self._choose(pod) is not None for pod in self._pods.pending())

    def _look(self) -> None:
        self._looking = False
        for name in [name for name in self._starting if name in self._pool.present]:
            del self._starting[name]
        self._grow()
        self._shrink()
        if self._pods.waiting or any(name in self._pool.present for name in self._alive):
            self.wake()

    def _grow(self) -> None:
        for pod in self._pods.pending():
            requests = {name: float(amount) for name, amount in pod.requests.items() if amount}
            suited = (s for s in self._starting.values() if _suits(pod, s.node))
            if any(starting.take(requests) for starting in suited):
                continue
            chosen = self._choose(pod)
            if chosen is not None:
                self._start(chosen).take(requests)

    def _choose(self, pod: Pod) -> int | None:
        """The group that costs least: its price times the fraction of a node the pod takes."""
        best: tuple[float, int] | None = None
        for index, group in enumerate(self._scaling.groups):
            alive = sum(each == index for each in self._alive.values())
            cost = _cost(pod, group)
            if alive < group.most and cost < math.inf and (best is None or cost < best[0]):
                best = (cost, index)
        return None if best is None else best[1]

    def _start(self, index: int) -> _Starting:
        group = self._scaling.groups[index]
        name = f"{group.sample.node.name}-auto-{self._started[index]}"
        self._started[index] += 1
        self._alive[name] = index
        node = _named(group.sample, name)
        self._pool.join_later(node, group.start_seconds)
        starting = self._starting[name] = _Starting(node.node)
        return starting

    def _shrink(self) -> None:
        now = self._clock.now()
        for name in list(self._alive):
            if name not in self._pool.present:
                if name not in self._starting:
                    del self._alive[name]
            elif self._pods.pods_on(name):
                self._empty_since.pop(name, None)
            elif now - self._empty_since.setdefault(name, now) >= self._scaling.idle_seconds:
                del self._empty_since[name], self._alive[name]
                self._pool.leave(name)


def _cost(pod: Pod, group: NodeGroup) -> float:
    node, price = group.sample.node, group.sample.price_per_hour
    room = offered(node)
    requests = {name: float(amount) for name, amount in pod.requests.items() if amount}
    if not (_suits(pod, node) and _fits(requests, room)):
        return math.inf
    part = max((amount / room[name] for name, amount in requests.items()), default=0.0)
    return price * max(part, 1e-6) if price else part


def _fits(requests: Mapping[str, float], room: Mapping[str, float]) -> bool:
    return all(amount <= room.get(name, 0.0) for name, amount in requests.items())


def _suits(pod: Pod, node: Node) -> bool:
    """Whether the pod's node selector and tolerations allow such a node."""
    selector, labels = pod.spec.node_selector, node.labels
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    return find_untolerated(node.taints, pod.spec.tolerations, _EFFECTS) is None


def _named(sample: PricedNode, name: str) -> PricedNode:
    labels = {**sample.node.labels, HOSTNAME_LABEL: name}
    metadata = msgspec.structs.replace(sample.node.metadata, name=name, uid=name, labels=labels)
    node = msgspec.structs.replace(sample.node, metadata=metadata)
    return msgspec.structs.replace(sample, node=node)
