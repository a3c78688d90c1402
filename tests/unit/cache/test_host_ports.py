"""Host ports: which rows have one in use; of a port that nobody uses, nothing is kept."""

from moorage.cache.host_ports import ANY, PortIndex
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
