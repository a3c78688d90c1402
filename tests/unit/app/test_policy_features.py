"""What becomes of pods on a cluster reaches the plugin that placed them."""

import asyncio
import random
from typing import Any

import pytest

from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.policy_features import ScalingHints
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.explain.world import World
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Attempt
from moorage.policies.load import outcomes
from moorage.policies.load.outcomes import Window
from moorage.policies.load.scaling_hints import NO_TYPE
from moorage.testing import node, pod
from moorage.watch.api_resources import NODES, PODS
from tests.unit.policies.adaptive_world import ADAPTIVE


def outcome_of(what: str) -> Window:
    """A pod is placed, and something happens to it."""
    clock, rng = VirtualClock(1000.0), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng)
    known = built_in_plugins.installed()
    loaded = load(ADAPTIVE, known=built_in_plugins.describe_plugins(known)).configuration
    profiles = build_profiles(loaded, known)
    for name in ("a", "b"):
        cluster.add(NODES, node(name).raw)

    async def main() -> None:
        scheduler = assemble(cluster, profiles, clock=clock, rng=rng)
        running = asyncio.ensure_future(scheduler.run())
        cluster.add(PODS, pod("p", "web").requesting(cpu="1").raw)
        await clock.sleep(2.0)
        if what == "restart":
            status = {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 1}]}
            await cluster.patch_pod_status("web", "p", {"status": status}, "")
        elif what == "reject":
            Kubelet(cluster).reject("web", "p")
        elif what == "look":
            asked = World(scheduler.cache, profiles, clock.now())
            assert asked.fits(pod("another", "web").requesting(cpu="1").build())
        await clock.sleep(5.0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main(), clock)
    (profile,) = profiles.values()
    return outcomes.outcomes(profile.shared).window("web")


@pytest.mark.parametrize(
    ("what", "lost"), [("nothing", 0), ("restart", 1), ("reject", 1), ("look", 0)]
)
def test_what_becomes_of_a_pod_is_noted(what: str, lost: int) -> None:
    found = outcome_of(what)

    assert (found.attempts, found.placed, found.lost) == (1, 1, lost)


def without_its_claim() -> list[dict[str, Any]]:
    raw = pod("p", "web").raw
    claim = {"name": "d", "persistentVolumeClaim": {"claimName": "none"}}
    return [{"apiVersion": "v1", "kind": "Pod", **raw, "spec": {**raw["spec"], "volumes": [claim]}}]


def too_large_a_group() -> list[dict[str, Any]]:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "web"},
        "spec": {"minMember": 3},
    }
    members = [
        pod(f"g{number}", "web")
        .labelled({"scheduling.x-k8s.io/pod-group": "g"})
        .requesting(cpu="3")
        for number in range(3)
    ]
    return [group, *({"apiVersion": "v1", "kind": "Pod", **each.raw} for each in members)]


@pytest.mark.parametrize("objects", [without_its_claim(), too_large_a_group()])
def test_every_attempt_that_fails_counts_once(objects: list[dict[str, Any]]) -> None:
    """Whoever refuses the pod, and however often plugins are asked meanwhile."""
    clock, rng, seen = VirtualClock(1000.0), random.Random(0), list[Attempt]()
    cluster = MemoryCluster(clock=clock, rng=rng)
    known = built_in_plugins.installed()
    loaded = load(ADAPTIVE, known=built_in_plugins.describe_plugins(known)).configuration
    profiles = build_profiles(loaded, known)

    class Counts:
        def attempted(self, attempt: Attempt) -> None:
            seen.append(attempt)

    for raw in (*({"apiVersion": "v1", "kind": "Node", **node(n).raw} for n in "ab"), *objects):
        cluster.apply(raw)

    async def main() -> None:
        scheduler = assemble(cluster, profiles, clock=clock, rng=rng, observers=(Counts(),))
        running = asyncio.ensure_future(scheduler.run())
        await clock.sleep(60.0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main(), clock)
    (profile,) = profiles.values()
    found = outcomes.outcomes(profile.shared).window("web")
    assert (found.attempts, found.placed) == (len(seen), 0)
    assert found.success_rate == 0.0


def test_nodes_are_asked_for_only_by_pods_that_lack_room() -> None:
    clock, rng = VirtualClock(1000.0), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng)
    known = built_in_plugins.installed()
    loaded = load(ADAPTIVE, known=built_in_plugins.describe_plugins(known)).configuration
    cluster.add(NODES, node("small").offering(cpu="1").raw)
    cluster.add(NODES, node("cordoned").offering(cpu="4").cordoned().raw)
    waiting = {
        "fits where it may not go": pod("a", "web").requesting(cpu="2"),
        "wants other nodes": pod("b", "web").requesting(cpu="8").selecting(disk="none"),
        "lacks room": pod("c", "web").requesting(cpu="8"),
    }

    async def main() -> list[tuple[dict[str, str], float]]:
        scheduler = assemble(cluster, build_profiles(loaded, known), clock=clock, rng=rng)
        running = asyncio.ensure_future(scheduler.run())
        for each in waiting.values():
            cluster.add(PODS, each.raw)
        await clock.sleep(2.0)
        (family,) = scheduler.feature(ScalingHints).families()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return [(sample.labels, sample.value) for sample in family.samples]

    ((labels, count),) = run_virtual(main(), clock)

    assert (labels["instance_type"], count) == (NO_TYPE, 1.0)
