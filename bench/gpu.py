"""GPU packing on the openb trace: a JSON line for each seed, then one with means and deviations.

usage: gpu.py --nodes FILE --pods FILE --policy moorage|fgd|bestfit|random|kube|mostallocated
              --ties random|name --seeds 42-51 [--batch 16]

One pod at a time; what fits nowhere is dropped. `alloc` is the percentage of all GPU milli in use
when so many percent have been asked for; `placed` the percentage of pods placed, by class, of those
that came before 100 %; `placements_per_s` is of one core: seconds are of CPU time.
With `--batch`, so many pods wait together and are placed in the best order for all of them, the
largest first. `p99_ms` is of one decision: a pod, or a batch.
"""

import argparse
import json
import random
import statistics
import time
from typing import Any

import gpu_policies
import numpy as np
from gpu_policies import Cluster, Policy, Worth
from gpu_trace import Measures, TraceNode, arrivals, read_nodes, read_pods, trace_file

from moorage.policies.gpu.gpu_largest_first import in_order
from moorage.policies.gpu.gpu_request import GPURequest
from moorage.policies.gpu.packing_costs import NEVER


class KeptWorth:
    """What a policy says of each class of pods, kept; only rows that changed are asked about."""

    def __init__(self, cluster: Cluster, policy: Policy) -> None:
        self._cluster, self._policy = cluster, policy
        self._kept: dict[GPURequest, Worth] = {}
        self._read: dict[GPURequest, int] = {}
        self._version = -1
        self._all = np.arange(len(cluster.free.cpu))

    def fits(self, pod: GPURequest, row: int) -> bool:
        """Whether a pod fits on a row, whatever it is worth there."""
        free, models = self._cluster.free, self._cluster.models
        if free.cpu[row] < pod.cpu or free.memory[row] < pod.memory:
            return False
        if pod.models and models.values[free.model[row]] not in pod.models:
            return False
        return int((free.left[row] >= pod.milli).sum()) >= pod.gpus

    def of(self, pod: GPURequest) -> Worth:
        if self._version != self._policy.version:
            self._kept.clear()
            self._version = self._policy.version
        log, kept = self._cluster.log, self._kept.get(pod)
        if kept is None or 2 * (len(log) - self._read[pod]) > len(self._all):
            kept = self._kept[pod] = self._policy.worth(self._all, pod)
        elif self._read[pod] < len(log):
            rows = np.array(list(set(log[self._read[pod] :])))
            some = self._policy.worth(rows, pod)
            kept.values[rows], kept.device[rows] = some
        self._read[pod] = len(log)
        return kept


class Run:
    """One seed: the pods come one after the other, and each is placed where it is worth most."""

    def __init__(
        self, nodes: list[TraceNode], pods: list[GPURequest], name: str, ties: str, seed: int
    ) -> None:
        self._chance = random.Random(seed + 1_000_003)
        shuffled = list(nodes)
        self._chance.shuffle(shuffled)
        self._by_name = ties == "name" and name != "random"
        self.cluster = Cluster(shuffled)
        self.pods = arrivals(pods, self.cluster.capacity, seed)
        self.policy = gpu_policies.policy(name, self.cluster, pods, seed)
        self._kept = KeptWorth(self.cluster, self.policy)
        self.seconds: list[float] = []

    def find(self, pod: GPURequest) -> tuple[int, tuple[int, ...]] | None:
        """The best row for a pod, and its devices there."""
        worth = self._kept.of(pod)
        best = worth.values.max()
        if best == NEVER:
            return None
        tied = np.flatnonzero(worth.values == best)
        row = int(tied[0] if self._by_name else tied[self._chance.randrange(len(tied))])
        return row, self.cluster.devices(row, int(worth.device[row]), pod)

    def place(self, pod: GPURequest) -> bool:
        spot = self.find(pod)
        if spot is not None:
            self.cluster.take(*spot, pod)
        return spot is not None

    def place_all(self, batch: int) -> list[bool]:
        """Whether each pod was placed; a batch of them is placed the largest first."""
        placed = []
        for at in range(0, len(self.pods), batch):
            start = time.process_time()
            waiting = self.pods[at : at + batch]
            for pod in waiting:
                self.policy.see(pod)
            self.pods[at : at + batch] = waiting = in_order(waiting)
            placed += [self.place(pod) for pod in waiting]
            self.seconds.append(time.process_time() - start)
        return placed

    def measure(self, batch: int = 1) -> dict[str, Any]:
        placed = np.array(self.place_all(batch))
        self.cluster.validate()
        found = Measures.of(self.pods, placed, self.cluster.capacity)
        return {
            "alloc": {str(at): round(value, 3) for at, value in found.alloc.items()},
            "placed": {kind: round(value, 2) for kind, value in found.placed.items()},
            "placements_per_s": round(len(self.pods) / sum(self.seconds)),
            "p99_ms": round(1000 * float(np.percentile(self.seconds, 99)), 1),
            "curve": {str(at): round(value, 2) for at, value in found.curve.items()},
        }


def summary(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and deviation of each measure over the seeds."""

    def both(values: list[float]) -> dict[str, float]:
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        return {"mean": round(statistics.fmean(values), 3), "sd": round(deviation, 3)}

    def each(key: str) -> dict[str, dict[str, float]]:
        names = list(dict.fromkeys(name for line in lines for name in line[key]))
        return {n: both([line[key][n] for line in lines if n in line[key]]) for n in names}

    rate = statistics.fmean(line["placements_per_s"] for line in lines)
    found = {"alloc": each("alloc"), "placed": each("placed"), "placements_per_s": round(rate)}
    found["p99_ms"] = max(line["p99_ms"] for line in lines)
    return {**found, "curve": {at: both_["mean"] for at, both_ in each("curve").items()}}


def seeds(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=trace_file, required=True)
    parser.add_argument("--pods", type=trace_file, required=True)
    parser.add_argument("--policy", choices=gpu_policies.NAMES, default="moorage")
    parser.add_argument("--ties", choices=("random", "name"), default="random")
    parser.add_argument("--seeds", type=seeds, default=seeds("42-51"))
    parser.add_argument("--batch", type=int, default=1, help="pods that are placed together")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    nodes, pods = read_nodes(given.nodes), read_pods(given.pods)
    said = {"policy": given.policy, "ties": given.ties, "batch": given.batch}
    lines = []
    for seed in given.seeds:
        lines.append(Run(nodes, pods, given.policy, given.ties, seed).measure(given.batch))
        print(json.dumps({"seed": seed, **said, **lines[-1]}), flush=True)
    print(json.dumps({"seeds": len(lines), **said, **summary(lines)}), flush=True)


if __name__ == "__main__":
    main()
