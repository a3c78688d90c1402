"""Single-slot nodes are an M/M/c queue: simulated waiting agrees with Erlang's formula."""

import math
import random
from statistics import fmean

from moorage.simulate.pod_template import Asked, Templates
from moorage.simulate.scenario import Arrival
from moorage.simulate.scenario_run import run_scenario
from moorage.simulate.student_t import mean_interval
from tests.unit.simulate.scenarios import KUBE, nodes, scenario

SERVERS, SERVICE, LOAD, PODS, SEEDS = 4, 2_000.0, 0.7, 250, range(1, 9)


def erlang_wait(servers: int, service: float, load: float) -> float:
    """The mean wait in an M/M/c queue."""
    offered = servers * load
    last = offered**servers / math.factorial(servers) / (1 - load)
    waits = last / (sum(offered**k / math.factorial(k) for k in range(servers)) + last)
    return waits * service / (servers * (1 - load))


def poisson(seed: int) -> list[Arrival]:
    rng = random.Random(seed)
    template = Templates(shares_gpus=False).of(Asked(cpu="1"))
    now, found = 0.0, []
    for index in range(PODS):
        now += rng.expovariate(SERVERS * LOAD / SERVICE)
        found.append(Arrival(now, f"p{index}", template, rng.expovariate(1 / SERVICE)))
    return found


def fifo_wait(arrivals: list[Arrival]) -> float:
    """The mean wait of the same pods where the first to come is the first served, at once."""
    free = [0.0] * SERVERS
    waits = []
    for arrival in arrivals:
        first = min(range(SERVERS), key=free.__getitem__)
        start = max(arrival.time, free[first])
        waits.append(start - arrival.time)
        free[first] = start + (arrival.duration or 0.0)
    return fmean(waits)


def test_waiting_agrees_with_theory_within_its_interval() -> None:
    """And it is what the very same pods wait in a plain queue, but for back-offs: a pod that was
    tried just before a node came free is tried again up to ten seconds later."""
    found, drawn = [], []
    for seed in SEEDS:
        arrivals = poisson(seed)
        result = run_scenario(scenario(nodes(SERVERS, cpu="1"), arrivals), KUBE, seed)
        found.append(result.kpis["wait_s"]["mean"])
        drawn.append(fifo_wait(arrivals))

    theory = erlang_wait(SERVERS, SERVICE, LOAD)
    interval = mean_interval(found)

    assert interval.low is not None
    assert interval.high is not None
    assert interval.low <= theory <= interval.high
    assert abs(fmean(found) - fmean(drawn)) <= 10.0
