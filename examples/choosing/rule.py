"""The rule that all four ways follow: gold customers on gold machines, on the newest of them."""

from moorage import MAX_SCORE, Cycle, Filter, Node, Pod, Rejection, Score, unresolvable

NOT_GOLD = "node(s) were not for gold customers"


class GoldMachines(Filter, Score, frozen=True):
    label: str = "example.com/tier"
    generation: str = "example.com/generation"

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if pod.labels.get(self.label) == "gold" and node.labels.get(self.label) != "gold":
            return unresolvable(NOT_GOLD)
        return None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return min(int(node.labels.get(self.generation, "0")) * 20, MAX_SCORE)
