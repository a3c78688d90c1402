"""Two schedulers of one name are noticed, and said."""

import asyncio
import random
from typing import Any

from prometheus_client import CollectorRegistry

from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.prometheus_metrics import Metrics
from moorage.rollout.rivals import GRACE_SECONDS, REASON
from moorage.testing import node, pod
from moorage.watch.api_resources import EVENTS

PODS = 12


def contended(
    *, names: tuple[str, ...], after: float = GRACE_SECONDS + 1, standby: bool = False
) -> tuple[float, list[dict[str, Any]]]:
    """Pods of the first name on a cluster where a scheduler of each name runs.

    How many of them are taken for somebody else's, by either; and what is said about that.
    """
    clock = VirtualClock(1000.0)
    cluster = MemoryCluster(clock=clock, rng=random.Random(1))
    for name in ("a", "b", "c"):
        cluster.apply({"apiVersion": "v1", "kind": "Node", **node(name).raw})
    known = built_in_plugins.built_in()
    metrics = [Metrics(CollectorRegistry()) for _ in names]

    async def main() -> None:
        running = []
        for number, name in enumerate(names):
            config = {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"schedulerName": name}],
            }
            described = built_in_plugins.describe_plugins(known)
            profiles = build_profiles(load(config, known=described).configuration, known)
            scheduler = assemble(
                cluster,
                profiles,
                clock=clock,
                rng=random.Random(number),
                observers=(metrics[number],),
            )
            if standby and number:
                scheduler.active.clear()
            metrics[number].follow(scheduler)
            running.append(asyncio.ensure_future(scheduler.run()))
        early = pod("early").scheduled_by(names[0])
        cluster.apply({"apiVersion": "v1", "kind": "Pod", **early.raw})
        await clock.sleep(after)
        for number in range(PODS):
            made = pod(f"web-{number}").scheduled_by(names[0])
            cluster.apply({"apiVersion": "v1", "kind": "Pod", **made.raw})
            await clock.sleep(1)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    run_virtual(main(), clock)
    found = [cluster.read(EVENTS, e.namespace, e.name) for e in cluster.objects(EVENTS)]
    counted = sum(counted_of(each, names[0]) or 0.0 for each in metrics)
    for own, name in zip(metrics, names, strict=True):
        assert counted_of(own, name) is not None, "from 0 on: alerts ask for an increase"
    return counted, [event for event in found if event["reason"] == REASON]


def counted_of(metrics: Metrics, name: str) -> float | None:
    labels = {"scheduler": name}
    return metrics.registry.get_sample_value("moorage_bound_by_others_total", labels)


def noticed(**how: Any) -> bool:
    """Whether two schedulers of one name take each other for rivals."""
    return contended(names=("moorage", "moorage"), **how)[0] > 0


def test_two_of_one_name_are_counted_and_told() -> None:
    counted, events = contended(names=("moorage", "moorage"))

    assert counted >= 3
    assert 1 <= len(events) <= 2, "each of the two tells it once"
    assert 'schedulerName "moorage"' in events[0]["note"]
    assert "hold the same Lease" in events[0]["note"]


def test_two_of_different_names_are_no_rivals() -> None:
    assert noticed()
    assert contended(names=("moorage", "other")) == (0.0, [])


def test_what_oneself_binds_is_not_counted() -> None:
    assert noticed()
    assert contended(names=("moorage",)) == (0.0, [])


def test_a_standby_counts_nothing() -> None:
    """Whoever leads binds, and the replica that stands by only watches."""
    assert noticed(standby=False)
    assert not noticed(standby=True)


def test_just_after_taking_the_lead_bindings_may_be_the_former_leaders() -> None:
    assert noticed(after=GRACE_SECONDS + 1)
    assert not noticed(after=0.0)
