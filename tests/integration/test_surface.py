"""The embedded cluster and a real API server behind one surface: the same answers to all calls.

Each test plays one script on both and compares the transcripts. What differs by nature (uids,
versions, times) is written as a placeholder.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from moorage.api.pod import Pod
from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.object_registry import ClusterOptions
from moorage.watch.api_errors import ApiError, TooManyRequests
from moorage.watch.api_resources import NODES, PODS, RESOURCES
from moorage.watch.api_server import ApiServer
from tests.integration.control_plane import ControlPlane
from tests.integration.making import Raw, node, pod

pytestmark = pytest.mark.kube

BUDGETS = RESOURCES["poddisruptionbudgets"]
CLASSES = RESOURCES["priorityclasses"]
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
NO_UID = "00000000-0000-0000-0000-000000000000"

Script = Callable[["Teller"], Awaitable[None]]


class Teller:
    """Makes calls and writes down what came of them."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.told: list[str] = []

    def note(self, text: object) -> None:
        self.told.append(UID.sub("<uid>", str(text)))

    async def tell(self, what: str, call: Awaitable[Any]) -> Any:
        """The answer; a refusal is written down with its status, reason and message."""
        try:
            answer = await call
        except ApiError as error:
            kind = type(error).__name__
            self.note(f"{what}: {kind} {error.status} {error.reason}: {error.message}")
            if isinstance(error, TooManyRequests):
                self.note(f"  causes {error.causes}")
            return None
        self.note(f"{what}: done")
        return answer

    async def pod(self, name: str) -> Raw:
        return await self.server.get(PODS, "default", name)


def transcripts(plane: ControlPlane, script: Script) -> tuple[list[str], list[str]]:
    async def main() -> tuple[list[str], list[str]]:
        real = KubeApiServer(kubeconfig.load_kubeconfig([plane.kubeconfig]), qps=0)
        try:
            memory = Teller(MemoryCluster(options=ClusterOptions(auto_namespaces=False)))
            kube = Teller(real)
            await script(memory)
            await script(kube)
        finally:
            await real.close()
        return memory.told, kube.told

    return asyncio.run(main())


def same(plane: ControlPlane, script: Script) -> list[str]:
    memory, kube = transcripts(plane, script)
    assert memory == kube
    return kube


def test_creating(plane: ControlPlane) -> None:
    async def script(teller: Teller) -> None:
        server = teller.server
        await teller.tell("a node", server.create(NODES, node("n1")))
        await teller.tell("the same node", server.create(NODES, node("n1")))
        made = await teller.tell("a pod", server.create(PODS, pod("web")))
        spec, metadata = made["spec"], made["metadata"]
        teller.note((spec["priority"], spec["preemptionPolicy"], spec["schedulerName"]))
        teller.note((metadata["generation"], metadata["namespace"], made["status"]["phase"]))
        await teller.tell("elsewhere", server.create(PODS, pod("web", namespace="nowhere")))
        await teller.tell(
            "of no class", server.create(PODS, pod("vip", priorityClassName="missing"))
        )
        await teller.tell("a missing pod", server.get(PODS, "default", "missing"))
        await teller.tell("a missing class", server.get(CLASSES, "", "missing"))

    assert "a node: done" in same(plane, script)


def test_updating(plane: ControlPlane) -> None:
    async def script(teller: Teller) -> None:
        server = teller.server
        old = await server.create(NODES, node("n1"))
        changed = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
        new = await teller.tell("an update", server.update(NODES, changed))
        teller.note(new["metadata"]["labels"])
        await teller.tell("an old version", server.update(NODES, changed))
        patched = await server.patch(NODES, "", "n1", {"spec": {"unschedulable": True}})
        teller.note(patched["spec"].get("unschedulable"))
        await teller.tell("a missing node", server.patch(NODES, "", "n2", {"spec": {}}))

    same(plane, script)


def test_binding(plane: ControlPlane) -> None:
    async def script(teller: Teller) -> None:
        server = teller.server
        await server.create(NODES, node("n1"))
        uid = (await server.create(PODS, pod("web")))["metadata"]["uid"]
        await teller.tell("another uid", server.bind("default", "web", NO_UID, "n1"))
        await teller.tell("a missing pod", server.bind("default", "missing", uid, "n1"))
        await teller.tell("the pod", server.bind("default", "web", uid, "n1"))
        bound = await teller.pod("web")
        teller.note(bound["spec"]["nodeName"])
        teller.note([(c["type"], c["status"]) for c in bound["status"]["conditions"]])
        await teller.tell("again elsewhere", server.bind("default", "web", uid, "n2"))
        gated = await server.create(PODS, pod("gated", schedulingGates=[{"name": "g"}]))
        await teller.tell(
            "a gated pod", server.bind("default", "gated", gated["metadata"]["uid"], "n1")
        )

    memory, kube = transcripts(plane, script)
    # A real server's refusals are looked up, and so told in the client's own words.
    assert [line.partition(":")[0] for line in memory] == [line.partition(":")[0] for line in kube]
    assert [_kind(line) for line in memory] == [_kind(line) for line in kube]


