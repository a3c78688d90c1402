"""Others that write to the same objects: they touch pods and nodes, delete pods, count budgets."""

import asyncio
import random
from collections import Counter
from typing import Final

from tests.chaos.checker import Checker, is_running, label, node_of
from tests.chaos.controllers import Controllers, path_of_pod
from tests.chaos.workload import BUDGET, BUDGET_PATH, KIND
from tests.integration.making import Raw

TOUCH_SECONDS: Final = (0.05, 0.3)
BUDGET_SECONDS: Final = 0.5
DELETES: Final = 0.05


class Rival:
    """Changes what the replicas have read, while they decide on it."""

    def __init__(self, controllers: Controllers, checker: Checker, rng: random.Random) -> None:
        self._controllers, self._checker, self._rng = controllers, checker, rng
        self.did: Counter[str] = Counter()

    async def write(self) -> None:
        """Touch one object after the other, for ever."""
        while True:
            await asyncio.sleep(self._rng.uniform(*TOUCH_SECONDS))
            pods = list(self._checker.pods.values())
            if not pods:
                continue
            chosen = self._rng.choice(pods)
            if self._rng.random() < DELETES and not node_of(chosen):
                await self._do("delete", "DELETE", path_of_pod(chosen))
            elif self._rng.random() < 0.2:
                name = self._rng.choice(sorted(self._checker.nodes))
                await self._do("touch node", "PATCH", f"/api/v1/nodes/{name}", self._note())
            else:
                await self._do("touch pod", "PATCH", path_of_pod(chosen), self._note())

    async def count_budgets(self) -> None:
        """Say how many pods of the budget may go, as the disruption controller does."""
        while True:
            await asyncio.sleep(BUDGET_SECONDS)
            pods = self._checker.pods.values()
            healthy = sum(is_running(raw) and label(raw, KIND) == "plain" for raw in pods)
            status = {
                "observedGeneration": 1,
                "disruptionsAllowed": max(0, healthy - BUDGET),
                "currentHealthy": healthy,
                "desiredHealthy": BUDGET,
                "expectedPods": healthy,
            }
            await self._controllers.insist("PATCH", f"{BUDGET_PATH}/status", {"status": status})

    def _note(self) -> Raw:
        return {"metadata": {"annotations": {"rival": str(self._rng.random())}}}

    async def _do(self, what: str, method: str, path: str, body: Raw | None = None) -> None:
        self.did[f"rival {what}"] += 1
        await self._controllers.insist(method, path, body)
