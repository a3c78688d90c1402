"""Two plugins of one's own: one refuses nodes, the other scores them by its arguments."""

from moorage import MAX_SCORE, Cycle, Filter, Node, Pod, Rejection, Score, unresolvable

GPU = "nvidia.com/gpu"
LABEL = "node-pool"
OTHER_POOL = "node(s) were of another pool"


class CustomFilterPlugin(Filter, frozen=True):
    """Keep a pod labelled `node-pool` on the nodes of that pool."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        wanted = pod.labels.get(LABEL)
        return None if wanted in (None, node.labels.get(LABEL)) else unresolvable(OTHER_POOL)


class CustomScorePlugin(Score, frozen=True):
    """Score `weightFactor` times 10 where a pod and a node agree about GPUs.

    Without `enableGPUScheduling` all nodes score alike.
    """

    weight_factor: int = 1
    enable_gpu_scheduling: bool = False

    @classmethod
    def check(cls, args: dict[str, object]) -> list[str]:
        """Say what is wrong with arguments that decode well."""
        factor = args["weightFactor"]
        fits = isinstance(factor, int) and 0 <= factor <= 10
        return [] if fits else [f"weightFactor: {factor} is not in 0 to 10"]

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        if not self.enable_gpu_scheduling:
            return 0
        wants = any(GPU in container.resources.requests for container in pod.spec.containers)
        has = node.status.allocatable.get(GPU, "0") != "0"
        return min(MAX_SCORE, 10 * self.weight_factor) if wants == has else 0
