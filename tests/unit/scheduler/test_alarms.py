from moorage.scheduler.alarms import Alarms


def test_alarms_ring_once_in_the_order_of_their_times() -> None:
    alarms = Alarms()
    alarms.set("late", 5.0)
    alarms.set("early", 1.0)
    alarms.set("never", 9.0)

    assert alarms.due(5.0) == ["early", "late"]
    assert alarms.due(5.0) == []
    assert alarms.next() == 9.0


def test_an_alarm_set_again_rings_at_the_new_time_only() -> None:
    alarms = Alarms()
    alarms.set("a", 1.0)
    alarms.set("a", 3.0)

    assert alarms.due(2.0) == []
    assert alarms.due(3.0) == ["a"]


def test_an_alarm_can_be_set_earlier() -> None:
    alarms = Alarms()
    alarms.set("a", 3.0)
    alarms.set("a", 1.0)

    assert alarms.due(1.0) == ["a"]
    assert alarms.due(3.0) == []


def test_a_cleared_alarm_does_not_ring() -> None:
    alarms = Alarms()
    alarms.set("a", 1.0)
    alarms.clear("a")

    assert "a" not in alarms
    assert alarms.next() is None
    assert alarms.due(2.0) == []
