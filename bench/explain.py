"""How long explaining takes: the smallest change, what-ifs, fit checks, capacity; a large cluster.

.venv/bin/python bench/explain.py [--nodes 5000] [--pods 50000]     one JSON line

A single-pod what-if is one pod of `{"pods": [...]}` at `POST /debug/explain`, on a trial of the
cache. Fit checks in batch are of pods of a hundred shapes, in turn, for each second of CPU.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.explain.capacity import capacity
from moorage.explain.explanation import explain
from moorage.explain.live_answers import placed
from moorage.explain.world import World
from moorage.testing import Cluster, node, pod

Clock = Callable[[], float]


def cluster_of(nodes: int, pods: int) -> Cluster:
    """Nodes in ten zones, one in ten tainted, each filled to about five sixths."""
    cluster = Cluster()
    for index in range(nodes):
        made = node(f"n{index}").offering(cpu="16", memory="64Gi").in_zone(f"z{index % 10}")
        cluster.add(made.tainted("dedicated", "gpu") if index % 10 == 0 else made)
    for index in range(pods):
        made_pod = pod(f"p{index}").requesting(cpu="1300m", memory="4Gi").labelled(app="web")
        cluster.add(made_pod.on(f"n{index % nodes}"))
    return cluster


def milliseconds(work: Callable[[], Any], runs: int = 9, clock: Clock = time.perf_counter) -> float:
    """The median of so many runs, by the clock on the wall or by that of this thread."""
    taken = []
    for _ in range(runs):
        begun = clock()
        work()
        taken.append((clock() - begun) * 1000)
    return round(statistics.median(taken), 3)


def fit_checks_per_second(world: World, shapes: int = 100, checks: int = 5000) -> float:
    """Pods of so many shapes, asked about in turn."""
    pods = [
        decode_as(pod(f"s{each}").requesting(cpu=f"{100 + 25 * each}m", memory="1Gi").raw, Pod)
        for each in range(shapes)
    ]
    begun = time.thread_time()
    for number in range(checks):
        world.fits(pods[number % shapes])
    return round(checks / (time.thread_time() - begun))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    given = parser.parse_args()
    cluster = cluster_of(given.nodes, given.pods)
    world = World(cluster.cache, {"default-scheduler": cluster.profile})
    large = pod("large").requesting(cpu="8", memory="16Gi").selecting(disk="ssd").raw
    large_only = pod("large").requesting(cpu="8", memory="16Gi").raw
    shape = pod("shape").requesting(cpu="250m", memory="512Mi").raw
    small = decode_as(pod("small").requesting(cpu="1").raw, Pod)
    print(
        json.dumps(
            {
                "nodes": given.nodes,
                "pods": given.pods,
                "explain_ms": milliseconds(lambda: explain(world, large_only)),
                "explain_cpu_ms": milliseconds(
                    lambda: explain(world, large_only), clock=time.thread_time
                ),
                "explain_pair_ms": milliseconds(lambda: explain(world, large)),
                "capacity_ms": milliseconds(lambda: capacity(world, shape), 3),
                "what_if_ms": milliseconds(lambda: placed(world, [small]), 200),
                "fit_check_ms": milliseconds(lambda: world.fits(small), 200),
                "fit_checks_per_s": fit_checks_per_second(world),
            }
        )
    )


if __name__ == "__main__":
    main()
