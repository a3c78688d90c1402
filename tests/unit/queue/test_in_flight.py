import pytest

from moorage.framework.events import FORCE_ACTIVATE, Action, ClusterEvent, Resource
from moorage.queue.in_flight import InFlightEvent, InFlightPods

ADD = InFlightEvent(ClusterEvent(Resource.NODE, Action.ADD), None, "n1")
DELETE = InFlightEvent(ClusterEvent(Resource.NODE, Action.DELETE), "n1", None)


@pytest.fixture
def flights() -> InFlightPods:
    return InFlightPods()


def test_a_pod_misses_what_comes_after_its_departure(flights: InFlightPods) -> None:
    flights.depart("early")
    flights.record(ADD)
    flights.depart("late")
    flights.record(DELETE)

    assert flights.missed("early") == [ADD, DELETE]
    assert flights.missed("late") == [DELETE]


def test_nothing_is_kept_while_nobody_is_in_flight(flights: InFlightPods) -> None:
    assert not flights.record(ADD)
    assert not flights.counts()

    flights.depart("a")
    assert flights.record(ADD)
    assert flights.counts() == {"NodeAdd": 1}


def test_an_event_is_dropped_when_the_last_who_missed_it_lands(flights: InFlightPods) -> None:
    flights.depart("a")
    flights.depart("b")
    flights.record(ADD)
    flights.depart("c")
    flights.record(DELETE)

    flights.land("a")
    assert flights.counts() == {"NodeAdd": 1, "NodeDelete": 1}
    flights.land("b")
    assert flights.counts() == {"NodeDelete": 1}
    assert flights.missed("c") == [DELETE]
    flights.land("c")
    assert not flights.counts()


def test_landing_out_of_order_keeps_what_earlier_departures_missed(flights: InFlightPods) -> None:
    flights.depart("a")
    flights.record(ADD)
    flights.depart("b")
    flights.record(DELETE)

    flights.land("b")

    assert flights.missed("a") == [ADD, DELETE]


def test_an_event_for_one_pod_is_missed_by_that_pod_only(flights: InFlightPods) -> None:
    flights.depart("a")
    flights.depart("b")
    for_b = InFlightEvent(FORCE_ACTIVATE, None, None, target="b")

    assert flights.record(for_b)

    assert flights.missed("a") == []
    assert flights.missed("b") == [for_b]


def test_an_event_for_a_pod_that_is_not_in_flight_is_not_kept(flights: InFlightPods) -> None:
    flights.depart("a")

    assert not flights.record(InFlightEvent(FORCE_ACTIVATE, None, None, target="b"))
    assert not flights.counts()

    assert flights.record(InFlightEvent(FORCE_ACTIVATE, None, None, target="a"))
    assert sum(flights.counts().values()) == 1


def test_validate_finds_events_kept_for_nobody(flights: InFlightPods) -> None:
    flights.depart("a")
    flights.record(ADD)
    flights._departed.clear()

    with pytest.raises(AssertionError, match="events are kept for nobody"):
        flights.validate()
