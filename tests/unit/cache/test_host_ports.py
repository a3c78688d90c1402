"""Host ports: which rows have one in use; of a port that nobody uses, nothing is kept."""

import random

from moorage.cache.host_ports import ANY, JoinedPorts, PortIndex
from moorage.cache.podinfo import HostPort


def test_ports_that_are_free_again_are_forgotten() -> None:
    ports = PortIndex()
    stays = HostPort("10.0.0.1", "TCP", 80)
    ports.count(3, [stays], 1)
    for number in range(1000):
        passing = [HostPort(ANY, "TCP", 1024 + number), HostPort(f"10.0.1.{number}", "TCP", 80)]
        ports.count(1, passing, 1)
        ports.count(1, passing, 1)
        ports.count(1, passing, -1)
        assert list(ports.conflicts(passing[0])) == [1]
        ports.count(1, passing, -1)

    assert list(ports._used) == [("TCP", 80)]
    assert ports.used() == {("TCP", "10.0.0.1", 80): {3: 1}}
    assert list(ports.conflicts(HostPort(ANY, "TCP", 80))) == [3]


PORTS = [
    HostPort(ip, protocol, port)
    for ip in (ANY, "10.0.0.1", "10.0.0.2")
    for protocol in ("TCP", "UDP")
    for port in (80, 81)
]


def test_a_row_is_taken_where_it_is_among_the_conflicts() -> None:
    rng = random.Random(5)
    here, promised = PortIndex(), PortIndex()
    for row in range(40):
        here.count(row, rng.sample(PORTS, 2), 1)
        promised.count(row + 20, rng.sample(PORTS, 1), 1)

    for used in (here, promised, JoinedPorts(here, promised)):
        for port in PORTS:
            rows = set(used.conflicts(port))
            assert rows == {row for row in range(70) if used.is_taken(port, row)}
            assert 0 < len(rows) < 70
