"""The device requests of a pod, node by node.

Claims have the same requests on every node. Extended resources need devices only on nodes that do
not offer them through a device plugin, so the requests depend on the resources that a node lacks.
"""

from collections.abc import Hashable

import msgspec

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.resource_claims import DeviceRequest
from moorage.devices.device_cache import backing_class, device_cache
from moorage.devices.requests import expressions
from moorage.framework.cycle import Cycle
from moorage.plugins.dynamic_resources.claim_columns import (
    CANNOT_FIT,
    STALE_EXTENDED,
    NodeQuestion,
)
from moorage.plugins.dynamic_resources.claim_state import ClaimState
from moorage.plugins.dynamic_resources.extended_resources import (
    may_be_backed,
    node_requests,
    with_requests,
)

_encode = msgspec.json.Encoder().encode


class NodeQuestions:
    """The questions of one attempt: nodes that lack the same resources share one."""

    def __init__(self, cycle: Cycle, pod: Pod, state: ClaimState) -> None:
        self._cycle = cycle
        self._pod = pod
        self._state = state
        self._wanted = [state.claims[position] for position in state.to_allocate]
        self._made: dict[tuple[str, ...], NodeQuestion] = {}
        self._resources = (
            [
                (name, backing_class(cycle.cache, name) is not None)
                for name, amount in cycle.incoming.cls.asked_requests.items()
                if amount and may_be_backed(name)
            ]
            if state.extended is not None
            else []
        )
        """(extended resource that the pod requests, whether a device class backs it)."""

    def of(self, node: Node) -> NodeQuestion:
        extended = self._state.extended
        if extended is not None and extended.spec.devices.requests:
            return NodeQuestion((), code=STALE_EXTENDED)
        lacks = self._lacks(node)
        if lacks is None:
            return NodeQuestion((), code=CANNOT_FIT)
        made = self._made.get(lacks)
        if made is None:
            made = self._made[lacks] = self._make(lacks)
        return made

    def _lacks(self, node: Node) -> tuple[str, ...] | None:
        """The resources needed as devices; None if the node lacks one that no class backs."""
        lacks = []
        for name, is_backed in self._resources:
            if is_backed and not self._cycle.allocatable(node.name, name):
                lacks.append(name)
            elif name not in node.status.allocatable:
                return None
        return tuple(lacks)

    def _make(self, lacks: tuple[str, ...]) -> NodeQuestion:
        extended = self._state.extended
        if extended is None:
            return NodeQuestion(self._wanted)
        cache = self._cycle.cache
        asked = node_requests(self._pod, lacks, lambda name: backing_class(cache, name))
        if not asked.requests and not self._state.user_claims:
            return NodeQuestion(())
        claim = with_requests(extended, asked.requests)
        wanted = [claim if each is extended else each for each in self._wanted]
        return NodeQuestion(wanted, asked.mappings, key=self._key(asked.requests))

    def _key(self, requests: tuple[DeviceRequest, ...]) -> Hashable:
        """What a search depends on besides the node; of classes their selectors, not the names."""
        classes = device_cache(self._cycle.cache).classes
        extended: list[Hashable] = []
        for request in requests:
            exact = request.exactly
            cls = None if exact is None else classes.get(exact.device_class_name)
            if exact is None or cls is None:
                return None
            extended.append((exact.count, expressions(cls.spec.selectors)))
        others = [each for each in self._wanted if each is not self._state.extended]
        return tuple(extended), *(_encode(each.spec) for each in others)
