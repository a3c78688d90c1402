"""Making room on a real API server: what kube-scheduler does, and what it does not have.

The test plays the kubelet: pods with a grace period stay until it says that they have ended.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from moorage.observe.prometheus_metrics import Metrics
from tests.integration.control_plane import ControlPlane, Refused
from tests.integration.harness import Running, eventually, running
from tests.integration.making import OURS, Raw, node, pod

pytestmark = pytest.mark.kube

GRACE: Raw = {"terminationGracePeriodSeconds": 600}


def play(
    plane: ControlPlane, scenario: Callable[[Running], Awaitable[None]], **preemption: Any
) -> None:
    """Run a scenario with these arguments of DefaultPreemption."""
    args = [{"name": "DefaultPreemption", "args": preemption}]

    async def main() -> None:
        profiles = [{"schedulerName": OURS, "pluginConfig": args}]
        async with running(plane, profiles=profiles) as under_test:
            await scenario(under_test)

    asyncio.run(main())


def priority(name: str, value: int, **annotations: str) -> Raw:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "annotations": annotations},
        "value": value,
    }


def low(name: str, on: str = "a", cpu: str = "1", **spec: Any) -> Raw:
    """A running pod that nobody schedules."""
    return pod(name, cpu=cpu, scheduler="nobody", nodeName=on, **spec)


def vip(name: str = "vip", cpu: str = "1", class_: str = "high", **spec: Any) -> Raw:
    return pod(name, cpu=cpu, priorityClassName=class_, **spec)


def path(name: str) -> str:
    return f"/api/v1/namespaces/default/pods/{name}"


async def finish(under_test: Running, *names: str) -> None:
    """The containers of these pods have stopped."""
    for name in names:
        with contextlib.suppress(Refused):
            await under_test.request("DELETE", f"{path(name)}?gracePeriodSeconds=0")


async def started(under_test: Running, *names: str, ago: float = 0.0) -> None:
    """The kubelet says that these pods run and are ready."""
    then = datetime.fromtimestamp(datetime.now(UTC).timestamp() - ago, UTC)
    status = {
        "phase": "Running",
        "startTime": then.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    for name in names:
        await under_test.request("PATCH", f"{path(name)}/status", {"status": status})


async def leaving(under_test: Running, *names: str) -> None:
    """Return when these pods, and no others, are being deleted."""

    async def check() -> bool:
        pods = await under_test.pods()
        return {n for n, p in pods.items() if "deletionTimestamp" in p["metadata"]} == set(names)

    await eventually(check, lambda: f"not leaving: {names}; {under_test.seen.failures}")


async def refused(under_test: Running, name: str, attempts: int) -> None:
    """Return when a pod was attempted that often."""

    def told() -> list[str]:
        return [a.message for a in under_test.seen.attempts if a.pod == f"default/{name}"]

    async def check() -> bool:
        return len(told()) >= attempts

    await eventually(check, lambda: f"{name} was not attempted {attempts} times: {told()}")


async def spared(under_test: Running) -> None:
    """Return when a pod was told that there is nobody it may evict."""

    async def check() -> bool:
        told = (attempt.message for attempt in under_test.seen.attempts)
        return any("No preemption victims found for incoming pod" in message for message in told)

    await eventually(check, lambda: f"nobody was spared: {under_test.seen.attempts}")


async def promised(under_test: Running, name: str) -> str:
    status = (await under_test.pods())[name]["status"]
    return str(status.get("nominatedNodeName", ""))


def metric(under_test: Running, name: str) -> float:
    """A metric as Prometheus reads it."""
    metrics = Metrics()
    metrics.follow(under_test.scheduler)
    lines = metrics.render()[0].decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def test_a_victim_that_is_leaving_already_is_waited_for_and_nobody_else_is_evicted(
    plane: ControlPlane,
) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(priority("high", 1000), node("a", cpu="1"))
        await under_test.create(low("tired", **GRACE))
        await under_test.request("DELETE", path("tired"))
        await leaving(under_test, "tired")
        await under_test.create(vip())

        async def nominated() -> bool:
            return await promised(under_test, "vip") == "a"

        await eventually(nominated, lambda: "not promised")
        await finish(under_test, "tired")
        assert await under_test.placed("vip") == {"vip": "a"}
        assert metric(under_test, "moorage_evictions_total") == 0

    play(plane, scenario)


def test_a_pod_that_is_outbid_loses_its_promise(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(priority("middle", 5), priority("high", 9), node("a", cpu="2"))
        await under_test.create(low("one", **GRACE), low("two", **GRACE))
        await started(under_test, "one", ago=10)
        await started(under_test, "two", ago=20)
        await under_test.create(vip("first", class_="middle"))
        await leaving(under_test, "one")
        assert await promised(under_test, "first") == "a"

        await under_test.create(vip("second", cpu="2"))
        await leaving(under_test, "one", "two")

        async def cleared() -> bool:
            return await promised(under_test, "first") == ""

        await eventually(cleared, lambda: "the promise is still there")
        await finish(under_test, "one", "two")
        assert await under_test.placed("second") == {"second": "a"}
        assert not (await under_test.pods())["first"]["spec"].get("nodeName")

    play(plane, scenario)


def test_a_pod_that_may_never_preempt_evicts_nobody(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        meek = {**priority("meek", 1000), "preemptionPolicy": "Never"}
        await under_test.create(meek, node("a", cpu="1"), low("low"))
        await under_test.create(vip(class_="meek"))

        message = (await under_test.condition("vip", "Unschedulable"))["message"]
        assert message == (
            "0/1 nodes are available: 1 Insufficient cpu. "
            "preemption: not eligible due to preemptionPolicy=Never."
        )
        assert "deletionTimestamp" not in (await under_test.pods())["low"]["metadata"]

    play(plane, scenario)


def budget(allowed: int) -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1},
        "status": allowing(allowed),
    }


def allowing(allowed: int) -> Raw:
    return {
        "disruptionsAllowed": allowed,
        "currentHealthy": 1 + allowed,
        "desiredHealthy": 1,
        "expectedPods": 2,
        "observedGeneration": 1,
    }


async def allow(under_test: Running, allowed: int) -> None:
    """Write what a budget allows, as the disruption controller does; return when it is heard."""
    where = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web/status"
    await under_test.request("PATCH", where, {"status": allowing(allowed)})
    known = under_test.scheduler.reflectors["poddisruptionbudgets"].known

    async def heard() -> bool:
        found: Any = known.get("default/web")
        return found is not None and found.status.disruptions_allowed == allowed

    await eventually(heard, lambda: "the budget was not heard of")


def test_a_budget_is_spent_at_once_though_no_controller_says_so(plane: ControlPlane) -> None:
    """Two pods share a budget of one; the third is more important but unprotected."""

    async def scenario(under_test: Running) -> None:
        nodes = [node(name, cpu="1") for name in "abc"]
        await under_test.create(priority("middle", 50), priority("high", 1000), *nodes)
        await under_test.create(budget(1))
        await allow(under_test, 1)
        await under_test.create(
            low("web-a", labels={"app": "web"}),
            low("web-b", "b", labels={"app": "web"}),
            low("lone", "c", priorityClassName="middle"),
        )
        await started(under_test, "web-a", "web-b", "lone")
        await under_test.create(vip("first"), vip("second"))

        await under_test.placed("first", "second")
        left = set(await under_test.pods()) - {"first", "second"}
        assert left in ({"web-a"}, {"web-b"})
        assert metric(under_test, "moorage_disruptions_spent") == 1
        assert metric(under_test, 'moorage_evictions_total{result="evicted",way="deletion"}') == 2

    play(plane, scenario)


def test_by_the_eviction_api_a_budget_has_the_last_word(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(priority("high", 1000), node("a", cpu="1"), budget(0))
        await allow(under_test, 0)
        await under_test.create(low("web", labels={"app": "web"}))
        await started(under_test, "web")
        await under_test.create(vip())

        await refused(under_test, "vip", attempts=2)
        assert "deletionTimestamp" not in (await under_test.pods())["web"]["metadata"]
        failed = 'moorage_evictions_total{result="failed",way="eviction"}'
        assert metric(under_test, failed) >= 1

        await allow(under_test, 1)
        assert await under_test.placed("vip") == {"vip": "a"}
        assert "web" not in await under_test.pods()
        assert metric(under_test, 'moorage_evictions_total{result="evicted",way="eviction"}') == 1

    play(plane, scenario, evictionAPI=True)


def test_a_priority_class_says_how_long_its_pods_must_have_run(plane: ControlPlane) -> None:
    """An hour for `batch`; once the class no longer asks for it, its pod may go at once."""
    asked = {"moorage.io/minimum-runtime-seconds": "3600"}

    async def scenario(under_test: Running) -> None:
        batch = priority("batch", 1, **asked)
        await under_test.create(batch, priority("high", 1000), node("a", cpu="1"))
        await under_test.create(low("job", priorityClassName="batch"))
        await started(under_test, "job", ago=60)
        await under_test.create(vip())

        await spared(under_test)
        assert set(await under_test.pods()) == {"job", "vip"}

        where = "/apis/scheduling.k8s.io/v1/priorityclasses/batch"
        await under_test.request(
            "PATCH", where, {"metadata": {"annotations": {k: "0" for k in asked}}}
        )
        assert await under_test.placed("vip") == {"vip": "a"}

    play(plane, scenario)


def test_a_profile_says_how_long_pods_must_have_run(plane: ControlPlane) -> None:
    """The pod is evicted without anything else happening, and not before its time."""
    seconds = 4

    async def scenario(under_test: Running) -> None:
        await under_test.create(priority("high", 1000), node("a", cpu="1"))
        await under_test.create(low("job", **GRACE))
        await started(under_test, "job")
        began = (await under_test.pods())["job"]["status"]["startTime"]
        await under_test.create(vip())

        await leaving(under_test, "job")
        events = await under_test.events("job", "Preempted")
        assert _time(events[0]["eventTime"]) - _time(began) >= seconds
        await finish(under_test, "job")
        assert await under_test.placed("vip") == {"vip": "a"}

    play(plane, scenario, minimumRuntimeSeconds=seconds)


def _time(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def owned(made: Raw, by: str) -> Raw:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": by, "uid": by}
    made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return made


class Rival:
    """Another scheduler that has a new pod on the node before the old one is gone."""

    def __init__(self, under_test: Running) -> None:
        self._under_test = under_test
        self.evicted = 0

    async def begin(self) -> None:
        await self._under_test.create(owned(low("rival-0", **GRACE), "rival"))

    async def fill(self) -> None:
        while True:
            pods = await self._under_test.pods()
            name = f"rival-{self.evicted}"
            if name in pods and "deletionTimestamp" in pods[name]["metadata"]:
                self.evicted += 1
                successor = low(f"rival-{self.evicted}", **GRACE)
                await self._under_test.create(owned(successor, "rival"))
                await finish(self._under_test, name)
            await asyncio.sleep(0.02)


def test_evictions_in_a_circle_are_cut_and_told(plane: ControlPlane) -> None:
    limit = 3

    async def scenario(under_test: Running) -> None:
        rival = Rival(under_test)
        await under_test.create(priority("high", 1000), node("a", cpu="1"))
        await rival.begin()
        filling = asyncio.ensure_future(rival.fill())
        try:
            await under_test.create(owned(vip(), "vips"))

            (event,) = await under_test.events("vip", "PreemptionLoop")
            assert event["note"].startswith(
                f"pods of ReplicaSet default/vips have evicted pods of ReplicaSet default/rival "
                f"{limit} times within 600 s"
            )
            assert metric(under_test, "moorage_preemption_loops_cut_total") == 1
            assert metric(under_test, "moorage_preemption_pairs_stopped") == 1
            await spared(under_test)
            assert rival.evicted == limit + 1
            assert "vip" in await under_test.pods()
        finally:
            filling.cancel()
            await asyncio.gather(filling, return_exceptions=True)

    play(plane, scenario, loopGuard=limit)


def test_a_promise_that_does_not_come_true_is_given_up(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(priority("high", 1000), node("a", cpu="1"))
        await under_test.create(low("slow", **GRACE))
        await under_test.create(vip())
        await leaving(under_test, "slow")

        (event, *_) = await under_test.events("vip", "NominationGivenUp")
        assert event["note"].startswith("the node a promised to the pod 2 s ago did not come free")
        assert metric(under_test, "moorage_nominations_given_up_total") >= 1
        await under_test.create(node("b", cpu="1"))
        assert await under_test.placed("vip") == {"vip": "b"}

    play(plane, scenario, nominationSeconds=2)
