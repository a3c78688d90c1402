"""What each configuration of a shadow costs: CPU at 200 pods a second on 1,000 nodes.

Pods come, are bound by somebody else and go after a minute, in virtual time; the shadow follows
them with one, two and three configurations, with and without worlds of their own. One JSON line
each: CPU in seconds per second of the cluster's time, as a share of one core.
"""

import argparse
import asyncio
import json
import random
import resource
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from moorage.api.pod import Pod  # noqa: E402 found in this tree
from moorage.bench import workload_kinds  # noqa: E402
from moorage.clock import VirtualClock, run_virtual  # noqa: E402
from moorage.shadow.process import Shadow  # noqa: E402
from moorage.simulate.candidate import Candidate  # noqa: E402
from moorage.simulate.simulated_server import SimulatedServer  # noqa: E402
from moorage.watch.api_resources import NODES, PODS  # noqa: E402

START = 86_400.0
LIVES = 60.0
"""How long a pod runs."""


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def play(
    clock: VirtualClock, count: int, drifts: bool, nodes: int, rate: float, seconds: float
) -> dict[str, float]:
    server = SimulatedServer(clock)
    for node in workload_kinds.nodes("varied", nodes):
        server.put(NODES, node)
    candidates = [Candidate(f"candidate-{number}") for number in range(count)]
    shadow = Shadow(server, candidates, clock, drifts=drifts) if count else None
    task = None if shadow is None else asyncio.ensure_future(shadow.run())
    await clock.sleep(1.0)
    rng, began, alive = random.Random(1), cpu(), list[tuple[float, str]]()
    pods = int(rate * seconds)
    for number in range(pods):
        stored = server.put(PODS, workload_kinds.pod("varied", number))
        await clock.sleep(0.5 / rate)
        assert isinstance(stored, Pod)
        await server.bind(stored.namespace, stored.name, "", f"node-{rng.randrange(nodes)}")
        alive.append((clock.now(), stored.key))
        await clock.sleep(0.5 / rate)
        while alive and alive[0][0] < clock.now() - LIVES:
            server.remove(PODS, alive.pop(0)[1])
    used = cpu() - began
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    judged = 0 if shadow is None else sum(tally.judged for tally in shadow.tallies.values())
    return {
        "pods": pods,
        "judged": judged,
        "cpu_s": round(used, 2),
        "core": round(used / seconds, 4),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=200.0, help="pods a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    for count, drifts in ((0, False), (1, False), (2, False), (3, False), (1, True), (2, True)):
        clock = VirtualClock(START)
        found = run_virtual(
            play(clock, count, drifts, given.nodes, given.rate, given.seconds), clock
        )
        print(json.dumps({"configurations": count, "drifting": drifts, **found}), flush=True)
