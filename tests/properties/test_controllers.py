"""The embedded controllers beside what a workload promises, while its pods come and go."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.clock import VirtualClock, run_virtual
from moorage.memory.cluster_resources import DAEMON_SETS, JOBS, REPLICA_SETS, STATEFUL_SETS
from moorage.memory.controllers.standard_controllers import standard_controllers
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import node
from moorage.watch.api_resources import NODES, PODS, Resource
from moorage.watch.api_server import Raw

LABELS = {"app": "web"}
KINDS = [REPLICA_SETS, STATEFUL_SETS, JOBS, DAEMON_SETS]
COMPLETIONS, BACKOFF_LIMIT = 4, 1


class World:
    """One workload, two nodes, and somebody who does things to its pods."""

    def __init__(self, kind: Resource, size: int) -> None:
        self.kind, self.size = kind, size
        self.clock = VirtualClock(1.7e9)
        self.cluster = MemoryCluster(clock=self.clock, rng=random.Random(1))
        self.finished: list[str] = []
        self.nodes = 2
        for name in ("n0", "n1"):
            self.cluster.add(NODES, node(name).raw)
        self.cluster.add(kind, self._workload())
        self.manager, _ = standard_controllers(self.cluster)
        self.settle()

    def _workload(self) -> Raw:
        template: Raw = {"metadata": {"labels": LABELS}}
        template["spec"] = {"containers": [{"name": "c", "image": "i"}]}
        spec: Raw = {"template": template}
        if self.kind is JOBS:
            template["spec"]["restartPolicy"] = "Never"
            spec |= {"completions": COMPLETIONS, "backoffLimit": BACKOFF_LIMIT}
            spec |= {"parallelism": self.size}
        else:
            spec["selector"] = {"matchLabels": LABELS}
        if self.kind is STATEFUL_SETS:
            spec["serviceName"] = "web"
        if self.kind in (REPLICA_SETS, STATEFUL_SETS):
            spec["replicas"] = self.size
        return {"metadata": {"name": "web"}, "spec": spec}

    def settle(self) -> None:
        self.manager.settle()
        self.cluster.validate()

    def pods(self) -> list[Raw]:
        entries = self.cluster.registry.store.table(PODS).in_order()
        return [entry.raw for entry in entries]

    def active(self) -> list[Raw]:
        return [
            pod
            for pod in self.pods()
            if phase(pod) not in ("Succeeded", "Failed")
            and "deletionTimestamp" not in pod["metadata"]
        ]

    def want(self) -> int:
        """How many pods are to be active now."""
        if self.kind is DAEMON_SETS:
            return self.nodes
        if self.kind is not JOBS:
            return self.size
        if self.finished.count("Failed") > BACKOFF_LIMIT:
            return 0
        return min(self.size, max(0, COMPLETIONS - self.finished.count("Succeeded")))

    async def do(self, act: str, which: int) -> None:
        if act == "scale":
            await self._scale(which % 5)
        elif act == "node":
            self.cluster.add(NODES, node(f"n{self.nodes}").raw)
            self.nodes += 1
        elif self.active():
            await self._to_pod(act, self.active()[which % len(self.active())])

    async def _scale(self, size: int) -> None:
        field = {REPLICA_SETS: "replicas", STATEFUL_SETS: "replicas", JOBS: "parallelism"}
        if self.kind in field:
            raw = self.cluster.read(self.kind, "default", "web")
            spec = {**raw["spec"], field[self.kind]: size}
            await self.cluster.update(self.kind, {**raw, "spec": spec})
            self.size = size

    async def _to_pod(self, act: str, pod: Raw) -> None:
        where = ("default", pod["metadata"]["name"])
        uid = pod["metadata"]["uid"]
        if act == "delete":
            await self.cluster.delete(PODS, *where)
        elif self.kind is STATEFUL_SETS:
            pass  # a pod of an ordinal that finishes or terminates is waited for
        elif act == "bind" and not pod["spec"].get("nodeName"):
            await self.cluster.bind(*where, uid, "n1")
        elif act in ("Failed", "Succeeded"):
            await self.cluster.patch_pod_status(*where, {"status": {"phase": act}}, uid)
            self.finished.append(act)


def phase(pod: Raw) -> Any:
    return (pod.get("status") or {}).get("phase")


ACTS = st.tuples(
    st.sampled_from(["scale", "node", "delete", "bind", "Failed", "Succeeded"]), st.integers(0, 9)
)


@given(st.sampled_from(KINDS), st.integers(0, 4), st.lists(ACTS, max_size=12))
def test_a_workload_has_as_many_active_pods_as_it_asks_for(
    kind: Resource, size: int, acts: list[tuple[str, int]]
) -> None:
    world = World(kind, size)

    async def story() -> None:
        for act, which in acts:
            before = len(world.active())
            await world.do(act, which)
            world.settle()
            want = world.want()
            if kind is JOBS and (act == "scale" or want < before):
                want = max(want, min(before, len(world.active())))  # none is taken from a Job
            assert len(world.active()) == want

    assert len(world.active()) == world.want()
    run_virtual(story(), world.clock)


def named(world: World) -> list[str]:
    return [pod["metadata"]["name"] for pod in world.active()]


def test_of_a_replica_set_pods_without_a_node_go_first_and_then_the_youngest() -> None:
    world = World(REPLICA_SETS, 4)

    async def story() -> list[list[str]]:
        await world.do("bind", 3)
        left = []
        for size in (3, 2, 1):
            await world._scale(size)
            world.settle()
            left.append(named(world))
        return left

    assert run_virtual(story(), world.clock) == [
        ["web-0", "web-1", "web-3"],
        ["web-0", "web-3"],
        ["web-3"],
    ]


@pytest.mark.parametrize(
    ("failures", "active"),
    [
        pytest.param(BACKOFF_LIMIT, 2, id="at the limit it goes on"),
        pytest.param(BACKOFF_LIMIT + 1, 1, id="beyond it nothing new starts"),
    ],
)
def test_a_job_gives_up_beyond_its_backoff_limit(failures: int, active: int) -> None:
    world = World(JOBS, 2)

    async def story() -> None:
        for _ in range(failures):
            await world.do("Failed", 0)
            world.settle()

    run_virtual(story(), world.clock)

    assert len(world.active()) == active


def test_a_daemon_that_has_failed_is_replaced_on_its_node() -> None:
    world = World(DAEMON_SETS, 0)

    async def story() -> None:
        await world.do("Failed", 0)
        world.settle()

    assert sorted(named(world)) == ["web-n0", "web-n1"]
    run_virtual(story(), world.clock)

    assert sorted(named(world)) == ["web-n0-1", "web-n1"]
