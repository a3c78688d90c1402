"""Variants of the default trace, in its own columns: one set of defaults has to hold on all.

usage: gpu_variants.py --traces DIR --out DIR
"""

import argparse
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from gpu_trace import TraceNode, read_nodes, read_pods

from moorage.policies.gpu.gpu_request import GPURequest

Pods = list[GPURequest]
SEED = 7
HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec"


def more_cpu(pods: Pods, nodes: list[TraceNode]) -> Pods:
    return [pod._replace(cpu=int(pod.cpu * 1.15)) for pod in pods]


def more_cpu_pods(pods: Pods, nodes: list[TraceNode]) -> Pods:
    chance = random.Random(SEED)
    without = [pod for pod in pods if not pod.gpus]
    return pods + [chance.choice(without) for _ in without]


def more_large(pods: Pods, nodes: list[TraceNode]) -> Pods:
    """A quarter more GPUs, asked for by pods with 2 to 8 of them."""
    chance, made = random.Random(SEED), list(pods)
    large = [pod for pod in pods if pod.gpus >= 2]
    missing = 0.25 * sum(pod.size for pod in pods)
    while missing > 0:
        made.append(chance.choice(large))
        missing -= made[-1].size
    return made


def with_models(share: float) -> Callable[[Pods, list[TraceNode]], Pods]:
    """So many of the pods name one or two models, each as often as there are GPUs of it."""

    def change(pods: Pods, nodes: list[TraceNode]) -> Pods:
        chance, weights = random.Random(SEED), Counter[str]()
        for node in nodes:
            weights[node.model] += node.gpus
        names, counts = list(weights), list(weights.values())
        made = []
        for pod in pods:
            if pod.gpus and chance.random() < share:
                drawn = [chance.choices(names, counts)[0] for _ in range(chance.choice([1, 1, 2]))]
                named = pod._replace(models=frozenset(drawn))
                pod = named if any(_fits(named, node) for node in nodes) else pod
            made.append(pod)
        return made

    return change


def _fits(pod: GPURequest, node: TraceNode) -> bool:
    return node.model in pod.models and node.gpus >= pod.gpus and node.cpu >= pod.cpu


VARIANTS: dict[str, tuple[str, Callable[[Pods, list[TraceNode]], Pods]]] = {
    "spec33": ("A third of the pods name GPU models. ", with_models(0.33)),
    "spec15": ("15 % of the pods name GPU models. ", with_models(0.15)),
    "cpux": ("15 % more CPU for each pod. ", more_cpu),
    "cpu2": ("Twice as many pods without GPUs. ", more_cpu_pods),
    "multi": ("A quarter more GPUs, asked for by pods with 2 to 8. ", more_large),
}
NAMES = tuple(VARIANTS)
WORDS = {name: words for name, (words, _) in VARIANTS.items()}


def write(traces: Path, out: Path) -> None:
    """Write every variant as the trace's own file is."""
    nodes = read_nodes(traces / "openb_node_list_gpu_node.csv.gz")
    pods = read_pods(traces / "openb_pod_list_default.csv.gz")
    out.mkdir(parents=True, exist_ok=True)
    for name, (_, change) in VARIANTS.items():
        lines = [HEADER]
        for number, pod in enumerate(change(pods, nodes)):
            amounts = ",".join(map(str, pod[:4]))
            lines.append(f"p{number:05d},{amounts},{'|'.join(sorted(pod.models))}")
        (out / f"openb_pod_list_{name}.csv").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    write(given.traces, given.out)


if __name__ == "__main__":
    main()
