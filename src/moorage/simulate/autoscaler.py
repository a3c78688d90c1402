"""A simple autoscaler: it starts nodes for pending pods, and removes those that stay empty.

1. From time to time, while pods wait, those that fit on a node of some group are dealt out: first
   to nodes that are starting, or came so shortly before that pods may still back off, then to a
   new node of the group that costs least for the pod. A pod that finds room at that very moment
   does not wait.
2. A node it has started, and that has held no pod for long enough, is ended.
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
from moorage.simulate.run_limits import SETTLED_SECONDS
from moorage.simulate.scenario import NodeGroup, PricedNode, Scaling

_EFFECTS: Final = (NO_SCHEDULE, NO_EXECUTE)


class _Starting:
    """A node that is starting, and the free resources that no pending pod was put on yet."""

    def __init__(self, node: Node, due: float) -> None:
        self.node = node
        self.due = due
        self.room: dict[str, float] = {}
        self.clear({})

    def clear(self, held: Mapping[str, float]) -> None:
        """Nobody has spoken for any of it, but for the pods that are there."""
        self.room = {
            name: amount - held.get(name, 0.0) for name, amount in offered(self.node).items()
        }

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
        self._due = 0.0

    def wake(self) -> None:
        """Pods wait: look soon."""
        if not self._looking:
            self._look_after(self._clock.now())

    def _look_after(self, now: float) -> None:
        """Look next when everything else of that moment has happened."""
        self._looking = True
        self._due = now + self._scaling.every_seconds
        self._clock.call_at(math.nextafter(self._due, math.inf), self._look)

    @property
    def names(self) -> frozenset[str]:
        """The nodes it has started, or is starting."""
        return frozenset(self._alive)

    @property
    def most(self) -> int:
        """How many nodes it may have at a time."""
        return sum(group.most for group in self._scaling.groups)

    @property
    def may_help(self) -> bool:
        """Whether a new node would take one of the pending pods."""
        return any(self._choose(pod) is not None for pod in self._pods.pending())

    def _look(self) -> None:
        self._looking = False
        self._forget_started()
        self._grow()
        self._shrink()
        if self._pods.waiting or self._alive:
            self._look_after(self._due)

    def _forget_started(self) -> None:
        """Nodes that have been there for as long as a back-off lasts take nobody any more."""
        pool = self._pool
        for name, starting in list(self._starting.items()):
            if name in pool.coming:
                continue
            if name not in pool.present or self._due - starting.due > SETTLED_SECONDS:
                del self._starting[name]

    def _grow(self) -> None:
        for name, starting in self._starting.items():
            starting.clear(self._pool.held_on(name))
        for pod in self._pods.pending():
            requests = {name: float(amount) for name, amount in pod.requests.items() if amount}
            suited = (s for s in self._starting.values() if _suits(pod, s.node))
            if any(starting.take(requests) for starting in suited):
                continue
            chosen = self._choose(pod)
            if chosen is not None:
                self._start(*chosen).take(requests)

    def _choose(self, pod: Pod) -> tuple[int, PricedNode] | None:
        """The group whose next node costs least for the part of it that the pod takes."""
        best: tuple[float, int, PricedNode] | None = None
        for index, group in enumerate(self._scaling.groups):
            alive = sum(each == index for each in self._alive.values())
            sample = _next_that_suits(pod, group, self._started[index])
            if alive >= group.most or sample is None:
                continue
            cost = _cost(pod, sample)
            if cost < math.inf and (best is None or cost < best[0]):
                best = (cost, index, sample)
        return None if best is None else best[1:]

    def _start(self, index: int, sample: PricedNode) -> _Starting:
        group = self._scaling.groups[index]
        name = f"{group.name}-auto-{self._started[index]}"
        self._started[index] += 1
        self._alive[name] = index
        node = _named(sample, name)
        due = self._due + group.start_seconds
        self._pool.join_at(due, node)
        starting = self._starting[name] = _Starting(node.node, due)
        return starting

    def _shrink(self) -> None:
        now = self._due
        for name in list(self._alive):
            if name not in self._pool.present:
                self._empty_since.pop(name, None)
                if name not in self._pool.coming:
                    del self._alive[name]
            elif self._pods.pods_on(name):
                self._empty_since.pop(name, None)
            elif now - self._empty_since.setdefault(name, now) >= self._scaling.idle_seconds:
                del self._empty_since[name], self._alive[name]
                self._pool.leave(name)


def _next_that_suits(pod: Pod, group: NodeGroup, started: int) -> PricedNode | None:
    """The sample whose turn it is, or the first after it whose zone the pod may go to."""
    turn = started % len(group.samples)
    in_turn = (*group.samples[turn:], *group.samples[:turn])
    return next((sample for sample in in_turn if _suits(pod, sample.node)), None)


def _cost(pod: Pod, sample: PricedNode) -> float:
    node, price = sample.node, sample.price_per_hour
    room = offered(node)
    requests = {name: float(amount) for name, amount in pod.requests.items() if amount}
    if not _fits(requests, room):
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
