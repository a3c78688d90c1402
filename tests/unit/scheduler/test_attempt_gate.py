"""Attempts that ask extenders, on the embedded cluster, while the cluster changes."""

import asyncio
import random
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from moorage.api.pod import Pod
from moorage.api.podgroup import POD_GROUP_LABEL
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import SystemClock
from moorage.config.durations import decode_hook
from moorage.config.loader import default_configuration
from moorage.config.types import Extender
from moorage.extender import http_extenders
from moorage.extender.async_bridge import DecisionThread
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.observers import Observers
from moorage.observe.records import Attempt, Result
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.watch.api_resources import NODES, PODS
from tests.extending import extender, only

Raw = dict[str, Any]


class Live:
    """A scheduler that serves, on the embedded cluster, in turns with its extenders."""

    def __init__(self, *given: Raw) -> None:
        self.cluster = MemoryCluster(clock=SystemClock(), rng=random.Random(1))
        known = built_in_plugins.built_in()
        self.turns = DecisionThread()
        decoded = [msgspec.convert(each, Extender, dec_hook=decode_hook) for each in given]
        observers = Observers((self,))
        extenders = http_extenders.build_extenders(decoded, self.turns, observers)
        assert extenders is not None
        self.extenders = extenders
        self.attempts: list[Attempt] = []
        self.scheduler = assemble(
            self.cluster,
            build_profiles(default_configuration(built_in_plugins.describe_plugins(known)), known),
            clock=SystemClock(),
            rng=random.Random(1),
            observers=observers,
            extenders=extenders,
            turns=self.turns,
        )

    def attempted(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def apply(self, *objects: NodeBuilder | PodBuilder) -> None:
        for obj in objects:
            kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
            self.cluster.apply({"apiVersion": "v1", "kind": kind, **obj.raw})

    def node_of(self, name: str) -> str:
        pods = [pod for pod in self.cluster.objects(PODS) if isinstance(pod, Pod)]
        return next(pod.spec.node_name for pod in pods if pod.name == name)

    async def __aenter__(self) -> "Live":
        self._task = asyncio.ensure_future(self.scheduler.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.extenders.close()
        self.turns.close()


async def until(check: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not check():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0.005)


class Held:
    """A filter that waits until it is let go."""

    def __init__(self, *names: str) -> None:
        self.asked = threading.Event()
        self.let_go = threading.Event()
        self._answer = only(*names)

    def __call__(self, asked: Raw) -> Any:
        self.asked.set()
        self.let_go.wait(20)
        return self._answer(asked)


def test_the_cluster_may_change_while_an_extender_is_asked() -> None:
    """The attempt decides by what it saw at first; what happened meanwhile is believed after it."""
    held = Held("a", "b")

    async def main(live: Live) -> None:
        live.apply(node("a"), node("b"), node("c"))
        async with live:
            live.apply(pod("web"))
            await until(held.asked.is_set)
            await live.cluster.delete(NODES, "", "c")
            live.apply(node("d"), pod("there").on("a"))
            await until(lambda: "d" in live.scheduler.reflectors["nodes"].known)
            believed = set(live.scheduler.cache.table.row_of)
            assert believed == {"a", "b", "c"}, "an attempt is under way"
            held.let_go.set()
            await until(lambda: live.node_of("web"))
            await until(lambda: set(live.scheduler.cache.table.row_of) == {"a", "b", "d"})
            assert live.scheduler.cache.node_of(
                next(p.uid for p in live.cluster.objects(PODS) if p.name == "there")
            )

    with extender(filter=held) as fake:
        live = Live(fake.config())
        asyncio.run(main(live))

    assert live.node_of("web") in {"a", "b"}


def test_a_pod_deleted_while_an_extender_is_asked_is_let_go() -> None:
    held = Held("a")

    async def main(live: Live) -> None:
        live.apply(node("a"))
        async with live:
            live.apply(pod("web"))
            await until(held.asked.is_set)
            await live.cluster.delete(PODS, "default", "web")
            held.let_go.set()
            await until(lambda: live.attempts and not live.scheduler.binding)
            live.apply(pod("next"))
            await until(lambda: live.node_of("next") == "a")
            await until(lambda: not live.scheduler.cache.assumed)
            live.scheduler.queue.validate()

    with extender(filter=held) as fake:
        asyncio.run(main(Live(fake.config())))


def test_a_scheduler_that_stops_does_not_wait_for_an_extender() -> None:
    held = Held("a")

    async def main(live: Live) -> None:
        live.apply(node("a"))
        async with live:
            live.apply(pod("web"))
            await until(held.asked.is_set)

    with extender(filter=held) as fake:
        live = Live(fake.config())
        asyncio.run(main(live))
        held.let_go.set()

    assert live.node_of("web") == ""
    assert not live.attempts


def test_a_pod_that_an_extender_refuses_is_tried_again_when_anything_changes() -> None:
    async def main(live: Live) -> None:
        live.apply(node("a"))
        async with live:
            live.apply(pod("web"))
            await until(lambda: live.attempts)
            live.apply(node("b"))
            await until(lambda: live.node_of("web") == "b")

    with extender(filter=only("b")) as fake:
        live = Live(fake.config())
        asyncio.run(main(live))

    first = live.attempts[0]
    assert first.result is Result.UNSCHEDULABLE
    assert first.message.startswith("0/1 nodes are available: 1 not by this extender.")


def test_a_gang_is_placed_where_extenders_let_it() -> None:
    """Extenders are asked about each pod of a group, in the middle of one transaction."""

    async def main(live: Live) -> None:
        live.apply(node("a"), node("b"), node("c"))
        live.cluster.apply(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": "train", "namespace": "default"},
                "spec": {"minMember": 3},
            }
        )
        async with live:
            live.apply(*(pod(f"p{i}").labelled({POD_GROUP_LABEL: "train"}) for i in range(3)))
            await until(lambda: all(live.node_of(f"p{i}") for i in range(3)))

    with extender(filter=only("b")) as fake:
        live = Live(fake.config())
        asyncio.run(main(live))

    assert {live.node_of(f"p{i}") for i in range(3)} == {"b"}
    assert len(fake.requests("filter")) == 3


def test_a_gang_that_extenders_refuse_is_not_placed_in_part() -> None:
    async def main(live: Live) -> None:
        live.apply(node("a"))
        live.cluster.apply(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": "train", "namespace": "default"},
                "spec": {"minMember": 2},
            }
        )
        async with live:
            live.apply(*(pod(f"p{i}").labelled({POD_GROUP_LABEL: "train"}) for i in range(2)))
            await until(lambda: live.attempts)
            assert not live.scheduler.cache.assumed

    def first_only(asked: Raw) -> Any:
        return only("a" if asked["Pod"]["metadata"]["name"] == "p0" else "")(asked)

    with extender(filter=first_only) as fake:
        live = Live(fake.config())
        asyncio.run(main(live))

    assert {live.node_of(f"p{i}") for i in range(2)} == {""}
    assert "not by this extender" in live.attempts[0].message


