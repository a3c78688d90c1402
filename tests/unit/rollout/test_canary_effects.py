"""What a canary does to a cluster: cost, evictions, waiting, spread, beside the stable version."""

import random
from typing import Any

import pytest

from moorage import Cycle, Filter, Node, Pod, Rejection
from moorage.framework.verdicts import unresolvable
from moorage.observe.prometheus_metrics import Metrics
from moorage.rollout.rollback import Canaries
from moorage.testing import PodBuilder, node, pod
from tests.unit.scheduler.changing_world import ChangingWorld, configuration, profile

OURS = "default-scheduler"
PRICES = {"instancePrices": {"cheap": 1.0, "dear": 4.0}}
BASE = configuration(profile(OURS, "CostOptimizationPlugin", CostOptimizationPlugin=PRICES))
ZONE = "topology.kubernetes.io/zone"


class OnlyIn(Filter, frozen=True):
    """Holds pods to the nodes of one pool."""

    pool: str = ""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        held = self.pool and node.labels.get("pool") != self.pool
        return unresolvable(f"only in {self.pool}") if held else None


def canary(pool: str = "", percent: float = 30, **rollback: Any) -> dict[str, Any]:
    plugins = {"multiPoint": {"enabled": [{"name": "OnlyIn"}, {"name": "CostOptimizationPlugin"}]}}
    args = {"OnlyIn": {"pool": pool}, "CostOptimizationPlugin": PRICES}
    return {
        "apiVersion": "moorage/v1",
        "kind": "ProfileCanary",
        "metadata": {"name": "v2"},
        "spec": {
            "schedulerName": OURS,
            "percent": percent,
            "rollback": rollback,
            "profile": {
                "plugins": plugins,
                "pluginConfig": [{"name": name, "args": given} for name, given in args.items()],
            },
        },
    }


def machine(name: str, pool: str, zone: str = "z1", **room: str) -> Any:
    offered = {"pods": "500", "cpu": "100", "memory": "400Gi", **room}
    kind = "dear" if pool == "dear" else "cheap"
    made = node(name).offering(**offered).labelled({"pool": pool, ZONE: zone})
    return made.labelled({"node.kubernetes.io/instance-type": kind})


def web(count: int, prefix: str = "web") -> list[PodBuilder]:
    return [pod(f"{prefix}-{index}").requesting(cpu="100m") for index in range(count)]


