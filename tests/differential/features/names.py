"""A pod that names its node, and a name that no node has."""

from tests.differential.draft import Draft, Feature
from tests.differential.words import Json


class NodeNames(Feature):
    """The pod to schedule asks for a node by name."""

    name = "nodename"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if incoming:
            known = (*draft.node_names, "gone")
            pod["spec"]["nodeName"] = draft.dice.pick(known)
        if draft.dice.chance(0.2):
            pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