def _kind(line: str) -> str:
    return line.split(":", 1)[-1].split()[0] if ":" in line else line


def test_status_patches(plane: ControlPlane) -> None:
    def condition(kind: str, reason: str) -> Raw:
        fields = {"type": kind, "status": "False", "reason": reason, "message": reason}
        return {"status": {"conditions": [fields]}}

    async def script(teller: Teller) -> None:
        server = teller.server
        uid = (await server.create(PODS, pod("web")))["metadata"]["uid"]

        async def patch(what: str, change: Raw, of: str = "") -> None:
            call = server.patch_pod_status("default", "web", change, of or uid)
            await teller.tell(what, call)
            status = (await teller.pod("web"))["status"]
            teller.note([(c["type"], c["reason"]) for c in status.get("conditions", ())])
            teller.note(status.get("nominatedNodeName"))

        await patch("a condition", condition("PodScheduled", "Unschedulable"))
        await patch("the same with another reason", condition("PodScheduled", "Other"))
        await patch("one more", condition("DisruptionTarget", "Preempted"))
        await patch("a nomination", {"status": {"nominatedNodeName": "n1"}})
        await patch("no nomination", {"status": {"nominatedNodeName": None}})
        await patch("of another pod", condition("PodScheduled", "Wrong"), NO_UID)

    same(plane, script)


def test_deleting(plane: ControlPlane) -> None:
    async def script(teller: Teller) -> None:
        server = teller.server
        uid = (await server.create(PODS, pod("web")))["metadata"]["uid"]
        where = (PODS, "default", "web")
        await teller.tell("another pod", server.delete(*where, uid=NO_UID))
        await teller.tell("this pod", server.delete(*where, uid=uid))
        await teller.tell("again", server.delete(*where, uid=uid))

    same(plane, script)


def test_evicting(plane: ControlPlane) -> None:
    async def script(teller: Teller) -> None:
        server = teller.server
        await server.create(PODS, pod("free"))
        await server.create(PODS, pod("web", labels={"app": "web"}, nodeName="n1"))
        ready = {"type": "Ready", "status": "True"}
        running = {"status": {"phase": "Running", "conditions": [ready]}}
        await server.patch_pod_status("default", "web", running, "")
        await server.create(BUDGETS, _budget())
        spent = {"status": {"disruptionsAllowed": 0, "observedGeneration": 1, "currentHealthy": 1}}
        spent["status"] |= {"desiredHealthy": 1, "expectedPods": 1}
        await server.patch(BUDGETS, "default", "web", spent, subresource="status")
        await teller.tell("without a budget", server.evict("default", "free"))
        await teller.tell("with a spent one", server.evict("default", "web"))
        allowed = {"status": {"disruptionsAllowed": 1}}
        await server.patch(BUDGETS, "default", "web", allowed, subresource="status")
        await teller.tell("with one that allows", server.evict("default", "web"))
        await teller.tell("what is gone", server.evict("default", "web"))

    same(plane, script)


def test_listing_page_by_page(plane: ControlPlane) -> None:
    async def script(teller: Teller) -> None:
        server = teller.server
        for i in (3, 1, 4, 2, 5):
            await server.create(NODES, node(f"n{i}"))
        first = await server.list_page(NODES, limit=2)
        await server.create(NODES, node("n0"))
        teller.note([item.name for item in first.items])
        token = first.continue_token
        while token:
            page = await server.list_page(NODES, limit=2, continue_token=token)
            teller.note([item.name for item in page.items])
            teller.note(page.resource_version == first.resource_version)
            token = page.continue_token
        await teller.tell("nonsense", server.list_page(NODES, limit=2, continue_token="nonsense"))

    memory, kube = transcripts(plane, script)
    assert memory[:-1] == kube[:-1]
    assert [_kind(line) for line in memory[-1:]] == [_kind(line) for line in kube[-1:]]


def test_watching(plane: ControlPlane) -> None:
    async def script(teller: Teller) -> None:
        server = teller.server
        since = (await server.list_page(PODS)).resource_version
        await server.create(NODES, node("n1"))
        uid = (await server.create(PODS, pod("web")))["metadata"]["uid"]
        await server.bind("default", "web", uid, "n1")
        await server.delete(PODS, "default", "web", uid=uid)
        async with aclosing(server.watch(PODS, resource_version=since, timeout_seconds=30)) as seen:
            async for event in seen:
                assert isinstance(event.object, Pod)
                teller.note((event.type, event.object.name, event.object.spec.node_name))
                teller.note(event.resource_version == event.object.metadata.resource_version)
                if event.type == "DELETED":
                    break

    assert same(plane, script)[-2] == "('DELETED', 'web', 'n1')"


def test_a_watch_ends_when_its_time_is_up(plane: ControlPlane) -> None:
    async def script(teller: Teller) -> None:
        since = (await teller.server.list_page(NODES)).resource_version
        watch = teller.server.watch(NODES, resource_version=since, timeout_seconds=1)
        teller.note([event.type async for event in watch if event.object is not None])

    same(plane, script)


def _budget() -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
