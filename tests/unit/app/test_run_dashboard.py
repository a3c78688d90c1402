"""Health on the dashboard of `moorage run` tells who leads, as its elector knows it."""

from typing import Any

from moorage.app.dashboard_sources import scheduler_sources
from moorage.app.run_dashboard import leader_facts
from moorage.clock import VirtualClock, run_virtual
from moorage.dashboard.health_view import HealthSource
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.decision_records import DecisionRecords
from tests.unit.app.replicas import Replica, fill
from tests.unit.dashboard.shown import get


def shown(replica: Replica) -> Any:
    health = HealthSource(leader=lambda: leader_facts(replica.elector))
    sources = scheduler_sources(replica.scheduler, DecisionRecords(), "run", health=health)
    return sources


def test_the_leader_and_who_stands_by_name_the_same_holder_until_it_dies() -> None:
    clock = VirtualClock(1_767_225_600.0)
    cluster = MemoryCluster(clock=clock)
    fill(cluster)
    told: list[dict[str, Any]] = []

    async def story() -> tuple[Replica, Replica]:
        leader = Replica(cluster, clock, "a")
        await clock.sleep(5.0)
        standby = Replica(cluster, clock, "b")
        await clock.sleep(5.0)
        told.extend(leader_facts(each.elector) for each in (leader, standby))
        await leader.die()
        await clock.sleep(60.0)
        told.append(leader_facts(standby.elector))
        await standby.die()
        return leader, standby

    _, standby = run_virtual(story(), clock)

    leads, stands_by, took_over = told
    lease = "default/moorage"
    assert 0 < leads.pop("left_s") <= 15.0
    assert leads == {"identity": "a", "leading": True, "holder": "a", "lease": lease}
    assert stands_by == {
        "identity": "b", "leading": False, "holder": "a", "lease": lease, "left_s": None
    }  # fmt: skip
    assert (took_over["leading"], took_over["holder"]) == (True, "b")
    assert get(shown(standby), "health")["leader"]["holder"] == "b"


def test_without_election_there_is_no_leader_to_name() -> None:
    assert leader_facts(None) == {}
