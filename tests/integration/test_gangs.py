"""Groups of pods on a real API server."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.control_plane import ROOT, ControlPlane, Refused
from tests.integration.harness import Running, eventually, running
from tests.integration.making import Raw, node, pod
from tests.integration.proxying import TcpProxy

pytestmark = pytest.mark.kube

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
OWN_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
LABEL = "scheduling.x-k8s.io/pod-group"


@pytest.fixture(scope="module")
def group_plane(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that serves PodGroups, ours and Kubernetes' own."""
    flags = (
        "--feature-gates=GenericWorkload=true",
        "--runtime-config=scheduling.k8s.io/v1beta1=true",
    )
    with ControlPlane(programs, tmp_path_factory.mktemp("groups"), *flags) as plane:
        plane.request(
            "POST", CRDS, yaml.safe_load((ROOT / "deploy/crds/podgroups.yaml").read_text())
        )
        _until_served(plane, GROUPS)
        yield plane


@pytest.fixture
def groups(group_plane: ControlPlane) -> Iterator[ControlPlane]:
    yield group_plane
    group_plane.clear()
    for path in (GROUPS, OWN_GROUPS):
        group_plane.request("DELETE", path)


def _until_served(plane: ControlPlane, path: str) -> None:
    deadline = time.monotonic() + 20
    while True:
        with contextlib.suppress(Refused):
            plane.request("GET", path)
            return
        assert time.monotonic() < deadline, f"{path} is never served"
        time.sleep(0.1)


def group(name: str, members: int, **spec: Any) -> Raw:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": members, **spec},
    }


def members(of: str, count: int, cpu: str = "1", **spec: Any) -> list[Raw]:
    return [pod(f"{of}-{i}", cpu=cpu, labels={LABEL: of}, **spec) for i in range(count)]


async def bound(under_test: Running, prefix: str) -> dict[str, str]:
    pods = await under_test.pods()
    return {
        name: found["spec"]["nodeName"]
        for name, found in pods.items()
        if name.startswith(prefix) and found["spec"].get("nodeName")
    }


async def until_bound(under_test: Running, prefix: str, count: int, within: float = 40.0) -> None:
    async def check() -> bool:
        return len(await bound(under_test, prefix)) == count

    await eventually(check, lambda: f"{prefix} is not whole; {under_test.seen.failures}", within)


async def until_phase(under_test: Running, name: str, phase: str) -> Raw:
    async def check() -> Raw | None:
        found: Raw = await under_test.request("GET", f"{GROUPS}/{name}")
        return found if found.get("status", {}).get("phase") == phase else None

    return await eventually(check, lambda: f"{name} is not {phase}")


def play(
    plane: ControlPlane, scenario: Callable[[Running], Awaitable[None]], **settings: Any
) -> None:
    async def main() -> None:
        async with running(plane, **settings) as under_test:
            await scenario(under_test)

    asyncio.run(main())


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


def test_a_fault_of_five_seconds_in_the_middle_leaves_no_half_group(
    groups: ControlPlane, tmp_path: Path
) -> None:
    """The connection breaks while pods are being bound; meanwhile others ask for the room."""

    async def main() -> None:
        async with (
            TcpProxy(groups) as proxy,
            running(groups, kubeconfig_file=proxy.kubeconfig(tmp_path)) as under_test,
        ):
            await under_test.create(*[node(f"n{i}", cpu="4") for i in range(30)])
            await under_test.request("POST", GROUPS, group("train", 120))
            await under_test.create(*members("train", 120))
            await some_bound(under_test, proxy)
            await asyncio.sleep(5)
            await under_test.create(*[pod(f"thief-{i}", cpu="1") for i in range(10)])
            await proxy.open()
            await until_bound(under_test, "train", 120, within=60)
            assert await bound(under_test, "thief") == {}

    asyncio.run(main())


async def some_bound(under_test: Running, proxy: TcpProxy) -> None:
    """Cut the connection once the first pods are bound."""

    async def check() -> bool:
        return len(under_test.seen.bindings) >= 5

    await eventually(check, lambda: "nothing is bound")
    await proxy.close()
    assert len(under_test.seen.bindings) < 120, "the fault came too late to be in the middle"


def test_a_group_whose_pods_are_not_all_there_is_told_so(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"))
        await under_test.request("POST", GROUPS, group("train", 3))
        await under_test.create(*members("train", 2))
        (event,) = await under_test.events("train", "IncompletePodGroup")
        assert event["note"] == "waiting for 1 more pod of PodGroup default/train: 2 of 3 exist"
        assert event["regarding"]["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"
        assert await bound(under_test, "train") == {}
        await under_test.create(members("train", 3)[2])
        await until_bound(under_test, "train", 3)

    play(groups, scenario, **arguments(incompleteAfterSeconds=0.5))


def arguments(**args: Any) -> Raw:
    profile = {
        "schedulerName": "moorage",
        "pluginConfig": [{"name": "GangScheduling", "args": args}],
    }
    return {"profiles": [profile]}


def test_two_names_for_one_pod_are_an_event_about_it(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        labels = {LABEL: "a", "pod-group.scheduling.sigs.k8s.io": "b"}
        await under_test.create(node("n1"), pod("torn", labels=labels))
        (event,) = await under_test.events("torn", "FailedScheduling")
        assert event["note"] == "the pod names 2 pod groups, a and b: it can be in one"

    play(groups, scenario)


def test_a_group_deleted_while_it_waits_leaves_nothing_stuck(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1", cpu="2"))
        await under_test.request("POST", GROUPS, group("train", 3))
        await under_test.create(*members("train", 3))
        await until_phase(under_test, "train", "Pending")
        await under_test.request("DELETE", f"{GROUPS}/train")
        await under_test.create(node("n2", cpu="2"), pod("web"))
        assert await under_test.placed("web")
        assert await bound(under_test, "train") == {}
        await under_test.request("POST", GROUPS, group("train", 3))
        await until_bound(under_test, "train", 3)

    play(groups, scenario)


def test_kubernetes_own_groups_are_gangs_too(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        own = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "own", "namespace": "default"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
        }
        pods = [pod(f"own-{i}", cpu="1", schedulingGroup={"podGroupName": "own"}) for i in range(3)]
        await under_test.create(node("n1", cpu="2"))
        await under_test.request("POST", OWN_GROUPS, own)
        await under_test.create(*pods)

        async def told() -> Raw | None:
            found = await under_test.request("GET", f"{OWN_GROUPS}/own")
            conditions = found.get("status", {}).get("conditions", [])
            return next((c for c in conditions if c["type"] == "PodGroupInitiallyScheduled"), None)

        condition = await eventually(told, lambda: f"no condition; {under_test.seen.failures}")
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
        assert await bound(under_test, "own") == {}
        await under_test.create(node("n2", cpu="2"))
        await until_bound(under_test, "own", 3)

    play(groups, scenario)


def test_a_group_evicts_another_as_a_whole(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        high = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
        }
        await under_test.create(high, *[node(f"n{i}", cpu="2") for i in range(2)])
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
