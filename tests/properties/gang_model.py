"""A model of everything that can happen to groups of pods, for hypothesis to play with.

Pods arrive and are deleted, groups are written, changed and deleted, nodes are lost and come back,
binds take their time, fail for a while and for good, room runs out, the more important evict
others, time passes. After every step, wherever that leaves the scheduler:

1. A group is bound in part only while it is being bound, for a while after one of its binds
   failed, or for as long as something is missing that was taken away: one of its pods, a node, the
   room that something more important has taken.
2. Nothing is assumed or reserved once nobody is being bound, and room is kept only for groups
   that wait for it.
3. Cache and queue do not contradict themselves, and nothing has failed that nobody broke.

And once nothing stands in the way any more, every group that has its pods runs whole, and every
other pod runs: there is no deadlock, and nothing is forgotten.
"""

import contextlib
from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.podgroup import POD_GROUP_LABEL
from moorage.clock import virtual_runner
from moorage.framework.cycle import Cycle
from moorage.framework.points import Bind, Reserve
from moorage.framework.verdicts import Rejection
from moorage.gang.feature import Gangs
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.watch.api_errors import Conflict, NotFound, Unreachable
from moorage.watch.api_resources import NODES, PODS
from tests.unit.gang.gang_world import POD_GROUPS, GangWorld, annotated, group, member

ZONE = "topology.kubernetes.io/zone"
PRIORITIES = {"a": 0, "b": 0, "c": 10}
"""Of the groups: pods of the last evict others, one by one or as a group."""
NODE_COUNT = 4
MOMENT = 1e-6
FAILURE_WINDOW = 60.0
"""Seconds: the binds that are tried again, and the back-off of the group."""
PEACE_SECONDS = 300.0

names = st.sampled_from(sorted(PRIORITIES))
faults = st.lists(st.sampled_from(["", "", "", "refused", "away"]), max_size=12)
packings = st.sampled_from(["", "", "required_topology", "preferred_topology"])


class ModelBinder(Bind, Reserve, frozen=True):
    """Binds as `shared["model"]` says, and counts what is reserved."""

    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        await cycle.shared["model"].before_bind(pod)
        assert cycle.client is not None
        await cycle.client.bind(pod.namespace, pod.name, pod.uid, node.name)

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        cycle.shared["model"].reserved.add(pod.uid)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        cycle.shared["model"].reserved.discard(pod.uid)


