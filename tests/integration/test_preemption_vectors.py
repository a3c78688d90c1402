"""The preemption cases of the conformance vectors, carried out on a real API server.

Each case's cluster is created, then its pod. Where kube-scheduler would preempt, exactly its
victims are marked and deleted, the pod is promised the node that kube-scheduler chooses and waits
while they go, and takes it when the last is gone. Where it would not, nobody is touched, and the
pod says why it waits.

`PREEMPTION_CASES=all` carries out every case there is.
"""

import asyncio
import json
import lzma
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.pod import Pod
from tests.data import DATA
from tests.integration.control_plane import ControlPlane
from tests.integration.harness import Running, eventually, running, scheduled_condition
from tests.integration.making import Raw
from tests.integration.staging import Stage, key

pytestmark = pytest.mark.kube

VECTORS = DATA / "conformance" / "preemption.jsonl.xz"
SELECTED = 40
"""How many cases are carried out if not all are asked for: every so manieth."""
LEAST = 30


def cases() -> list[Raw]:
    with lzma.open(VECTORS, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    if os.environ.get("PREEMPTION_CASES") == "all":
        return rows
    return rows[:: max(1, len(rows) // SELECTED)]


@pytest.mark.timeout(900)
def test_victims_are_deleted_and_the_preemptor_lands_where_kubes_would(plane: ControlPlane) -> None:
    rows = cases()
    wrong: dict[str, list[str]] = {}

    async def main() -> None:
        async with running(plane) as under_test, staged(plane, rows) as stage:
            for row in rows:
                found = await carry_out(under_test, stage, row["case"], row["expect"])
                if found:
                    wrong[row["case"]["id"]] = found

    asyncio.run(main())
    assert len(rows) >= LEAST
    assert wrong == {}


@asynccontextmanager
async def staged(plane: ControlPlane, rows: list[Raw]) -> AsyncIterator[Stage]:
    stage = Stage(plane)
    try:
        await asyncio.to_thread(stage.prepare, [row["case"] for row in rows])
        yield stage
    finally:
        stage.close()


async def carry_out(under_test: Running, stage: Stage, case: Raw, expect: Raw) -> list[str]:
    """What came out differently from what is expected."""
    await asyncio.to_thread(stage.set, case)
    await eventually(lambda: has_heard(under_test, case), lambda: f"{case['id']}: not heard")
    await asyncio.to_thread(stage.enter, case["pod"])
    chosen = expect["preemption"].get("chosen") or []
    try:
        if chosen:
            return await preempts(under_test, stage, case, expect, chosen)
        return await waits(under_test, stage, case, expect)
    finally:
        await asyncio.to_thread(stage.strike)
        await eventually(lambda: is_empty(under_test), lambda: f"{case['id']}: not forgotten")


async def preempts(
    under_test: Running, stage: Stage, case: Raw, expect: Raw, chosen: list[str]
) -> list[str]:
    (node,) = chosen
    victims = set(expect["preemption"]["candidates"][node]["victims"])
    me = key(case["pod"])

    async def leaving() -> dict[str, Raw] | None:
        pods = await asyncio.to_thread(stage.pods)
        going = {name for name, pod in pods.items() if "deletionTimestamp" in pod["metadata"]}
        promised = pods[me].get("status", {}).get("nominatedNodeName")
        return pods if len(going) >= len(victims) and promised else None

    def state() -> str:
        return f"{case['id']}: {under_test.seen.failures} {under_test.seen.attempts[-1:]}"

    pods = await eventually(leaving, state)
    going = {name for name, pod in pods.items() if "deletionTimestamp" in pod["metadata"]}
    marked = {name for name, pod in pods.items() if is_marked(pod)}
    found = [
        *differs("deleted", going, victims),
        *differs("marked", marked, victims),
        *differs("promised", pods[me]["status"].get("nominatedNodeName"), node),
        *differs("bound while victims leave", pods[me]["spec"].get("nodeName"), None),
    ]
    *first, last = sorted(going)
    await asyncio.to_thread(stage.finish, first)
    half = (await asyncio.to_thread(stage.pods))[me]
    found += differs("bound before the last victim is gone", half["spec"].get("nodeName"), None)
    await asyncio.to_thread(stage.finish, [last])
    return found + differs("landed on", await landing(stage, me, state), node)


async def landing(stage: Stage, me: str, state: Any) -> str:
    async def bound() -> str | None:
        spec = (await asyncio.to_thread(stage.pods))[me]["spec"]
        return str(spec["nodeName"]) if "nodeName" in spec else None

    return await eventually(bound, state)


async def waits(under_test: Running, stage: Stage, case: Raw, expect: Raw) -> list[str]:
    me = key(case["pod"])

    async def told() -> dict[str, Raw] | None:
        pods = await asyncio.to_thread(stage.pods)
        return pods if scheduled_condition(pods[me]).get("reason") == "Unschedulable" else None

    pods = await eventually(told, lambda: f"{case['id']}: the pod does not say why it waits")
    message = scheduled_condition(pods[me])["message"]
    touched = {
        name for name, p in pods.items() if is_marked(p) or "deletionTimestamp" in p["metadata"]
    }
    return [
        *differs("touched", touched, set()),
        *differs("promised", pods[me]["status"].get("nominatedNodeName"), None),
        *differs("message", message[: len(expect["message"])], expect["message"]),
        *differs("pods left", set(pods), {me, *map(key, case["pods"])}),
    ]


def differs(what: str, got: Any, want: Any) -> list[str]:
    return [] if got == want else [f"{what}: {got}, not {want}"]


def is_marked(pod: Raw) -> bool:
    conditions = pod.get("status", {}).get("conditions") or []
    return any(
        (c["type"], c["status"], c["reason"])
        == ("DisruptionTarget", "True", "PreemptionByScheduler")
        for c in conditions
    )


async def has_heard(under_test: Running, case: Raw) -> bool:
    """Whether the scheduler knows the case's cluster, the last word on each object included."""
    scheduler = under_test.scheduler
    known_pods = scheduler.reflectors["pods"].known
    pods = [known_pods.get(key(pod)) for pod in case["pods"]]
    budgets = scheduler.cache.objects.all(PodDisruptionBudget)
    allowed = {budget.key: budget.status.disruptions_allowed for budget in budgets}
    return (
        len(scheduler.cache.table) == len(case["nodes"])
        and all(isinstance(pod, Pod) and pod.status.phase == "Running" for pod in pods)
        and allowed
        == {
            key(budget): budget["status"]["disruptionsAllowed"]
            for budget in case.get("podDisruptionBudgets", ())
        }
    )


async def is_empty(under_test: Running) -> bool:
    scheduler = under_test.scheduler
    known = [scheduler.reflectors[name].known for name in ("pods", "nodes", "poddisruptionbudgets")]
    return not any(known) and not scheduler.binding
