"""Claims while everything goes wrong: two replicas, a kube-scheduler beside them, and the watch.

Each scheduler has a driver of its own on the same nodes: no API server keeps two of them from
allocating one device. Replies are lost, and whoever leads is killed just after it has written an
allocation, before the pod is bound. Each change of a claim is judged as it happens. CLAIMS_SECONDS
is for how long pods come and go.
"""

import asyncio
import contextlib
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.chaos.controllers import Controllers, path_of_pod
from tests.chaos.follower import Follower
from tests.chaos.line import Line, Write
from tests.chaos.replicas import SETTINGS, Member
from tests.integration.control_plane import ControlPlane
from tests.integration.harness import configuration, eventually
from tests.integration.making import OURS, Raw, node, pod
from tests.integration.proxying import Forward, HttpProxy
from tests.integration.test_beside_kube_scheduler import THEIRS, kube_scheduler

pytestmark = pytest.mark.kube

SECONDS = float(os.environ.get("CLAIMS_SECONDS", "15"))
PATIENCE = 90.0
GROUP = "resource.k8s.io/v1"
CLAIMS = f"/apis/{GROUP}/namespaces/default/resourceclaims"
DRIVERS = {OURS: "gpu.example.com", THEIRS: "nic.example.com"}
NODES, DEVICES, PODS = 6, 4, 18


def objects() -> list[Raw]:
    """Nodes with devices of two drivers, and a class for each driver."""
    made = [node(f"n{number}", cpu="32") for number in range(NODES)]
    for owner, driver in DRIVERS.items():
        chosen = [{"cel": {"expression": f"device.driver == '{driver}'"}}]
        cls = {"apiVersion": GROUP, "kind": "DeviceClass", "metadata": {"name": owner}}
        made.append({**cls, "spec": {"selectors": chosen}})
        made += [_slice(f"n{number}", driver) for number in range(NODES)]
    return made


def _slice(where: str, driver: str) -> Raw:
    pool = {"name": where, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"d{number}"} for number in range(DEVICES)]
    spec = {"driver": driver, "nodeName": where, "pool": pool, "devices": devices}
    metadata = {"name": f"{where}-{driver}"}
    return {"apiVersion": GROUP, "kind": "ResourceSlice", "metadata": metadata, "spec": spec}


def wanting(name: str, owner: str) -> list[Raw]:
    """A pod of a scheduler, and its claim."""
    request = {"name": "r", "exactly": {"deviceClassName": owner}}
    claim = {
        "apiVersion": GROUP,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [request]}},
    }
    named = [{"name": "device", "resourceClaimName": name}]
    return [claim, pod(name, scheduler=owner, resourceClaims=named)]


class Judge:
    """Hears every change of claims and pods: who has which device, and who is on a node."""

    def __init__(self) -> None:
        self.pods: dict[str, Raw] = {}
        self.bound: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.allocations = 0
        self._devices: dict[str, tuple[str, ...]] = {}

    def claim(self, kind: str, raw: Raw) -> None:
        name = raw["metadata"]["name"]
        devices = () if kind == "DELETED" else _devices(raw)
        for other, theirs in self._devices.items():
            if other != name and set(devices) & set(theirs):
                self.wrong.append(f"{name} and {other} both have {devices}")
        held = self._devices.get(name, ())
        if held and devices and held != devices:
            self.wrong.append(f"{name} had {held} and has {devices}")
        self.allocations += bool(devices and not held)
        self._devices[name] = devices

    def pod(self, kind: str, raw: Raw) -> None:
        name, node = raw["metadata"]["name"], raw["spec"].get("nodeName")
        before = self.pods.get(name, {}).get("spec", {}).get("nodeName")
        if kind == "DELETED":
            self.pods.pop(name, None)
            return
        if node and before and node != before:
            self.wrong.append(f"{name} was on {before} and is on {node}")
        self.bound[raw["spec"]["schedulerName"]] += bool(node and not before)
        self.pods[name] = raw

    def waiting(self) -> list[str]:
        return [name for name, raw in self.pods.items() if not raw["spec"].get("nodeName")]


