"""The order in which kube-scheduler walks nodes: round robin over zones."""

from itertools import chain, zip_longest

from moorage.api.node import Node


class NodeTree:
    """Node names by zone, zones and names in order of arrival."""

    __slots__ = ("_zones",)

    def __init__(self) -> None:
        self._zones: dict[str, dict[str, None]] = {}

    def add(self, node: Node) -> None:
        self._zones.setdefault(zone_key(node), {})[node.name] = None

    def remove(self, node: Node) -> None:
        zone = self._zones.get(zone_key(node), {})
        zone.pop(node.name, None)
        if not zone:
            self._zones.pop(zone_key(node), None)

    def names(self) -> list[str]:
        rounds = zip_longest(*self._zones.values())
        return [name for name in chain.from_iterable(rounds) if name is not None]


def zone_key(node: Node) -> str:
    """Region and zone, as kube-scheduler joins them; the same zone name in two regions differs."""
    region, zone = node.region, node.zone
    return f"{region}:\x00:{zone}" if region or zone else ""
