"""Several replicas, one leader: whoever dies, every pod is bound once."""

import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.integration import auditing
from tests.integration.control_plane import ControlPlane
from tests.integration.harness import Replica, replica, wait_for
from tests.integration.making import node, pod
from tests.integration.recording import recorded
from tests.integration.test_run_command import ELECTION, LEASE, events, placed

pytestmark = pytest.mark.kube

PODS = 1000
QPS = 200
CREATED = 201


def holder(plane: ControlPlane) -> str:
    return str(plane.request("GET", LEASE)["spec"]["holderIdentity"])


def bindings(*replicas: Replica) -> list[str]:
    """Which pods replicas say they have bound."""
    lines = [line for one in replicas for line in one.said.splitlines() if '"Bound"' in line]
    return [line.partition("pod=")[2].split()[0] for line in lines]


def leader_first(plane: ControlPlane, one: Replica, two: Replica) -> tuple[Replica, Replica]:
    for each in (one, two):
        each.says("waiting to lead")
    name = wait_for(lambda: holder(plane) if _lease_exists(plane) else "", "nobody leads")
    return (one, two) if name in one.said else (two, one)


def _lease_exists(plane: ControlPlane) -> bool:
    path, _, name = LEASE.rpartition("/")
    return any(item["metadata"]["name"] == name for item in plane.request("GET", path)["items"])


def test_when_the_leader_is_killed_the_standby_finishes(
    own_plane: ControlPlane, tmp_path: Path
) -> None:
    """A thousand pods, a quarter of them bound: none is lost, and none is bound twice."""
    own_plane.create(*(node(f"n{i}", cpu="32", pods=300) for i in range(5)))
    settings: dict[str, Any] = {
        "leaderElection": ELECTION,
        "clientConnection": {"qps": QPS, "burst": QPS},
    }
    file = own_plane.kubeconfig_of("moorage")
    with (
        recorded(own_plane) as record,
        replica(tmp_path, "one", file, **settings) as one,
        replica(tmp_path, "two", file, **settings) as two,
    ):
        leader, standby = leader_first(own_plane, one, two)
        creating = threading.Thread(
            target=own_plane.create, args=[pod(f"p{i}") for i in range(PODS)]
        )
        creating.start()
        record.until(lambda now: len(now.placed) > PODS // 4, f"see {leader.log}", 120)
        leader.send(signal.SIGKILL)
        leader.wait()
        assert len(record.placed) < PODS
        creating.join()

        record.until(lambda now: len(now.placed) == PODS, f"see {standby.log}", 240)
        assert holder(own_plane) in standby.said
        standby.send(signal.SIGUSR2)
        standby.says("cache compared")
        assert "cache mismatch" not in standby.said
        standby.send(signal.SIGTERM)
        assert standby.wait() == 0
    assert len(record.pods) == PODS
    assert len(record.bindings) == PODS
    taken = [
        request.name
        for request in auditing.asked(own_plane.home, "moorage")
        if (request.resource, request.status) == ("pods/binding", CREATED)
    ]
    assert len(taken) == len(set(taken))
    both = bindings(one, two)
    assert len(both) == len(set(both))


def test_a_standby_takes_over_at_once_when_the_leader_ends(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plane.create(node("n1", pods=200))
    election = {**ELECTION, "leaseDuration": "60s", "renewDeadline": "40s"}
    with (
        replica(tmp_path, "one", plane.kubeconfig, leaderElection=election) as one,
        replica(tmp_path, "two", plane.kubeconfig, leaderElection=election) as two,
    ):
        leader, standby = leader_first(plane, one, two)
        leader.send(signal.SIGTERM)
        assert leader.wait() == 0
        standby.says("became leader", within=10)
        plane.create(pod("web"))

        wait_for(lambda: placed(plane), f"not bound; see {standby.log}")


def test_a_leader_that_slept_through_its_lease_binds_nothing_more(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Stopped and continued, as a virtual machine may be: it wakes up, finds out, and ends."""
    plane.create(node("n1", pods=200))
    with (
        replica(tmp_path, "one", plane.kubeconfig, leaderElection=ELECTION) as one,
        replica(tmp_path, "two", plane.kubeconfig, leaderElection=ELECTION) as two,
    ):
        leader, standby = leader_first(plane, one, two)
        leader.send(signal.SIGSTOP)
        plane.create(*(pod(f"p{i}") for i in range(20)))
        standby.says("became leader")
        wait_for(lambda: len(placed(plane)) == 20, f"not all bound; see {standby.log}")
        leader.send(signal.SIGCONT)

        assert leader.wait() == 1
        assert "leader election lost" in leader.said
        assert bindings(leader) == []
        assert len(bindings(standby)) == 20
        assert len(events(plane, "FailedScheduling")) == 0


def test_when_the_lease_is_taken_the_leader_ends(plane: ControlPlane, tmp_path: Path) -> None:
    plane.create(node("n1"))
    with replica(tmp_path, "one", plane.kubeconfig, leaderElection=ELECTION) as one:
        one.says("became leader")
        plane.request("PATCH", LEASE, {"spec": {"holderIdentity": "somebody-else"}})

        assert one.wait() == 1
    assert "leader election lost: somebody-else has taken the lease" in one.said


def test_of_two_schedulers_that_share_a_lease_the_second_says_that_it_waits_in_vain(
    plane: ControlPlane, tmp_path: Path
) -> None:
    file = plane.kubeconfig
    one_name, other_name = ([{"schedulerName": name}] for name in ("one", "other"))
    with replica(tmp_path, "one", file, leaderElection=ELECTION, profiles=one_name) as one:
        one.says("became leader")
        with replica(tmp_path, "two", file, leaderElection=ELECTION, profiles=other_name) as two:
            two.says("which schedules for one: pods of other wait")
