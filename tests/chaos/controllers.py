"""What a kubelet and a ReplicaSet would do: pods end, are rejected, and are replaced."""

import asyncio
import contextlib
import copy
import http.client
import random
from collections.abc import Awaitable

from tests.chaos.checker import FINISHED, label, name_of, node_of
from tests.chaos.workload import KIND
from tests.integration.control_plane import ControlPlane, Refused
from tests.integration.making import Raw

REPLACE_SECONDS = (1.5, 2.5)
STOP_SECONDS = 0.4
REJECTED = 0.08
"""The share of plain pods that their kubelet rejects."""
AGAIN_SECONDS = 0.2


class Controllers:
    """Hears of pods by the watch, and does what is left to others in a cluster."""

    def __init__(self, plane: ControlPlane, rng: random.Random) -> None:
        self._plane, self._rng = plane, rng
        self._templates: dict[str, Raw] = {}
        self._looked_at: set[str] = set()
        self._made = 0
        self._tasks: set[asyncio.Future[None]] = set()
        self.rejects = True
        self.rejected = 0

    async def create(self, *objects: Raw) -> None:
        """Create objects; pods are replaced when others than `end` delete them."""
        for obj in objects:
            if obj["kind"] == "Pod":
                self._templates[name_of(obj)] = obj
            await self.insist("POST", "", obj)

    async def end(self, pods: list[Raw]) -> None:
        """Delete pods for good."""
        for each in pods:
            self._templates.pop(name_of(each), None)
            await self.insist("DELETE", path_of_pod(each))

    def pod(self, kind: str, raw: Raw) -> None:
        """A pod has changed."""
        uid = raw["metadata"]["uid"]
        if kind == "DELETED":
            self._replace(raw)
        elif raw.get("status", {}).get("phase") in FINISHED:
            self.once(
                f"{uid}/failed", self.insist("DELETE", f"{path_of_pod(raw)}?gracePeriodSeconds=0")
            )
        elif "deletionTimestamp" in raw["metadata"]:
            self.once(f"{uid}/stop", self._stop(raw))
        elif node_of(raw) and label(raw, KIND) == "plain":
            self.once(f"{uid}/admit", self._admit(raw))

    async def idle(self) -> None:
        """Return when nothing is left to do."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _replace(self, raw: Raw) -> None:
        template = self._templates.pop(name_of(raw), None)
        if template is None:
            return
        self._made += 1
        successor = copy.deepcopy(template)
        base = name_of(template).partition("-again")[0]
        successor["metadata"]["name"] = f"{base}-again{self._made}"
        self._start(self._create_later(successor))

    async def _create_later(self, raw: Raw) -> None:
        await asyncio.sleep(self._rng.uniform(*REPLACE_SECONDS))
        await self.create(raw)

    async def _stop(self, raw: Raw) -> None:
        await asyncio.sleep(STOP_SECONDS)
        await self.insist("DELETE", f"{path_of_pod(raw)}?gracePeriodSeconds=0")

    async def _admit(self, raw: Raw) -> None:
        if not self.rejects or self._rng.random() >= REJECTED:
            return
        self.rejected += 1
        status = {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected"}
        await self.insist("PATCH", f"{path_of_pod(raw)}/status", {"status": status})

    def once(self, what: str, work: Awaitable[None]) -> None:
        """Begin something, unless it was begun before."""
        if what in self._looked_at:
            work.close()  # type: ignore[attr-defined]
            return
        self._looked_at.add(what)
        self._start(work)

    def forget(self, what: str) -> None:
        """Let something be done once more."""
        self._looked_at.discard(what)

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def insist(self, method: str, path: str, body: Raw | None = None) -> None:
        """Ask until the API server answers; that it was done before, or is gone, is fine."""
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                try:
                    await asyncio.to_thread(self._ask, method, path, body)
                except Refused as error:
                    if error.status not in (404, 409):
                        await asyncio.sleep(AGAIN_SECONDS)
                        continue
                return
            await asyncio.sleep(AGAIN_SECONDS)

    def _ask(self, method: str, path: str, body: Raw | None) -> None:
        if method == "POST" and body is not None:
            self._plane.create(body)
        else:
            self._plane.request(method, path, body)


def path_of_pod(raw: Raw) -> str:
    meta = raw["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
