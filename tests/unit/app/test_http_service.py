"""A scheduler on the embedded cluster, looked at from outside."""

import asyncio
import random

import aiohttp
import pytest

from moorage.app import built_in_plugins, http_service
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import SystemClock
from moorage.config.loader import load
from moorage.config.types import API_VERSION, KIND
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.prometheus_metrics import Metrics
from moorage.observe.records import Bound
from moorage.serve.secure_serving import Listener
from moorage.testing import node, pod


class Witness:
    """Sees a pod being bound."""

    def __init__(self) -> None:
        self.something = asyncio.Event()

    def bound(self, bound: Bound) -> None:
        self.something.set()


def test_a_scheduler_is_ready_once_everything_is_listed() -> None:
    known = built_in_plugins.built_in()
    document = {"apiVersion": API_VERSION, "kind": KIND}
    configuration = load(document, known=built_in_plugins.describe_plugins(known)).configuration
    metrics = Metrics()

    async def main() -> tuple[list[int], str, str]:
        clock, rng, witness = SystemClock(), random.Random(0), Witness()
        cluster = MemoryCluster(clock=clock, rng=rng)
        for kind, obj in (("Node", node("a")), ("Pod", pod("web"))):
            cluster.apply({"apiVersion": "v1", "kind": kind, **obj.raw})
        profiles = build_profiles(configuration, known)
        scheduler = assemble(cluster, profiles, clock=clock, rng=rng, observers=(metrics, witness))
        server = http_service.build_server(
            scheduler,
            configuration,
            metrics=metrics,
            listeners=[Listener("127.0.0.1", 0, None)],
            leader=lambda: None,
        )
        async with server.serving(), aiohttp.ClientSession() as session:

            async def ask(path: str) -> tuple[int, str]:
                async with session.get(f"http://127.0.0.1:{server.ports[0]}{path}") as answer:
                    return answer.status, await answer.text()

            before = await ask("/readyz/sched-handler-sync")
            running = asyncio.ensure_future(scheduler.run())
            await witness.something.wait()
            after = await ask("/readyz?verbose")
            told = (await ask("/metrics"))[1]
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            return [before[0], after[0]], before[1] + after[1], told

    statuses, text, told = asyncio.run(main())

    assert statuses == [500, 200]
    assert "internal server error: not listed yet: namespaces, priorityclasses" in text
    assert "[+]leaderElection ok\n" in text
    assert 'profile="default-scheduler",result="scheduled"} 1.0' in told
    assert "moorage_config_generation 1.0" in told
    assert "moorage_loop_lag_seconds" in told


class Elected:
    """A replica in an election."""

    def __init__(self, leading: bool, seconds_left: float) -> None:
        self.leading = leading
        self.seconds_left = seconds_left


@pytest.mark.parametrize(
    ("elector", "want"),
    [
        pytest.param(None, None, id="without an election nobody is late"),
        pytest.param(Elected(True, 5.0), None, id="a leader with a lease"),
        pytest.param(Elected(True, -5.0), None, id="a leader who is a little late"),
        pytest.param(Elected(True, -21.0), "the lease ran out 21 s ago", id="one who is too late"),
        pytest.param(Elected(False, 0.0), None, id="a standby has no lease to lose"),
    ],
)
def test_a_leader_without_a_lease_may_not_live(elector: Elected | None, want: str | None) -> None:
    assert http_service.lease_overdue(elector) == want
