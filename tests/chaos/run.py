"""One run: a cluster, two replicas, faults, and what must hold at the end.

1. While pods come and go, the faults of the plan are done; the checker hears every change.
2. The faults end. All must become quiet: every pod on a node, or with a true reason.
3. Nodes are added. Everybody that fits anywhere must be bound, and groups be whole.
4. The replicas are told to end, and must end cleanly.
"""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.chaos import faults, settled, workload
from tests.chaos.checker import Checker, Violation, is_running, label
from tests.chaos.controllers import Controllers
from tests.chaos.faults import Fault
from tests.chaos.follower import Follower
from tests.chaos.line import Line, Write
from tests.chaos.provisioner import Provisioner
from tests.chaos.replicas import Member, member
from tests.chaos.report import Report
from tests.chaos.rival import Rival
from tests.integration import grouping
from tests.integration.control_plane import ControlPlane
from tests.integration.harness import eventually
from tests.integration.making import Raw
from tests.integration.proxying import HttpProxy

SETTLE_SECONDS = 75.0
LOOK_SECONDS = 0.2
"""How long all may take to become quiet, in looks: those are late on a machine that is busy
otherwise, and so are the replicas."""
QUIET_SECONDS = 2.0
FIRST_BINDS = 20
ENDS_WITH_REPLIES = 10
"""How many pods end when replies begin to be lost, so that there are bindings to lose."""
PODS, NODES, GROUPS = "/api/v1/pods", "/api/v1/nodes", f"/apis/{grouping.CUSTOM}/podgroups"
CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases/moorage-chaos"


def run(
    programs: Path, home: Path, seed: int, seconds: float, patience: float = SETTLE_SECONDS
) -> Report:
    """Everything that a seed stands for, on a control plane of its own."""
    home.mkdir(parents=True, exist_ok=True)
    with ControlPlane(programs, home / "control-plane") as plane:
        grouping.install(plane, *map(grouping.shipped, ("podgroups", "elasticquotas")))
        return asyncio.run(_Run(plane, home, seed, seconds, patience).main())


