"""Groups of pods on a real API server."""

import asyncio
from pathlib import Path

import pytest

from moorage.gang.feature import Gangs
from moorage.observe.records import Bound
from tests.integration.control_plane import ControlPlane
from tests.integration.grouping import (
    GROUPS,
    OLDER_LABEL,
    OWN_GROUPS,
    arguments,
    bound,
    group,
    members,
    own_group,
    own_members,
    play,
    until_bound,
    until_phase,
)
from tests.integration.harness import Running, eventually, running
from tests.integration.making import Raw, node, pod, priority_class
from tests.integration.proxying import TcpProxy

pytestmark = pytest.mark.kube

RACK = "rack"


def test_two_groups_that_cannot_both_run_run_one_after_the_other(groups: ControlPlane) -> None:
    """Each needs 60 % of the cluster; their pods are created in turns."""

    async def scenario(under_test: Running) -> None:
        await under_test.create(*[node(f"n{i}", cpu="2") for i in range(5)])
        for one in (group("a", 6), group("b", 6)):
            await under_test.request("POST", GROUPS, one)
        in_turns = zip(members("a", 6), members("b", 6), strict=True)
        await under_test.create(*[made for pair in in_turns for made in pair])

        async def one_runs() -> str | None:
            counts = {name: len(await bound(under_test, name)) for name in ("a", "b")}
            return next((name for name, count in counts.items() if count == 6), None)

        first = await eventually(one_runs, lambda: "neither group runs")
        second = "b" if first == "a" else "a"
        await until_phase(under_test, first, "Scheduled")
        waiting = await until_phase(under_test, second, "Pending")
        assert "of the 6 pods needed fit" in waiting["status"]["conditions"][0]["message"]
        assert await bound(under_test, second) == {}
        for index in range(6):
            path = f"/api/v1/namespaces/default/pods/{first}-{index}"
            await under_test.request("DELETE", path)
        await until_bound(under_test, second, 6)

    play(groups, scenario)


