"""Which node a label of a metric speaks of: `node-1`, `10.0.0.5:9100`, `node-1.example:9100`."""

from collections.abc import Iterable

from moorage.api.node import HOSTNAME_LABEL, Node


def by_any_name(nodes: Iterable[Node]) -> dict[str, str]:
    """The names of nodes by everything they go by; names go before addresses."""
    found: dict[str, str] = {}
    known = list(nodes)
    for node in known:
        for address in node.status.addresses:
            found[address.address] = node.name
        found[node.labels.get(HOSTNAME_LABEL, node.name)] = node.name
    found.update((node.name, node.name) for node in known)
    return found


def find(names: dict[str, str], said: str) -> str | None:
    """The node that is meant, or None where nobody goes by that."""
    return names.get(said) or names.get(without_port(said))


def without_port(said: str) -> str:
    """A host and port without the port, an IPv6 address without its brackets."""
    if said.startswith("["):
        return said[1:].partition("]")[0]
    host, _, port = said.rpartition(":")
    return host if host and port.isdigit() and ":" not in host else said
