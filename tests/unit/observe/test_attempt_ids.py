"""One id ties the log, the event and the error of an attempt together."""

import asyncio
import io
import random
from typing import Any

import msgspec

from moorage import Cycle, Filter, Node, Pod, Rejection
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.bind.event_recorder import ATTEMPT_ANNOTATION
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe import logs
from moorage.testing import node, pod
from moorage.watch.api_resources import EVENTS


class FailsFor(Filter, frozen=True):
    """Raises for one pod."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if pod.name == "unlucky":
            raise RuntimeError("boom")
        return None


def story(seconds: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the log says, and the events, after a while with three pods."""
    clock, stream = VirtualClock(1000.0), io.StringIO()
    cluster = MemoryCluster(clock=clock, rng=random.Random(1))
    cluster.apply({"apiVersion": "v1", "kind": "Node", **node("a").raw})
    for made in (pod("web"), pod("huge").requesting(cpu="99"), pod("unlucky")):
        cluster.apply({"apiVersion": "v1", "kind": "Pod", **made.raw})
    known = built_in_plugins.built_in()
    known.add(FailsFor)
    enabled = {"multiPoint": {"enabled": [{"name": "FailsFor"}]}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": enabled}],
    }
    profiles = build_profiles(
        load(config, known=built_in_plugins.describe_plugins(known)).configuration, known
    )
    log = logs.configure(2, "json", stream)

    async def main() -> None:
        rng, observers = random.Random(0), (log.decisions(),)
        scheduler = assemble(cluster, profiles, clock=clock, rng=rng, observers=observers)
        running = asyncio.ensure_future(scheduler.run())
        await clock.sleep(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    try:
        run_virtual(main(), clock)
    finally:
        log.close()
    said = [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]
    found = [cluster.read(EVENTS, e.namespace, e.name) for e in cluster.objects(EVENTS)]
    return said, found


def test_the_line_of_a_decision_and_the_event_have_the_same_id() -> None:
    said, events = story(0.5)

    told = {line["pod"]: (line["attempt"], line["msg"]) for line in said}
    noted = {
        f"default/{event['regarding']['name']}": event["metadata"]["annotations"][
            ATTEMPT_ANNOTATION
        ]
        for event in events
    }
    assert {pod: attempt for pod, (attempt, _) in told.items()} == noted
    assert {pod: message for pod, (_, message) in told.items()} == {
        "default/web": "Scheduled",
        "default/huge": "Unschedulable",
        "default/unlucky": "Attempt failed",
    }
    assert len(set(noted.values())) == 3


def test_a_series_of_events_has_the_id_of_the_attempt_that_was_told_last() -> None:
    said, events = story(3.0)

    attempts = [line["attempt"] for line in said if line["pod"] == "default/unlucky"]
    [event] = [event for event in events if event["regarding"]["name"] == "unlucky"]
    assert event["series"]["count"] == len(attempts) == 2
    assert event["metadata"]["annotations"][ATTEMPT_ANNOTATION] == attempts[-1]