def _devices(raw: Raw) -> tuple[str, ...]:
    allocation = raw.get("status", {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return tuple(f"{each['driver']}/{each['pool']}/{each['device']}" for each in results)


class DeadlyLine(Line):
    """A line on which, once it is armed, the next allocation that is written is the last thing."""

    armed = False
    victim: Member | None = None

    async def __call__(self, request: web.Request, forward: Forward) -> web.StreamResponse | None:
        writes = request.method in ("PUT", "PATCH") and request.path.endswith("/status")
        if not (self.armed and writes and "/resourceclaims/" in request.path):
            return await super().__call__(request, forward)
        answer = await forward()
        if answer.status == 200 and self.victim is not None:
            self.armed = False
            self.done["killed after an allocation"] += 1
            self.victim.strike("kill", 0.5)
            await asyncio.sleep(1)
        return answer


@contextlib.asynccontextmanager
async def replicas(plane: ControlPlane, home: Path) -> AsyncIterator[list[Member]]:
    election = {"leaderElection": SETTINGS["leaderElection"], "podMaxBackoffSeconds": 2}
    writes: list[Write] = []
    async with contextlib.AsyncExitStack() as stack:
        found = []
        for name in ("one", "two"):
            line = DeadlyLine(name, random.Random(name), writes)
            proxy = await stack.enter_async_context(HttpProxy(plane, line).serving())
            made = line.victim = Member(name, home, line, proxy, configuration(**election))
            stack.callback(made.discard)
            tending = asyncio.ensure_future(made.tend())
            stack.callback(tending.cancel)
            found.append(made)
        yield found


class Comings:
    """Pods come and go; who ends gives its device back, as kube-controller-manager would see to."""

    def __init__(self, plane: ControlPlane, judge: Judge) -> None:
        self._api, self._judge = Controllers(plane, random.Random(0)), judge
        self._rng, self._made = random.Random(1), 0

    async def create(self, owner: str) -> None:
        self._made += 1
        for each in wanting(f"p{self._made}", owner):
            await self._api.insist("POST", "", each)

    async def turn_over(self) -> None:
        """End a pod that has a node, and bring another of the same scheduler."""
        running = [raw for raw in self._judge.pods.values() if raw["spec"].get("nodeName")]
        if running:
            ended = self._rng.choice(running)
            await self._api.insist("DELETE", f"{path_of_pod(ended)}?gracePeriodSeconds=0")
            await self.release(ended["metadata"]["name"])
            await self.create(ended["spec"]["schedulerName"])

    async def release(self, name: str) -> None:
        await self._api.insist("DELETE", f"{CLAIMS}/{name}")
        patch = {"metadata": {"finalizers": None}}
        await self._api.insist("PATCH", f"{CLAIMS}/{name}", patch)

    async def release_all(self) -> None:
        for name in range(1, self._made + 1):
            await self.release(f"p{name}")


async def do_harm(members: list[Member]) -> None:
    """Lose replies, kill who leads after an allocation, stop who leads; over and over."""
    while True:
        for each in members:
            each.line.begin("lose-replies", 2.0)
        await asyncio.sleep(3)
        for each in members:
            each.line.armed = True  # type: ignore[attr-defined]
        await asyncio.sleep(5)
        leader = max(members, key=lambda each: each.line.renewed_at)
        leader.strike("stop", 5.0)
        await asyncio.sleep(4)


async def play(plane: ControlPlane, home: Path, judge: Judge) -> Counter[str]:
    async with contextlib.AsyncExitStack() as stack:
        for path, hear in ((CLAIMS, judge.claim), ("/api/v1/pods", judge.pod)):
            await stack.enter_async_context(Follower(plane, path, hear).following())
        members = await stack.enter_async_context(replicas(plane, home))
        comings = Comings(plane, judge)
        for number in range(PODS):
            await comings.create((OURS, THEIRS)[number % 2])
        await eventually(lambda: _all_bound(judge), lambda: "nothing is bound", PATIENCE)
        harm = asyncio.ensure_future(do_harm(members))
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            await comings.turn_over()
            await asyncio.sleep(0.1)
        harm.cancel()
        for each in members:
            each.line.end()
            each.line.armed = False  # type: ignore[attr-defined]
            await each.repaired()
        await eventually(lambda: _all_bound(judge), lambda: f"{judge.waiting()}", PATIENCE)
        await comings.release_all()
        done: Counter[str] = Counter()
        for each in members:
            done += each.line.done
        return done


async def _all_bound(judge: Judge) -> bool:
    return not judge.waiting() and len(judge.pods) >= PODS


def test_no_device_is_in_two_claims_at_any_moment_and_no_pod_is_lost(
    own_plane: ControlPlane, tmp_path: Path
) -> None:
    own_plane.create(*objects())
    judge = Judge()

    with kube_scheduler(own_plane, tmp_path):
        done = asyncio.run(play(own_plane, tmp_path, judge))

    assert not judge.wrong
    assert min(judge.bound[OURS], judge.bound[THEIRS]) >= PODS // 2
    assert done["killed after an allocation"] >= 1
    assert done["lost reply"] + done["lost bind reply"] >= 1
    print(f"{judge.allocations} allocations, bound {dict(judge.bound)}, {dict(done)}")
