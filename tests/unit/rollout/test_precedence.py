"""Who yields when two schedulers contend for the same room."""

import asyncio
import random
import sys
from types import FrameType, SimpleNamespace
from typing import Any, cast

import pytest

from moorage.api.pod import Pod
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.config_bundle import load_bundle
from moorage.app.config_text import ConfigText
from moorage.app.profile_builder import build_version
from moorage.cache.cache import Cache
from moorage.clock import VirtualClock, run_virtual
from moorage.config.field_errors import ConfigError
from moorage.framework.queued_pod import QueuedPod
from moorage.memory.memory_cluster import MemoryCluster
from moorage.rollout.precedence import GoesFirst, Precedence
from moorage.scheduler.outcome import Outcome
from moorage.scheduler.version import Version
from moorage.testing import node, pod
from moorage.watch.api_resources import PODS
from moorage.watch.reflector import Change

BATCH = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: batch}]
"""
CRITICAL = BATCH.replace("batch", "critical")
YIELDS = """---
apiVersion: moorage/v1
kind: MoorageConfiguration
yieldsTo:
- schedulerName: critical
"""


def placed(*configs: str, seconds: float = 1.0, gated: bool = False) -> dict[str, str]:
    """Where two pods of one core each are after a while, on a cluster with one core."""
    clock = VirtualClock(1000.0)
    cluster = MemoryCluster(clock=clock, rng=random.Random(1))
    cluster.apply({"apiVersion": "v1", "kind": "Node", **node("n1").offering(cpu="1").raw})
    known = built_in_plugins.built_in()

    async def main() -> None:
        running = []
        for number, config in enumerate(configs):
            whole = load_bundle([ConfigText("f", config.encode())], known)
            version = build_version(whole, known, 1, "digest")
            scheduler = assemble(cluster, version.profiles, clock=clock, rng=random.Random(number))
            scheduler.install(version)
            running.append(asyncio.ensure_future(scheduler.run()))
        await clock.sleep(0.1)
        for name in ("batch", "critical"):
            made = pod(name).requesting(cpu="1").scheduled_by(name)
            if gated and name == "critical":
                made = made.gated("example.com/wait")
            cluster.apply({"apiVersion": "v1", "kind": "Pod", **made.raw})
        await clock.sleep(seconds)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    run_virtual(main(), clock)
    found = [each for each in cluster.objects(PODS) if isinstance(each, Pod)]
    return {each.name: each.spec.node_name for each in found}


def test_whoever_yields_leaves_the_last_room_to_the_other() -> None:
    assert placed(BATCH + YIELDS, CRITICAL, seconds=20.0) == {"batch": "", "critical": "n1"}


def test_otherwise_both_take_it() -> None:
    """And a kubelet refuses one of them."""
    assert placed(BATCH, CRITICAL)["batch"] == "n1"


def test_patience_has_an_end() -> None:
    """The scheduler that goes first is down."""
    assert placed(BATCH + YIELDS, seconds=0.5)["batch"] == ""
    assert placed(BATCH + YIELDS, seconds=6.0)["batch"] == "n1"


def test_nobody_waits_for_a_pod_that_something_else_holds() -> None:
    assert placed(BATCH + YIELDS, seconds=0.5, gated=True)["batch"] == "n1"


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ("{}", "yieldsTo[0].schedulerName"),
        ("{schedulerName: a, patience: 0s}", "yieldsTo[0].patience"),
    ],
)
def test_what_is_wrong_is_named(entry: str, place: str) -> None:
    text = BATCH + YIELDS.replace("schedulerName: critical", "").replace("- ", f"- {entry}")
    with pytest.raises(ConfigError) as error:
        load_bundle([ConfigText("f", text.encode())], built_in_plugins.built_in())

    assert place in str(error.value)


def test_pods_that_have_waited_long_are_not_looked_at_again_for_each_pod() -> None:
    clock, queued = VirtualClock(1000.0), QueuedPod(Cache().info(pod("batch").build()), 1000.0)
    outcome = SimpleNamespace(put_back=lambda *_, **__: True)
    precedence = Precedence(clock, cast("Outcome", outcome))
    given = {Precedence: (GoesFirst("critical", 2.0),)}
    precedence.configured(cast("Version", SimpleNamespace(features=given)))
    calls = 0

    def arrive(name: str) -> None:
        made = pod(name).scheduled_by("critical").build()
        precedence.after(Change("added", None, made), PODS)

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    for number in range(1000):
        arrive(f"critical-{number}")
    clock.advance(2.0)
    sys.setprofile(count)
    try:
        assert not precedence.claims(queued)
    finally:
        sys.setprofile(None)
    assert calls < 20

    arrive("young")
    assert precedence.claims(queued)
