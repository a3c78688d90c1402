"""PreBind: who runs when, and what ends it. Bind: what the pod is annotated with."""

import asyncio
from typing import Any

import pytest

from moorage import Cycle, Node, Pod, PreBind, Rejection, unschedulable
from moorage.bind import binder
from moorage.bind.plugin_client import PluginClient
from moorage.clock import VirtualClock, run_virtual
from moorage.framework.verdicts import PluginError
from moorage.memory.memory_cluster import MemoryCluster
from moorage.plugins.default_binder import DefaultBinder
from moorage.testing import Cluster, node, pod
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw

FAILED = unschedulable("not today")


class Slow(PreBind, frozen=True):
    """Takes ten seconds, and tells when it was cancelled."""

    allow_parallel = True

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            cycle.state["cancelled"] = True
            raise
        return None


class Slower(PreBind, frozen=True):
    allow_parallel = True

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        await asyncio.sleep(15)
        return None


class Alone(Slower, frozen=True):
    allow_parallel = False


class Refusing(PreBind, frozen=True):
    allow_parallel = True

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        await asyncio.sleep(1)
        return FAILED


class Failing(PreBind, frozen=True):
    allow_parallel = True

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        await asyncio.sleep(1)
        raise RuntimeError("broken")


def prepared(*plugins: PreBind) -> tuple[Rejection | None, float, Cycle]:
    """How PreBind of these plugins ended, and after how many seconds."""
    clock = VirtualClock(0.0)
    made = Cluster(node("a"), plugins=plugins, alone=True)
    cycle = made.cycle(pod("web"))
    there = node("a").build()
    working = binder.pre_flight(made.profile, cycle, there)
    refused = run_virtual(binder.run_pre_bind(made.profile, cycle, there, working), clock)
    return refused, clock.now(), cycle


def test_plugins_that_allow_it_run_at_the_same_time() -> None:
    refused, seconds, _ = prepared(Slow(), Slower())

    assert (refused, seconds) == (None, 15.0)


def test_a_plugin_that_does_not_runs_after_those_before_it() -> None:
    refused, seconds, _ = prepared(Slow(), Alone())

    assert (refused, seconds) == (None, 25.0)


def test_a_refusal_ends_what_the_others_do() -> None:
    refused, seconds, cycle = prepared(Slow(), Refusing())

    assert refused == FAILED.by("Refusing")
    assert seconds == 1.0
    assert cycle.state["cancelled"]


def test_a_failure_names_its_plugin() -> None:
    with pytest.raises(PluginError, match="Failing"):
        prepared(Slow(), Failing())


class Annotating(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        cycle.annotations["example.com/seat"] = "7"
        return None


class Binding:
    """An extender that binds every pod."""

    binds = True

    def __init__(self, server: MemoryCluster) -> None:
        self._server = server

    def is_interested(self, pod: Pod) -> bool:
        return True

    async def bind(self, pod: Pod, node: str) -> None:
        await self._server.bind(pod.namespace, pod.name, "", node)


def bound_pod(extended: bool = False) -> Raw:
    """A pod that a PreBind plugin annotates, after DefaultBinder or an extender has bound it."""
    server, made = MemoryCluster(), Cluster(node("a"), plugins=[Annotating()], alone=True)
    server.add(PODS, pod("web").raw)
    (stored,) = server.objects(PODS)
    assert isinstance(stored, Pod)
    made.profile.bind = [("DefaultBinder", DefaultBinder())]
    cycle = made.cycle(stored)
    cycle.client = PluginClient(server, VirtualClock(0.0))
    if extended:
        extenders: Any = [Binding(server)]
        cycle.extenders = extenders
    there = node("a").build()
    assert run_virtual(binder.bind_pod(made.profile, cycle, there), VirtualClock(0.0)) is None
    return server.read(PODS, "default", "web")


@pytest.mark.parametrize(
    "extended", [False, True], ids=["DefaultBinder binds it", "an extender binds it"]
)
def test_a_bound_pod_has_the_annotations_of_plugins(extended: bool) -> None:
    found = bound_pod(extended)

    assert found["metadata"]["annotations"] == {"example.com/seat": "7"}
    assert found["spec"]["nodeName"] == "a"