def test_a_group_of_256_pods_on_100_nodes_is_bound_whole(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(*[node(f"n{i}", cpu="4") for i in range(100)])
        await under_test.request("POST", GROUPS, group("large", 256))
        await under_test.create(*members("large", 256))
        await until_bound(under_test, "large", 256)
        attempts = {attempt.time for attempt in under_test.seen.attempts}
        assert len(attempts) == 256
        assert max(attempts) - min(attempts) < 5.0

    play(groups, scenario)


class Scissors:
    """Cut every connection as soon as so many pods are bound."""

    def __init__(self, proxy: TcpProxy, after: int) -> None:
        self._proxy = proxy
        self._after = after
        self.bound_by_then = 0
        self.cut = asyncio.Event()

    def bound(self, bound: Bound) -> None:
        self.bound_by_then += not self.cut.is_set()
        if self.bound_by_then == self._after and not self.cut.is_set():
            self.cut.set()
            self._proxy.cut()
            self._closing = asyncio.ensure_future(self._proxy.close())


def test_a_fault_of_five_seconds_in_the_middle_leaves_no_half_group(
    groups: ControlPlane, tmp_path: Path
) -> None:
    """The connection breaks while pods are being bound; meanwhile others ask for the room."""

    async def main() -> None:
        async with TcpProxy(groups) as proxy:
            scissors = Scissors(proxy, after=20)
            file = proxy.kubeconfig(tmp_path)
            async with running(groups, kubeconfig_file=file, observer=scissors) as under_test:
                await under_test.create(*[node(f"n{i}", cpu="4") for i in range(30)])
                await under_test.request("POST", GROUPS, group("train", 120))
                await under_test.create(*members("train", 120))
                await asyncio.wait_for(scissors.cut.wait(), 40)
                await asyncio.sleep(5)
                assert 20 <= len(await bound(under_test, "train")) < 120
                await under_test.create(*[pod(f"thief-{i}", cpu="1") for i in range(10)])
                await proxy.open()
                await until_bound(under_test, "train", 120, within=60)
                assert await bound(under_test, "thief") == {}

    asyncio.run(main())


def test_kubernetes_own_groups_are_gangs_too(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1", cpu="2"))
        await under_test.request("POST", OWN_GROUPS, own_group("own", 3))
        await under_test.create(*own_members("own", 3))
        condition = await until_told(under_test, "own", "Unschedulable")
        assert condition["status"] == "False"
        assert "2 of the 3 pods needed fit" in condition["message"]
        assert await bound(under_test, "own") == {}
        await under_test.create(node("n2", cpu="2"))
        await until_bound(under_test, "own", 3)
        assert (await until_told(under_test, "own", "Scheduled"))["status"] == "True"

    play(groups, scenario)


async def until_told(under_test: Running, name: str, reason: str) -> Raw:
    """The condition of one of Kubernetes' own groups, once it has that reason."""

    async def check() -> Raw | None:
        found = await under_test.request("GET", f"{OWN_GROUPS}/{name}")
        conditions = found.get("status", {}).get("conditions", [])
        wanted = ("PodGroupInitiallyScheduled", reason)
        return next((c for c in conditions if (c["type"], c["reason"]) == wanted), None)

    return await eventually(check, lambda: f"{name} is not {reason}; {under_test.seen.failures}")


def racks(**cpus: str) -> list[Raw]:
    """Two nodes in each rack."""
    return [
        node(f"{rack}-{i}", cpu=cpu, labels={RACK: rack})
        for rack, cpu in cpus.items()
        for i in (0, 1)
    ]


@pytest.mark.parametrize(
    ("written", "where"),
    [
        pytest.param(
            group("train", 4, annotations={"moorage.io/required-topology": RACK}),
            {"b-0", "b-1"},
            id="by annotation, required",
        ),
        pytest.param(
            group("train", 4, annotations={"moorage.io/preferred-topology": RACK}),
            {"b-0", "b-1"},
            id="by annotation, preferred",
        ),
        pytest.param(
            own_group("train", 4, schedulingConstraints={"topology": [{"key": RACK}]}),
            {"b-0", "b-1"},
            id="in Kubernetes' own field",
        ),
    ],
)
def test_a_group_is_packed_into_the_rack_that_just_fits(
    groups: ControlPlane, written: Raw, where: set[str]
) -> None:
    is_own = written["apiVersion"].startswith("scheduling.k8s.io")

    async def scenario(under_test: Running) -> None:
        await under_test.create(*racks(a="1", b="2", c="9"))
        await under_test.request("POST", OWN_GROUPS if is_own else GROUPS, written)
        await under_test.create(*(own_members("train", 4) if is_own else members("train", 4)))
        await until_bound(under_test, "train", 4)
        assert set((await bound(under_test, "train")).values()) == where

    play(groups, scenario)


def test_a_group_that_no_rack_can_hold_waits_if_it_must_have_one(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(*racks(a="1", b="1"))
        required = {"moorage.io/required-topology": RACK}
        await under_test.request("POST", GROUPS, group("train", 4, annotations=required))
        await under_test.create(*members("train", 4))
        waiting = await until_phase(under_test, "train", "Pending")
        message = waiting["status"]["conditions"][0]["message"]
        assert message.startswith("PodGroup default/train: 2 of the 4 pods needed fit in rack=")
        assert await bound(under_test, "train") == {}
        await under_test.create(*racks(c="2"))
        await until_bound(under_test, "train", 4)

    play(groups, scenario)


def test_a_pod_may_use_the_older_label(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        pods = [pod(f"train-{i}", cpu="1", labels={OLDER_LABEL: "train"}) for i in range(2)]
        await under_test.create(node("n1", cpu="1"))
        await under_test.request("POST", GROUPS, group("train", 2))
        await under_test.create(*pods)
        await until_phase(under_test, "train", "Pending")
        assert await bound(under_test, "train") == {}
        await under_test.create(node("n2", cpu="1"))
        await until_bound(under_test, "train", 2)

    play(groups, scenario)


def lasting(name: str, seconds: str, cpu: str = "1") -> Raw:
    """A pod that Kubernetes ends after so many seconds."""
    return pod(name, cpu=cpu, activeDeadlineSeconds=int(seconds))


def test_small_pods_pass_a_group_that_waits_until_it_is_kept_room(groups: ControlPlane) -> None:
    """Then only those pass that will have ended by the time the group can start."""

    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1", cpu="4"), lasting("long", "3600", cpu="2"))
        await under_test.placed("long")
        await under_test.request("POST", GROUPS, group("train", 4))
        await under_test.create(*members("train", 4))
        await until_phase(under_test, "train", "Pending")
        await under_test.create(lasting("passes", "3600"))
        await under_test.placed("passes")

        async def is_kept() -> bool:
            return under_test.scheduler.feature(Gangs).holds.get("default/train") is not None

        await eventually(is_kept, lambda: "no room is kept for the group")
        await under_test.create(pod("endless", cpu="1"))
        found = await under_test.condition("endless", "Unschedulable")
        assert "room that is held for PodGroup(s) [default/train]" in found["message"]
        await under_test.create(lasting("brief", "60"))
        await under_test.placed("brief")

    play(groups, scenario, **arguments(reservationAfterSeconds=3))


def test_a_group_evicts_another_as_a_whole(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(
            priority_class("high", 1000), *[node(f"n{i}", cpu="2") for i in range(2)]
        )
        await under_test.request("POST", GROUPS, group("batch", 3))
        await under_test.create(*members("batch", 3))
        await until_bound(under_test, "batch", 3)
        await under_test.request("POST", GROUPS, group("vip", 2))
        await under_test.create(*members("vip", 2, cpu="2", priorityClassName="high"))
        await until_bound(under_test, "vip", 2)
        assert not [name for name in await under_test.pods() if name.startswith("batch")]

    play(groups, scenario)


def test_where_there_are_no_groups_naming_one_means_nothing(plane: ControlPlane) -> None:
    """Nobody has installed PodGroups: labels are labels, and nothing complains."""

    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"), *members("train", 2))
        await until_bound(under_test, "train", 2)
        assert under_test.seen.failures == []

    play(plane, scenario)
