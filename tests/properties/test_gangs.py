"""A model check of groups: random interleavings of everything that can happen to them.

Pods arrive and are deleted, groups are written, changed and deleted, nodes are lost and come back,
binds fail for a while and for good, room runs out, the more important evict others, time passes. At
every step:

1. A group is bound in part only if something happened to it that explains it: a bind failed, or
   one of its running pods or its object was taken away.
2. Nothing is assumed or reserved once nobody is being bound, and room is kept only for groups
   that wait for it.
3. Cache and queue do not contradict themselves.

And once nothing stands in the way any more, every group that has its pods runs whole, and every
other pod runs: there is no deadlock, and nothing is forgotten.
"""

import random
from collections.abc import Awaitable, Callable

import pytest

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.framework.cycle import Cycle
from moorage.framework.points import Bind, Reserve
from moorage.framework.verdicts import Rejection
from moorage.policies.gang.membership import LABEL
from moorage.testing import node, pod
from moorage.watch.errors import Conflict, NotFound, Unreachable
from moorage.watch.resources import NODES, PODS
from tests.unit.policies.gang_world import POD_GROUPS, GangWorld, group, member

STEPS = 60
GROUPS = {"a": 0, "b": 0, "c": 10}
"""Their priorities: pods of the last evict others, one by one or as a group."""


class FaultyBinder(Bind, Reserve, frozen=True):
    """Binds unless `shared["fault"]` has an error for it, and counts what is reserved."""

    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        fault = cycle.shared["fault"](pod)
        if fault is not None:
            raise fault
        assert cycle.client is not None
        await cycle.client.bind(pod.namespace, pod.name, pod.uid, node.name)

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        cycle.shared.setdefault("reserved", set()).add(pod.uid)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        cycle.shared["reserved"].discard(pod.uid)