class GangModel(RuleBasedStateMachine):
    """The world, and what may excuse a group that is bound in part."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes = [_node(index) for index in range(NODE_COUNT)]
        self.world = GangWorld(
            *self.nodes[:2],
            plugins=(ModelBinder,),
            args={"GangScheduling": {"reservationAfterSeconds": 40}},
        )
        self.world.profile.bind = [("ModelBinder", ModelBinder())]
        self.world.profile.shared["model"] = self
        self.runner = virtual_runner(self.world.clock)
        self.reserved: set[str] = set()
        self.faults: list[str] = []
        self.latency = 0.0
        self.failed_at: dict[str, float] = {}
        self.deprived: set[str] = set()
        self.minimum: dict[str, int] = {}
        self.made = 0

    async def before_bind(self, pod: Pod) -> None:
        """What happens to a request to bind."""
        await self.world.clock.sleep(self.latency)
        fault = self.faults.pop(0) if self.faults else ""
        if fault:
            self.failed_at[pod.labels.get(POD_GROUP_LABEL, "")] = self.world.clock.now()
            raise Conflict("refused") if fault == "refused" else Unreachable("away")

    def tell(self, part: Coroutine[Any, Any, None]) -> None:
        """Let something happen, and all that follows from it without time passing."""

        async def settle() -> None:
            try:
                await part
            finally:
                await self.world.clock.sleep(MOMENT)

        self.runner.run(settle())

    @initialize()
    def begin(self) -> None:
        self.tell(self.world.start())
        self.pass_time(0.01)

    @rule(seconds=st.sampled_from([0.01, 0.3, 1.0, 5.0, 30.0, 60.0]))
    def pass_time(self, seconds: float) -> None:
        self.tell(self.world.clock.sleep(seconds))

    @rule(name=names, count=st.integers(1, 4), cpu=st.sampled_from(["1", "2"]))
    def add_members(self, name: str, count: int, cpu: str) -> None:
        for _ in range(count):
            self.made += 1
            self._add(member(f"{name}-{self.made}", name, cpu).prioritised(PRIORITIES[name]))

    @rule(priority=st.sampled_from([0, 20]))
    def add_pod(self, priority: int) -> None:
        self.made += 1
        self._add(pod(f"plain-{self.made}").requesting(cpu="1").prioritised(priority))

    def _add(self, made: PodBuilder) -> None:
        self.world.apply(made.with_spec(terminationGracePeriodSeconds=0))

    @rule(which=st.integers(0, 50))
    def delete_pod(self, which: int) -> None:
        found = self._pods()
        if found:
            self._delete(found[which % len(found)])

    @rule(name=names)
    def end_group(self, name: str) -> None:
        for found in self._pods(name):
            if found.spec.node_name:
                self._delete(found)

    def _delete(self, found: Pod) -> None:
        self.deprived.add(found.labels.get(POD_GROUP_LABEL, ""))
        with contextlib.suppress(NotFound):  # evicted a moment ago
            self.tell(
                self.world.cluster.delete(PODS, "default", found.name, grace_period_seconds=0)
            )

    @rule(name=names, least=st.integers(0, 5), packing=packings)
    def write_group(self, name: str, least: int, packing: str) -> None:
        self.minimum[name] = least
        self.deprived.add(name)
        written = group(name, least)
        self.world.apply(annotated(written, **({packing: ZONE} if packing else {})))

    @rule(name=names)
    def delete_group(self, name: str) -> None:
        self.deprived.add(name)
        if self.minimum.pop(name, None) is not None:
            self.tell(self.world.cluster.delete(POD_GROUPS, "default", name))

    @rule(which=st.integers(0, NODE_COUNT - 1))
    def lose_node(self, which: int) -> None:
        self.deprived.update(PRIORITIES)
        try:
            self.tell(self.world.cluster.delete(NODES, "", f"n{which}"))
        except NotFound:
            return

    @rule(which=st.integers(0, NODE_COUNT - 1))
    def find_node(self, which: int) -> None:
        self.world.apply(self.nodes[which])

    @rule(given=faults, latency=st.sampled_from([0.0, 0.2, 3.0]))
    def weather(self, given: list[str], latency: float) -> None:
        """How long binds take from now on, and what becomes of the next ones."""
        self.faults, self.latency = list(given), latency

    @invariant()
    def state_is_sound(self) -> None:
        if not hasattr(self.world, "scheduler"):
            return
        self.world.validate()
        assert [f for f in self.world.failures if "away" not in f and "refused" not in f] == []
        scheduler = self.world.scheduler
        for name, least in self.minimum.items():
            self._check_whole(name, least)
        if not scheduler.binding:
            assert scheduler.cache.assumed == set(), "assumed, though nobody is being bound"
            on_nodes = {found.uid for _, found in scheduler.cache.pods()}
            there = {found.uid for found in self._pods()}
            assert self.reserved & there <= on_nodes, "reserved, though nobody is being bound"
        for hold in scheduler.feature(Gangs).holds:
            assert hold.group.waiting, f"room is kept for {hold.group}, of which nobody waits"
            assert not hold.group.is_incomplete, f"room is kept for {hold.group}"

    def _check_whole(self, name: str, least: int) -> None:
        bound, now = len(self.world.bound(f"{name}-")), self.world.clock.now()
        if self._is_being_bound(name):
            return
        if bound == 0 or bound >= least:
            self.deprived.discard(name)
            self.failed_at.pop(name, None)
            return
        if name in self.deprived:
            return
        failed = self.failed_at.get(name)
        assert failed is not None, f"{bound} of {least} pods of {name} are bound, by nobody's fault"
        if self._is_outranked(name):
            self.deprived.add(name)
        assert name in self.deprived or now - failed < FAILURE_WINDOW, (
            f"{bound} of {least} pods of {name} are bound, {now - failed:g} s after a bind failed"
        )

    def _is_being_bound(self, name: str) -> bool:
        known = self.world.scheduler.feature(Gangs).groups.get(f"default/{name}")
        return known is not None and bool(self.world.scheduler.cache.assumed & known.waiting.keys())

    def _is_outranked(self, name: str) -> bool:
        """Whether anything more important may have taken room that was kept."""
        return any(found.priority > PRIORITIES[name] for found in self._pods())

    def teardown(self) -> None:
        try:
            if hasattr(self.world, "scheduler"):
                self._make_peace()
                self.tell(self.world.stop())
        finally:
            self.runner.close()

    def _make_peace(self) -> None:
        """Take every obstacle away; then everything that can run must."""
        self.weather([], 0.0)
        spares = [node(f"spare-{i}").in_zone("spare").offering(cpu="64") for i in range(8)]
        self.world.apply(*self.nodes, *spares)
        for name in PRIORITIES:
            self.minimum.setdefault(name, 2)
            self.world.apply(group(name, self.minimum[name]))
        self.pass_time(PEACE_SECONDS)
        self.state_is_sound()
        incomplete = set()
        for name, least in self.minimum.items():
            pods = self._pods(name)
            if len(pods) >= least:
                bound = len(self.world.bound(f"{name}-"))
                assert bound == len(pods), f"{bound} of {len(pods)} pods of {name} run in the end"
            else:
                incomplete.add(name)
        waiting = {
            queued.info.pod.labels.get(POD_GROUP_LABEL, "") for queued in self.world.scheduler.queue
        }
        assert waiting <= incomplete, f"pods of {waiting - incomplete} are forgotten"
        assert len(self.world.scheduler.feature(Gangs).holds) == 0, "room is kept though all run"

    def _pods(self, of: str = "") -> list[Pod]:
        pods = (found for found in self.world.cluster.objects(PODS) if isinstance(found, Pod))
        return [found for found in pods if not of or found.labels.get(POD_GROUP_LABEL) == of]


def _node(index: int) -> NodeBuilder:
    return node(f"n{index}").in_zone("east" if index % 2 else "west").offering(cpu="4")
