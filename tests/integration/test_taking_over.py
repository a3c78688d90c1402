"""A standby whose watch slept takes over, and knows what the last leader did."""

import asyncio
import signal
from pathlib import Path

import pytest
from aiohttp import web

from tests.integration.control_plane import ControlPlane
from tests.integration.harness import Replica, eventually, replica, scheduled_condition
from tests.integration.making import node, pod
from tests.integration.proxying import Forward, HttpProxy, status
from tests.integration.test_run_command import ELECTION

pytestmark = pytest.mark.kube

OPEN = {"example.com/open": "yes"}
PODS = "/api/v1/pods"
GONE = (
    b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}}\n'
)
NODES, PER_NODE, WAITING = 4, 4, 8
LONG_SLEEP = 5
"""After so many refused lists the reflector sleeps for 12 s or more."""


class Deaf:
    """Once told to, watches of pods end with 410 and lists of pods are refused."""

    def __init__(self) -> None:
        self.ears: list[asyncio.Event] = []
        self.is_deaf = False
        self.refused = 0

    async def __call__(self, request: web.Request, forward: Forward) -> web.StreamResponse | None:
        if request.path != PODS or request.method != "GET":
            return None
        if "watch" not in request.query:
            self.refused += self.is_deaf
            return status(503, "ServiceUnavailable") if self.is_deaf else None
        return await self._gone(request) if self.is_deaf else await self._until_deaf(forward)

    async def _until_deaf(self, forward: Forward) -> web.StreamResponse:
        cut = asyncio.Event()
        self.ears.append(cut)
        answer, deaf = asyncio.ensure_future(forward()), asyncio.ensure_future(cut.wait())
        await asyncio.wait({answer, deaf}, return_when=asyncio.FIRST_COMPLETED)
        deaf.cancel()
        if answer.done():
            return answer.result()
        answer.cancel()
        raise ConnectionResetError("cut by intention")

    async def _gone(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(GONE)
        return response

    def begin(self) -> None:
        self.is_deaf = True
        for cut in self.ears:
            cut.set()


async def says(one: Replica, text: str) -> None:
    await asyncio.to_thread(one.says, text)


def test_a_new_leader_decides_on_what_is(own_plane: ControlPlane, tmp_path: Path) -> None:
    """Its view of pods is from before the nodes were filled; nothing is overcommitted."""
    fault = Deaf()

    async def pods() -> dict[str, dict[str, object]]:
        listed = await asyncio.to_thread(own_plane.request, "GET", PODS)
        return {item["metadata"]["name"]: item for item in listed["items"]}

    async def bound() -> list[str]:
        found = [each["spec"].get("nodeName") for each in (await pods()).values()]  # type: ignore[attr-defined]
        return [name for name in found if name]

    async def main() -> None:
        own_plane.create(*(node(f"n{i}", cpu=str(PER_NODE)) for i in range(NODES)))
        async with HttpProxy(own_plane, fault).serving() as proxy:
            beside = proxy.kubeconfig(tmp_path)
            with replica(tmp_path, "one", own_plane.kubeconfig, leaderElection=ELECTION) as leader:
                await says(leader, "became leader")
                with replica(tmp_path, "two", beside, leaderElection=ELECTION) as standby:
                    await says(standby, "waiting to lead")
                    await takes_over(leader, standby)

    async def takes_over(leader: Replica, standby: Replica) -> None:
        waiting = [pod(f"w{i}", cpu="1", nodeSelector=OPEN) for i in range(WAITING)]
        await asyncio.to_thread(own_plane.create, *waiting)
        await eventually(all_refused, lambda: "not attempted")
        fault.begin()
        first = [pod(f"p{i}", cpu="1") for i in range(NODES * PER_NODE)]
        await asyncio.to_thread(own_plane.create, *first)
        await eventually(all_bound, lambda: "not bound")
        await eventually(asleep, lambda: "it does not sleep")
        fault.is_deaf = False
        leader.send(signal.SIGKILL)
        for i in range(NODES):
            body = {"metadata": {"labels": OPEN}}
            await asyncio.to_thread(own_plane.request, "PATCH", f"/api/v1/nodes/n{i}", body)
        await says(standby, "became leader")
        await says(standby, "caught up with the API server")
        await asyncio.sleep(2.0)

        assert len(await bound()) == NODES * PER_NODE

    async def all_refused() -> bool:
        found = [scheduled_condition(each) for each in (await pods()).values()]
        return len(found) == WAITING and all(each.get("status") == "False" for each in found)

    async def all_bound() -> bool:
        return len(await bound()) == NODES * PER_NODE

    async def asleep() -> bool:
        return fault.refused >= LONG_SLEEP

    asyncio.run(main())