class Walk:
    """One random story, and what it may have done to each group."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.nodes = [node(f"n{i}").offering(cpu="4") for i in range(self.rng.randint(2, 4))]
        self.world = GangWorld(
            *self.nodes,
            plugins=(FaultyBinder,),
            args={"GangScheduling": {"reservationAfterSeconds": 40}},
            seed=seed,
        )
        self.world.profile.bind = [("FaultyBinder", FaultyBinder())]
        self.world.profile.shared.update(fault=self.fault, reserved=set())
        self.made = 0
        self.faults = 0.0
        self.excused: set[str] = set()
        self.minimum: dict[str, int] = {}
        self.story: list[str] = []

    def fault(self, pod: Pod) -> Exception | None:
        if self.rng.random() >= self.faults:
            return None
        self.excused.add(pod.labels.get(LABEL, ""))
        return self.rng.choice((Conflict("refused"), Unreachable("away")))

    async def run(self, world: GangWorld) -> None:
        for _ in range(STEPS):
            act = self.rng.choice(self.acts())
            self.story.append(act.__name__)
            await act()
            await world.clock.sleep(self.rng.choice((0.01, 0.3, 1.0, 5.0, 30.0)))
            self.check()
        await self.make_peace()

    def acts(self) -> list[Callable[[], Awaitable[None]]]:
        often = [self.add_member] * 8 + [self.wait] * 2
        seldom = [self.write_group] * 3 + [self.delete_group, self.lose_node, self.find_node]
        return [*often, *seldom, self.add_pod, self.delete_pod, self.end_group, self.weather]

    async def wait(self) -> None:
        await self.world.clock.sleep(self.rng.uniform(0, 60))

    async def add_member(self) -> None:
        name, self.made = self.rng.choice(list(GROUPS)), self.made + 1
        made = member(f"{name}-{self.made}", name, cpu=self.rng.choice(("1", "2")))
        self.world.apply(made.prioritised(GROUPS[name]).with_spec(terminationGracePeriodSeconds=0))

    async def add_pod(self) -> None:
        self.made += 1
        made = pod(f"plain-{self.made}").requesting(cpu="1").prioritised(self.rng.choice((0, 20)))
        self.world.apply(made.with_spec(terminationGracePeriodSeconds=0))

    async def delete_pod(self) -> None:
        found = [p for p in self.world.cluster.objects(PODS) if isinstance(p, Pod)]
        if found:
            await self._delete(self.rng.choice(found))

    async def end_group(self) -> None:
        name = self.rng.choice(list(GROUPS))
        for found in self.world.cluster.objects(PODS):
            if isinstance(found, Pod) and found.spec.node_name and found.labels.get(LABEL) == name:
                await self._delete(found)

    async def _delete(self, found: Pod) -> None:
        self.excused.add(found.labels.get(LABEL, ""))
        await self.world.cluster.delete(PODS, "default", found.name, grace_period_seconds=0)

    async def write_group(self) -> None:
        name = self.rng.choice(list(GROUPS))
        self.minimum[name] = self.rng.randint(0, 5)
        self.excused.add(name)
        self.world.apply(group(name, self.minimum[name]))

    async def delete_group(self) -> None:
        name = self.rng.choice(list(GROUPS))
        self.excused.add(name)
        if self.minimum.pop(name, None) is not None:
            await self.world.cluster.delete(POD_GROUPS, "default", name)

    async def lose_node(self) -> None:
        try:
            await self.world.cluster.delete(NODES, "", self.rng.choice(self.nodes).build().name)
        except NotFound:
            return

    async def find_node(self) -> None:
        self.world.apply(self.rng.choice(self.nodes))

    async def weather(self) -> None:
        self.faults = self.rng.choice((0.0, 0.0, 0.3, 0.9))

    def bound(self, name: str) -> int:
        return len(self.world.bound(f"{name}-"))

    def check(self) -> None:
        world, scheduler = self.world, self.world.scheduler
        world.validate()
        for name, least in self.minimum.items():
            count = self.bound(name)
            if count == 0 or count >= least:
                self.excused.discard(name)
            assert count in (0, *range(least, 999)) or name in self.excused, (
                f"{count} of at least {least} pods of {name} are bound"
            )
        if not scheduler.binding:
            assert scheduler.cache.assumed == set()
            on_nodes = {found.uid for _, found in scheduler.cache.pods()}
            assert world.profile.shared["reserved"] <= on_nodes | self._gone()
        for hold in scheduler.holds:
            assert hold.group.waiting, f"room is kept for {hold.group}, of which nobody waits"
            assert not hold.group.is_incomplete, f"room is kept for {hold.group}"

    def _gone(self) -> set[str]:
        """Pods that were bound and have been deleted since: nobody unreserves those."""
        there = {found.uid for found in self.world.cluster.objects(PODS)}
        reserved: set[str] = self.world.profile.shared["reserved"]
        return reserved - there

    async def make_peace(self) -> None:
        """Take every obstacle away; then everything that can run must."""
        self.faults = 0.0
        self.world.apply(*self.nodes, *[node(f"spare-{i}").offering(cpu="64") for i in range(3)])
        for name in GROUPS:
            self.minimum.setdefault(name, 2)
            self.world.apply(group(name, self.minimum[name]))
        await self.world.clock.sleep(200)
        self.check()
        incomplete = set()
        for name, least in self.minimum.items():
            pods = [p for p in self.world.cluster.objects(PODS) if p.name.startswith(f"{name}-")]
            if len(pods) >= least:
                assert self.bound(name) == len(pods), f"{name} does not run whole"
            else:
                incomplete.add(name)
        waiting = {queued.info.pod.labels.get(LABEL, "") for queued in self.world.scheduler.queue}
        assert waiting <= incomplete
        assert len(self.world.scheduler.holds) == 0


@pytest.mark.parametrize("seed", range(30))
def test_no_interleaving_leaves_a_group_in_part_or_anything_behind(seed: int) -> None:
    walk = Walk(seed)
    try:
        walk.world.run(walk.run)
    except AssertionError as error:
        raise AssertionError(f"{error}\nafter {', '.join(walk.story)}") from error
