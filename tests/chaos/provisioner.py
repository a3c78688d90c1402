"""A toy provisioner: makes a volume where a claim says that its pod will run, or gives it back."""

import asyncio
import random
from typing import Final

from tests.chaos.checker import name_of
from tests.chaos.controllers import Controllers
from tests.integration.making import Raw
from tests.integration.storage import CLAIMS, SELECTED_NODE, VOLUMES, ZONE, volume

DELAY_SECONDS: Final = (0.1, 0.8)
GIVES_BACK: Final = 0.15
"""The share of claims that it cannot make a volume for where it is asked to, the first time."""
COMPLETED: Final = {"pv.kubernetes.io/bind-completed": "yes"}


class Provisioner:
    """Hears of claims and nodes by the watch."""

    def __init__(self, controllers: Controllers, rng: random.Random) -> None:
        self._controllers, self._rng = controllers, rng
        self._zones: dict[str, str] = {}
        self._given_back: set[str] = set()
        self.made = 0

    @property
    def given_back(self) -> int:
        return len(self._given_back)

    def node(self, kind: str, raw: Raw) -> None:
        self._zones[name_of(raw)] = raw["metadata"]["labels"].get(ZONE, "")

    def claim(self, kind: str, raw: Raw) -> None:
        """A claim has changed: where it names a node and has no volume, make one."""
        node = (raw["metadata"].get("annotations") or {}).get(SELECTED_NODE, "")
        if kind != "DELETED" and node and not raw["spec"].get("volumeName"):
            uid = raw["metadata"]["uid"]
            self._controllers.once(f"{uid}/{node}/volume", self._provision(raw, node))

    async def _provision(self, raw: Raw, node: str) -> None:
        await asyncio.sleep(self._rng.uniform(*DELAY_SECONDS))
        name, uid = name_of(raw), raw["metadata"]["uid"]
        if uid not in self._given_back and self._rng.random() < GIVES_BACK:
            self._given_back.add(uid)
            undone = {"metadata": {"annotations": {SELECTED_NODE: None}}}
            await self._controllers.insist("PATCH", f"{CLAIMS}/{name}", undone)
            self._controllers.forget(f"{uid}/{node}/volume")
            return
        await self._make(name, uid, raw["spec"]["storageClassName"], self._zones[node])

    async def _make(self, claim: str, uid: str, of: str, zone: str) -> None:
        """One volume for each claim, whatever is asked for twice."""
        insist, made = self._controllers.insist, f"pvc-{uid}"
        ref = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": claim, "uid": uid}
        await insist("POST", "", volume(made, of, zone, claimRef=ref))
        bound = {"status": {"phase": "Bound"}}
        await insist("PATCH", f"{VOLUMES}/{made}/status", bound)
        patch = {"metadata": {"annotations": COMPLETED}, "spec": {"volumeName": made}}
        await insist("PATCH", f"{CLAIMS}/{claim}", patch)
        await insist("PATCH", f"{CLAIMS}/{claim}/status", bound)
        self.made += 1
