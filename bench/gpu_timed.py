"""GPU packing with pods that end: waiting time and allocation at a given load, a JSON line each.

usage: gpu_timed.py --nodes FILE --pods FILE --policy moorage --ties random --loads 0.9,1.0,1.1
                    --seeds 42-71 [--against fgd:name] [--arrivals 12000] [--every 6] [--jobs 2]

Pods are drawn from the trace, arrive as a Poisson process and run for exponential times of mean 1;
at load 1 they ask for as many GPUs as there are. What does not fit waits; when a pod ends, those
that fit in its place go there, who has waited longest first. Every sixth node makes a cluster that
turns over several times. `wait` is the mean over all pods, in mean running times; `alloc` the mean
percentage of GPUs in use, both after the first two fifths; `wait_gpu` weighs pods by their GPUs.
With `--against`, another policy gets the same pods at the same times: `difference` is the mean of
the first less the second, seed by seed, and half of its 95 % confidence interval.
"""

import argparse
import heapq
import json
import math
import random
import statistics
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import gpu_policies
import numpy as np
from gpu import Run, seeds
from gpu_trace import TraceNode, read_nodes, read_pods, trace_file

from moorage.policies.gpu.gpu_request import GPURequest

WARM = 0.4


class TimedRun(Run):
    """One seed at one load."""

    def __init__(
        self,
        nodes: list[TraceNode],
        pods: list[GPURequest],
        name: str,
        ties: str,
        seed: int,
        load: float,
        arrivals: int,
    ) -> None:
        super().__init__(nodes, pods, name, ties, seed)
        chance = random.Random(seed)
        mean = sum(pod.size for pod in pods) / len(pods)
        rate = load * self.cluster.capacity / mean
        self._arriving: list[tuple[float, GPURequest, float]] = []
        now = 0.0
        for _ in range(arrivals):
            now += chance.expovariate(rate)
            self._arriving.append((now, chance.choice(pods), chance.expovariate(1.0)))
        self._ends: list[tuple[float, int, tuple[int, tuple[int, ...], GPURequest]]] = []
        self._waiting: dict[GPURequest, list[tuple[float, float]]] = {}
        self._used = 0
        self._waits: list[tuple[float, float, int]] = []

    def simulate(self) -> dict[str, float]:
        last, area, since = 0.0, 0.0, WARM * self._arriving[-1][0]
        for at, pod, runs in self._arriving:
            while self._ends and self._ends[0][0] <= at:
                ended, _, place = heapq.heappop(self._ends)
                area += self._used * max(ended - max(last, since), 0.0)
                last = ended
                self._end(ended, *place)
            area += self._used * max(at - max(last, since), 0.0)
            last = at
            self.policy.see(pod)
            if not self._start(pod, at, at, runs):
                self._waiting.setdefault(pod, []).append((at, runs))
        for pod, waiting in self._waiting.items():
            self._waits += [(came, last - came, pod.size) for came, _ in waiting]
        waits, sizes = np.array([one[1:] for one in self._waits if one[0] >= since]).T
        alloc = 100 * area / (last - since) / self.cluster.capacity
        weighed = float((waits * sizes).sum() / sizes.sum())
        return {"alloc": alloc, "wait": float(waits.mean()), "wait_gpu": weighed}

    def _start(self, pod: GPURequest, came: float, now: float, runs: float) -> bool:
        spot = self.find(pod)
        if spot is None:
            return False
        self._run(pod, *spot, came, now, runs)
        return True

    def _run(
        self,
        pod: GPURequest,
        row: int,
        devices: tuple[int, ...],
        came: float,
        now: float,
        runs: float,
    ) -> None:
        self.cluster.take(row, devices, pod)
        self._used += pod.size
        self._waits.append((came, now - came, pod.size))
        heapq.heappush(self._ends, (now + runs, len(self._waits), (row, devices, pod)))

    def _end(self, now: float, row: int, devices: tuple[int, ...], pod: GPURequest) -> None:
        """Only this row has more room than before: who fits there, goes there."""
        self.cluster.take(row, devices, pod, -1)
        self._used -= pod.size
        while True:
            fitting = [p for p in self._waiting if self._kept.fits(p, row)]
            if not fitting:
                return
            first = min(fitting, key=lambda p: self._waiting[p][0])
            came, runs = self._waiting[first].pop(0)
            if not self._waiting[first]:
                del self._waiting[first]
            self._start(first, came, now, runs)


class Job(NamedTuple):
    """One seed of one policy at one load."""

    policy: str
    ties: str
    load: float
    seed: int
    given: argparse.Namespace

    def run(self) -> dict[str, float]:
        given = self.given
        nodes, pods = read_nodes(given.nodes)[:: given.every], read_pods(given.pods)
        large = max(node.gpus for node in nodes)
        pods = [pod for pod in pods if pod.gpus <= large]
        simulated = (self.policy, self.ties, self.seed, self.load, given.arrivals)
        return TimedRun(nodes, pods, *simulated).simulate()


def differences(found: list[dict[str, float]], others: list[dict[str, float]]) -> dict[str, Any]:
    """By measure, the mean difference of pairs, and half of its 95 % confidence interval."""
    wide = student(len(found) - 1) / math.sqrt(len(found))
    apart = {
        key: [one[key] - other[key] for one, other in zip(found, others, strict=True)]
        for key in found[0]
    }
    return {
        key: [round(statistics.fmean(values), 4), round(wide * statistics.stdev(values), 4)]
        for key, values in apart.items()
    }


def student(freedom: int) -> float:
    """Student's t at 97.5 %, by its expansion around the normal distribution's quantile."""
    z = statistics.NormalDist().inv_cdf(0.975)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return z + (z**3 + z) / (4 * freedom) + second


def means(found: list[dict[str, float]]) -> dict[str, float]:
    return {key: round(statistics.fmean(one[key] for one in found), 4) for key in found[0]}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=trace_file, required=True)
    parser.add_argument("--pods", type=trace_file, required=True)
    parser.add_argument("--policy", choices=gpu_policies.NAMES, default="moorage")
    parser.add_argument("--ties", choices=("random", "name"), default="random")
    parser.add_argument("--against", default="", help="another policy and its ties: fgd:name")
    parser.add_argument("--loads", default="0.9,1.0,1.1")
    parser.add_argument("--seeds", type=seeds, default=seeds("42-71"))
    parser.add_argument("--arrivals", type=int, default=12_000)
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    rivals = [(given.policy, given.ties)]
    rivals += [tuple(given.against.split(":"))] if given.against else []
    with ProcessPoolExecutor(given.jobs) as pool:
        for load in map(float, given.loads.split(",")):
            told = []
            for policy, ties in rivals:
                jobs = [Job(policy, ties, load, seed, given) for seed in given.seeds]
                told.append(list(pool.map(Job.run, jobs)))
                said = {"policy": policy, "ties": ties, "load": load, "seeds": len(jobs)}
                print(json.dumps({**said, **means(told[-1])}), flush=True)
            if len(told) == 2 and len(given.seeds) > 1:
                line = {"load": load, "difference": differences(*told)}
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