class _Run:
    """What the parts of a run share."""

    def __init__(
        self, plane: ControlPlane, home: Path, seed: int, seconds: float, patience: float
    ) -> None:
        self._patience = patience
        self._plane, self._home, self._seconds = plane, home, seconds
        self._load = workload.plan(random.Random(f"{seed}/load"), seconds)
        self._faults = faults.plan(random.Random(f"{seed}/faults"), seconds)
        self._rng = random.Random(f"{seed}/ends")
        self._controllers = Controllers(plane, random.Random(f"{seed}/controllers"))
        writes: list[Write] = []
        self._lines = [
            Line(name, random.Random(f"{seed}/{name}"), writes) for name in ("one", "two")
        ]
        self._checker = Checker()
        self._provisioner = Provisioner(self._controllers, random.Random(f"{seed}/volumes"))
        self._rival = Rival(self._controllers, self._checker, random.Random(f"{seed}/rival"))
        self._report = Report(seed, time.monotonic(), self._checker, writes, home=str(home))

    async def main(self) -> Report:
        async with contextlib.AsyncExitStack() as stack:
            await self._controllers.create(*workload.world())
            hears = {
                NODES: self._node,
                GROUPS: self._checker.group,
                VOLUMES: self._checker.volume,
                CLAIMS: self._claim,
                PODS: self._pod,
            }
            for path, hear in hears.items():
                await stack.enter_async_context(Follower(self._plane, path, hear).following())
            self._members = [
                await stack.enter_async_context(
                    member(line.replica, self._home, line, HttpProxy(self._plane, line))
                )
                for line in self._lines
            ]
            stack.callback(self._controllers.close)
            await self._play()
            await self._settle()
        return self._finish()

    def _node(self, kind: str, raw: Raw) -> None:
        self._checker.node(kind, raw)
        self._provisioner.node(kind, raw)

    def _claim(self, kind: str, raw: Raw) -> None:
        self._checker.claim(kind, raw)
        self._provisioner.claim(kind, raw)

    def _pod(self, kind: str, raw: Raw) -> None:
        self._checker.pod(kind, raw)
        self._controllers.pod(kind, raw)

    async def _play(self) -> None:
        """Phase 1, from the first pods that are bound."""
        await self._controllers.create(*self._load.pop(0).objects)
        nothing = f"nothing is bound; see {self._home}"
        await eventually(self._has_begun, lambda: nothing, 2 * self._patience)
        self._report.began = time.monotonic()
        others = [asyncio.ensure_future(self._rival.write())]
        others.append(asyncio.ensure_future(self._rival.count_budgets()))
        async with asyncio.TaskGroup() as both:
            both.create_task(self._bring_pods())
            both.create_task(self._do_harm())
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for line in self._lines:
            line.end()
        for each in self._members:
            await each.repaired()

    async def _has_begun(self) -> bool:
        return self._checker.binds >= FIRST_BINDS

    async def _settle(self) -> None:
        """Phases 2, 3 and 4."""
        quiet_from = time.monotonic()
        wrong = await self._until_right(lambda: settled.problems(self._checker))
        self._report.settle_seconds = time.monotonic() - quiet_from
        self._report.violations += wrong
        await self._controllers.create(*workload.spare_nodes())
        self._report.violations += await self._until_right(
            lambda: settled.problems_with_room(self._checker)
        )
        for each in self._members:
            await each.close()

    async def _until_right(self, look: Callable[[], list[Violation]]) -> list[Violation]:
        """Return when nothing was wrong for a while; else what is wrong after the time given."""
        right_from, looks = None, round(self._patience / LOOK_SECONDS)
        for _ in range(looks):
            await self._controllers.idle()
            if wrong := look():
                right_from = None
            elif right_from is None:
                right_from = time.monotonic()
            elif time.monotonic() - right_from > QUIET_SECONDS:
                return []
            await asyncio.sleep(LOOK_SECONDS)
        return wrong

    async def _bring_pods(self) -> None:
        for step in self._load:
            await self._sleep_until(step.at)
            self._controllers.rejects = step.at < self._seconds / 2
            await self._end_some(step.ends)
            await self._controllers.create(*step.objects)

    async def _end_some(self, count: int) -> None:
        """End so many of the pods that may."""
        running = [
            raw
            for raw in self._checker.pods.values()
            if is_running(raw) and label(raw, workload.KIND) in ("plain", "urgent")
        ]
        await self._controllers.end(self._rng.sample(running, min(count, len(running))))

    async def _do_harm(self) -> None:
        for fault in self._faults:
            await self._sleep_until(fault.at)
            targets = self._targets(fault)
            named = " and ".join(each.name for each in targets) or "server"
            self._report.faults.append(f"{fault} ({named})")
            if fault.to == "server":
                await self._harm_server(fault)
            for each in targets:
                if fault.kind in faults.OF_A_REPLICA:
                    each.strike(fault.kind, fault.seconds)
                else:
                    each.line.begin(fault.kind, fault.seconds)
            if fault.kind == "lose-replies":
                await self._end_some(ENDS_WITH_REPLIES)

    def _targets(self, fault: Fault) -> list[Member]:
        """The leader is who has renewed the lease last."""
        by_lease = sorted(self._members, key=lambda each: -each.line.renewed_at)
        chosen = {"leader": by_lease[:1], "standby": by_lease[1:], "both": by_lease}
        return chosen.get(fault.to, [])

    async def _harm_server(self, fault: Fault) -> None:
        plane = self._plane
        if fault.kind == "compact":
            with contextlib.suppress(OSError):
                await asyncio.to_thread(plane.compact)
        elif fault.kind == "steal-lease":
            stolen = {"spec": {"holderIdentity": f"thief at {fault.at:.1f}"}}
            await self._controllers.insist("PATCH", LEASE, stolen)
        elif fault.kind == "restart-api-server":
            await asyncio.to_thread(plane.end, "kube-apiserver", signal.SIGKILL)
            await asyncio.to_thread(plane.start_api_server)
        else:
            os.kill(plane.pids[0], signal.SIGSTOP)
            await asyncio.sleep(fault.seconds)
            os.kill(plane.pids[0], signal.SIGCONT)

    async def _sleep_until(self, at: float) -> None:
        await asyncio.sleep(max(0.0, self._report.began + at - time.monotonic()))

    def _finish(self) -> Report:
        report = self._report
        report.violations[:0] = self._checker.violations
        report.rejected = self._controllers.rejected
        report.did.update(self._rival.did)
        report.did.update(volumes=self._provisioner.made)
        report.did.update({"volumes given back": self._provisioner.given_back})
        for each in self._members:
            report.did.update(each.line.done)
            report.violations += [Violation(text, ()) for text in each.bad_exits]
            report.violations += [
                Violation(f"a traceback in {log}", ())
                for log in each.logs
                if "Traceback" in log.read_text(errors="replace")
            ]
        return report
