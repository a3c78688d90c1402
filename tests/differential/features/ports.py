"""Host ports: addresses, protocols, and the same port twice."""

from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.words import Json

PORTS = (80, 80, 443, 8080, 53)
ADDRESSES = ("127.0.0.1", "10.0.0.1", "0.0.0.0", "::", "")


def port(dice: Dice) -> Json:
    number = dice.pick(PORTS)
    made: Json = {"containerPort": number}
    if dice.chance(0.85):
        made["hostPort"] = dice.either((number,), (0, -1, 65536, 2147483647))
    if dice.chance(0.5):
        made["hostIP"] = dice.pick(ADDRESSES)
    if dice.chance(0.6):
        made["protocol"] = dice.either(("TCP", "UDP", "SCTP"), ("", "tcp", "ODD"))
    return made


class Ports(Feature):
    """Some containers, init containers and sidecars among them, want ports of the host."""

    name = "ports"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        dice, spec = draft.dice, pod["spec"]
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            if dice.chance(0.9 if incoming else 0.5):
                container["ports"] = [port(dice) for _ in range(dice.count(1, 2))]
        if dice.chance(0.2):
            spec["hostNetwork"] = True

    def on_case(self, draft: Draft) -> None:
        """No two pods of a node hold the same port: kube-scheduler would lose count of it."""
        held: set[tuple[str, object]] = set()
        for pod in draft.case["pods"]:
            node, spec = pod["spec"].get("nodeName", ""), pod["spec"]
            for container in (*spec["containers"], *spec.get("initContainers", ())):
                mine = [p for p in container.get("ports", ()) if (node, _held(p)) not in held]
                container["ports"] = mine
                held.update((node, _held(p)) for p in mine)


def _held(port: Json) -> tuple[object, ...]:
    address = port.get("hostIP") or "0.0.0.0"
    return address, port.get("protocol") or "TCP", port.get("hostPort", 0)
