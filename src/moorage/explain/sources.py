"""Where explanations take the cluster from: a finished simulation of manifests."""

import difflib
import random
from typing import Any, NamedTuple

from moorage.api.pod import Pod
from moorage.config.field_errors import InputError
from moorage.explain.world import World
from moorage.simulate.simulation import Simulation, pods_of
from moorage.watch.api_resources import PODS


class Source(NamedTuple):
    """A cluster to ask about, and its pods as they are written."""

    world: World
    simulation: Simulation

    def pod(self, key: str) -> Pod:
        """The pod named `namespace/name`, or `name` in the default namespace."""
        wanted = key.removeprefix("pod/")
        wanted = wanted if "/" in wanted else f"default/{wanted}"
        known = {pod.key: pod for pod in pods_of(self.simulation)}
        if wanted in known:
            return known[wanted]
        near = difflib.get_close_matches(wanted, known, 3, 0.5) or sorted(known)[:3]
        hint = f"; there is {', '.join(near)}" if near else "; there are no pods at all"
        raise InputError([f"no pod {wanted} in what was read{hint}"])

    def raw(self, pod: Pod) -> dict[str, Any]:
        """The pod as it is written."""
        return self.simulation.cluster.read(PODS, pod.namespace, pod.name)

    def waits_for(self, pod: Pod) -> list[str]:
        """What holds the pod up beside what nodes say of it."""
        queued = self.simulation.scheduler.queue.find(pod.uid)
        if queued is None:
            return []
        return [queued.gated_reason] if queued.gated_reason else []


def from_simulation(simulation: Simulation) -> Source:
    """The cluster as a simulation left it."""
    scheduler = simulation.scheduler
    now = simulation.cluster.clock.now()
    return Source(World(scheduler.cache, scheduler.profiles, random.Random(0), now), simulation)
