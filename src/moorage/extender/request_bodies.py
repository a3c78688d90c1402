"""JSON bodies of requests to extenders; each node is encoded once while it stays the same.

Objects are sent with the fields that scheduling reads: names, labels, annotations, owners; of pods
the containers with images, resources and ports, and all fields that affect placement; of nodes
taints, capacity, conditions and images.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from moorage.api.meta import ApiStruct, ObjectMeta
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.extender import protocol
from moorage.extender.protocol import WireDecodeError
from moorage.framework.extenders import ExtenderError

Victims = Mapping[str, tuple[Sequence[Pod], int]]


class _Named(ApiStruct):
    metadata: ObjectMeta = ObjectMeta()


class RequestBodies:
    """Encodes requests; shared by all extenders of a configuration."""

    def __init__(self) -> None:
        self._encoder = msgspec.json.Encoder()
        self._nodes: dict[str, tuple[Node, msgspec.Raw]] = {}

    def args(self, pod: Pod, nodes: Sequence[Node], *, by_name: bool) -> bytes:
        """A pod and its candidates."""
        if by_name:
            names = [node.metadata.name for node in nodes]
            return self._encoder.encode(protocol.ExtenderArgs(pod=self._raw(pod), node_names=names))
        listed = protocol.NodeList(items=[self._node(node) for node in nodes])
        return self._encoder.encode(
            protocol.ExtenderArgs(pod=self._raw(pod), nodes=self._raw(listed))
        )

    def preemption(self, pod: Pod, victims: Victims, *, by_uid: bool) -> bytes:
        """A pod, and the victims on each candidate node."""
        args = protocol.ExtenderPreemptionArgs(
            pod=self._raw(pod),
            node_name_to_victims=None if by_uid else self._whole(victims),
            node_name_to_meta_victims=_by_uid(victims) if by_uid else None,
        )
        return self._encoder.encode(args)

    def names(self, nodes: msgspec.Raw) -> list[str]:
        """The names of the nodes in an answer."""
        try:
            items = protocol.decode_wire(nodes, protocol.NodeList).items or []
            return [_decode_named(item).metadata.name for item in items]
        except (WireDecodeError, msgspec.DecodeError) as error:
            raise ExtenderError(f"extender: Nodes: {error}") from None

    def _whole(self, victims: Victims) -> dict[str, protocol.Victims]:
        return {
            node: protocol.Victims(pods=self._raws(pods), num_pdb_violations=violations)
            for node, (pods, violations) in victims.items()
        }

    def _node(self, node: Node) -> msgspec.Raw:
        known = self._nodes.get(node.name)
        if known is None or known[0] is not node:
            known = self._nodes[node.name] = (node, self._raw(node))
        return known[1]

    def _raws(self, pods: Iterable[Pod]) -> list[msgspec.Raw]:
        return [self._raw(pod) for pod in pods]

    def _raw(self, struct: msgspec.Struct) -> msgspec.Raw:
        return msgspec.Raw(self._encoder.encode(struct))


def _by_uid(victims: Victims) -> dict[str, protocol.MetaVictims]:
    return {
        node: protocol.MetaVictims(
            pods=[protocol.MetaPod(uid=pod.uid) for pod in pods], num_pdb_violations=violations
        )
        for node, (pods, violations) in victims.items()
    }


_decode_named = msgspec.json.Decoder(_Named).decode
