"""Keep pods that ask for quiet away from loud nodes: a rule of the demo's own."""

from moorage import Cycle, Filter, Node, Pod, Rejection, unresolvable

TOO_LOUD = "node(s) were too loud"


class QuietNodes(Filter, frozen=True):
    label: str = "example.com/noise"

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        wants_quiet = pod.labels.get("example.com/wants-quiet") == "true"
        loud = node.labels.get(self.label) == "loud"
        return unresolvable(TOO_LOUD) if wants_quiet and loud else None