def test_an_extender_binds() -> None:
    async def main(live: Live) -> None:
        live.apply(node("a"))
        async with live:
            live.apply(pod("web"))
            await until(lambda: fake.requests("bind"))
            asked = fake.requests("bind")[0]
            await live.cluster.bind(asked["PodNamespace"], asked["PodName"], "", asked["Node"])
            await until(lambda: not live.scheduler.cache.assumed)

    with extender(bind=lambda asked: {}) as fake:
        asyncio.run(main(Live(fake.config())))

    (asked,) = fake.requests("bind")
    assert (asked["PodName"], asked["PodNamespace"], asked["Node"]) == ("web", "default", "a")
    assert asked["PodUID"]


def test_an_extender_that_cannot_bind_is_done_without_if_it_may_be_ignored() -> None:
    async def main(live: Live) -> None:
        live.apply(node("a"))
        async with live:
            live.apply(pod("web"))
            await until(lambda: live.node_of("web") == "a")

    with extender(bind=lambda asked: {"Error": "not today"}) as fake:
        asyncio.run(main(Live(fake.config(ignorable=True))))


def test_a_binding_that_an_extender_refuses_is_undone_and_the_pod_tried_again() -> None:
    answers = iter([{"Error": "not today"}, {"Error": "not today"}])

    async def main(live: Live) -> None:
        live.apply(node("a"))
        async with live:
            live.apply(pod("web"))
            await until(lambda: len(fake.requests("bind")) == 2)

    with extender(bind=lambda asked: next(answers, {})) as fake:
        live = Live(fake.config())
        asyncio.run(main(live))

    failed = [attempt for attempt in live.attempts if attempt.result is Result.ERROR]
    assert failed[0].message == "not today"