def evenly(app: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    kind = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
    return {**kind, "labelSelector": selector}


def world(*objects: Any) -> ChangingWorld:
    return ChangingWorld(*objects, config=BASE, plugins=(OnlyIn,))


def state(world: ChangingWorld) -> dict[str, Any]:
    (shown,) = world.scheduler.feature(Canaries).shown()
    return shown


def test_one_that_wastes_money_is_given_up_and_the_reason_named() -> None:
    metrics = Metrics()

    async def story(world: ChangingWorld) -> None:
        world.scheduler.observers.add(metrics)
        metrics.follow(world.scheduler)
        world.change(BASE, canary("dear"))
        for each in web(150):
            world.apply(each)
            await world.clock.sleep(0.1)
        assert state(world)["state"] == "RolledBack"
        assert state(world)["comparison"]["summary"].startswith("failures: no difference shown")

    seen = world(machine("a", "cheap"), machine("b", "dear")).run(story)

    (rolled_back,) = seen.rollbacks
    assert rolled_back.reason.startswith("its cost per pod and hour, ")
    assert "at most 2 times as much is allowed" in rolled_back.reason
    assert len(seen.bindings) == 150
    told = metrics.render()[0].decode()
    labels = f'kpi="cost",profile="{OURS}",version='
    assert f'moorage_version_kpi{{{labels}"v2"}}' in told
    assert f'moorage_version_kpi{{{labels}"stable"}}' in told
    chance = told.split(f'moorage_canary_p_value{{{labels}"v2"}} ')[1].split("\n")[0]
    assert float(chance) < 0.005


def test_money_is_no_object_where_it_has_no_limit() -> None:
    async def story(world: ChangingWorld) -> None:
        world.change(BASE, canary("dear", maxCostRatio=None))
        for each in web(150):
            world.apply(each)
            await world.clock.sleep(0.1)
        kpis = {found["kpi"]: found["verdict"] for found in state(world)["comparison"]["kpis"]}
        assert (state(world)["state"], kpis["cost"]) == ("Running", "worse")

    assert world(machine("a", "cheap"), machine("b", "dear")).run(story).rollbacks == []


def test_one_that_evicts_others_is_given_up_and_the_reason_named() -> None:
    """Its pool is full of pods of lower priority; those of the stable version have room."""
    full = [
        pod(f"low-{index}").on("b").requesting(cpu="100m").prioritised(-10) for index in range(100)
    ]

    async def story(world: ChangingWorld) -> None:
        world.change(BASE, canary("full", maxFailureRate=None, maxFailureRateIncrease=None))
        for each in web(110):
            world.apply(each)
            await world.clock.sleep(1)

    seen = world(machine("a", "cheap"), machine("b", "full", cpu="10"), *full).run(story)

    (rolled_back,) = seen.rollbacks
    assert rolled_back.reason.startswith("its evictions per pod, ")
    assert "at most 0.1 more is allowed" in rolled_back.reason


def test_one_that_crowds_a_zone_is_given_up_where_spread_has_a_limit() -> None:
    async def story(world: ChangingWorld) -> None:
        given = canary("cheap", 50, maxSpreadDecrease=0.2)
        given["spec"]["hashBy"] = "owner"
        world.change(BASE, given)
        for index in range(330):
            app = f"app-{index // 3}"
            (made,) = web(1, f"web-{index}")
            made = made.labelled({"app": app}).with_spec(topologySpreadConstraints=[evenly(app)])
            owner = {"kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
            made.raw["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", **owner}]
            world.apply(made)
            await world.clock.sleep(0.1)

    seen = world(machine("a", "cheap"), machine("b", "other", zone="z2")).run(story)

    assert "share of pods whose workload is spread over zones" in seen.rollbacks[0].reason


def test_with_ten_pods_there_is_not_enough_evidence() -> None:
    async def story(world: ChangingWorld) -> None:
        world.change(BASE, canary("dear", 50))
        world.apply(*web(20))
        await world.clock.sleep(30)
        shown = state(world)
        assert shown["state"] == "Running"
        assert shown["comparison"]["summary"].startswith("not enough evidence: ")
        assert shown["comparison"]["kpis"] == []

    assert world(machine("a", "cheap"), machine("b", "dear")).run(story).rollbacks == []


@pytest.mark.parametrize("first", [0, pytest.param(10, marks=pytest.mark.long)])
def test_a_version_that_is_the_same_is_not_given_up(first: int) -> None:
    """Pods of all sizes on a cluster that fills up, by every limit there is and no tolerance."""
    strict = {
        "maxFailureRate": None,
        "maxFailureRateIncrease": 0,
        "maxLatencyRatio": 1,
        "maxWaitIncrease": "0s",
        "maxEvictionsIncrease": 0,
        "maxCostRatio": 1,
        "maxUtilisationDecrease": 0,
        "maxBalanceDecrease": 0,
        "maxSpreadDecrease": 0,
    }
    given_up = [s for s in range(first, first + 10) if _same_version(s, strict).rollbacks]

    assert given_up == []


def _same_version(seed: int, limits: dict[str, Any]) -> ChangingWorld:
    dice = random.Random(seed)
    nodes = [
        machine(f"n{i}", dice.choice(["cheap", "dear"]), f"z{i % 3}", cpu=dice.choice(["8", "16"]))
        for i in range(12)
    ]

    async def story(world: ChangingWorld) -> None:
        world.change(BASE, canary("", 40, **limits))
        for index in range(90):
            made = pod(f"s{seed}-{index}").labelled({"app": f"app-{index % 7}"})
            asking = made.requesting(cpu=dice.choice(["100m", "500m", "2"]))
            world.apply(asking.prioritised(dice.choice([0, 0, 0, 10])))
            await world.clock.sleep(dice.expovariate(2))
        await world.clock.sleep(30)
        assert state(world)["comparison"]["looks"] > 0

    return world(*nodes).run(story)
