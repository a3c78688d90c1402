"""Cool and thrifty nodes first, and none that is too hot."""

import pytest

from moorage.policies.energy_aware import TOO_HOT, TOO_MUCH_POWER, EnergyAware
from moorage.policies.telemetry import node_measurements
from moorage.policies.telemetry.node_measurements import Energy
from moorage.testing import Cluster, NodeBuilder, node, pod
from tests.unit.policies.asking import faults, refusals, scores, world

HEAT, POWER = "moorage.io/temperature-celsius", "moorage.io/power-watts"


def hot(name: str, celsius: str) -> NodeBuilder:
    return node(name).annotated({HEAT: celsius})


def drawing(name: str, watts: str) -> NodeBuilder:
    """A node of four cores."""
    return node(name).annotated({POWER: watts})


@pytest.mark.parametrize(
    ("celsius", "want"),
    [
        pytest.param("20", 100, id="a cool node scores 100"),
        pytest.param("40", 100, id="up to coolCelsius"),
        pytest.param("60", 50, id="half way to hotCelsius scores half"),
        pytest.param("80", 0, id="hotCelsius scores nothing"),
        pytest.param("99", 0, id="and so does what is hotter"),
        pytest.param("warm", 50, id="what is no number is not known"),
    ],
)
def test_temperature(celsius: str, want: int) -> None:
    assert scores(world(EnergyAware(), hot("a", celsius)), pod("p")) == {"a": want}


def test_power_counts_per_core() -> None:
    big = drawing("big", "160").offering(cpu="32")
    cluster = world(EnergyAware(), drawing("a", "60"), drawing("b", "100"), big)

    assert scores(cluster, pod("p")) == {"a": 50, "b": 0, "big": 100}


def test_the_mean_of_both_counts_by_weight() -> None:
    both = node("a").annotated({HEAT: "40", POWER: "100"})

    assert scores(world(EnergyAware(), both), pod("p")) == {"a": 50}
    only_power = EnergyAware(temperature_weight=0)
    assert scores(world(only_power, both), pod("p")) == {"a": 0}
    assert scores(world(EnergyAware(temperature_weight=3), both), pod("p")) == {"a": 75}


def test_labels_are_read_where_there_is_no_annotation() -> None:
    labelled = node("a").labelled({HEAT: "40"})
    both = node("b").labelled({HEAT: "40"}).annotated({HEAT: "80"})

    assert scores(world(EnergyAware(), labelled, both, node("c")), pod("p")) == {
        "a": 100,
        "b": 0,
        "c": 50,
    }


def test_a_node_that_is_too_hot_is_refused() -> None:
    cluster = world(EnergyAware(), hot("a", "90"), hot("b", "91"), node("c"))

    assert refusals(cluster, pod("p")) == {"b": TOO_HOT}
    assert refusals(world(EnergyAware(max_celsius=None), hot("b", "91")), pod("p")) == {}


def test_so_is_one_that_draws_too_much_power_where_there_is_a_limit() -> None:
    nodes = (drawing("a", "400"), drawing("b", "500"))

    assert refusals(world(EnergyAware(), *nodes), pod("p")) == {}
    assert refusals(world(EnergyAware(max_watts=450), *nodes), pod("p")) == {"b": TOO_MUCH_POWER}


def test_a_node_that_cools_down_is_taken_again() -> None:
    cluster = world(EnergyAware(), hot("a", "95"))
    assert refusals(cluster, pod("p")) == {"a": TOO_HOT}

    cluster.add(hot("a", "50"))

    assert refusals(cluster, pod("p")) == {}
    assert scores(cluster, pod("p")) == {"a": 75}


def measured(cluster: Cluster, name: str, at: float, **found: float) -> None:
    node_measurements.energy_store(cluster.profile.shared).record(name, Energy(at=at, **found))


def test_what_was_measured_goes_before_what_the_node_says() -> None:
    cluster = world(EnergyAware(), hot("a", "50"), hot("b", "50"), node("c"))
    assert scores(cluster, pod("p"), now=1000.0) == {"a": 75, "b": 75, "c": 50}

    measured(cluster, "a", 1000.0, celsius=95.0)
    measured(cluster, "b", 1000.0, watts=1.0)
    measured(cluster, "c", 1000.0, celsius=60.0)

    assert scores(cluster, pod("p"), now=1000.0) == {"a": 0, "b": 87, "c": 50}
    assert refusals(cluster, pod("p"), now=1000.0) == {"a": TOO_HOT}


def test_and_is_forgotten_when_it_is_stale() -> None:
    cluster = world(EnergyAware(), hot("a", "50"), node("b"))
    measured(cluster, "a", 1000.0, celsius=95.0)
    measured(cluster, "b", 1000.0, celsius=40.0)

    assert scores(cluster, pod("p"), now=1599.0) == {"a": 0, "b": 100}
    assert scores(cluster, pod("p"), now=1600.0) == {"a": 75, "b": 50}


def test_limits_the_wrong_way_round_are_refused() -> None:
    args = {"coolCelsius": 80, "hotCelsius": 40, "lowWattsPerCore": 9, "highWattsPerCore": 9}

    assert faults(EnergyAware) == []
    assert faults(EnergyAware, **args, temperatureWeight=0, powerWeight=0) == [
        "hotCelsius: must be above coolCelsius",
        "highWattsPerCore: must be above lowWattsPerCore",
        "temperatureWeight: must be above 0, or powerWeight",
    ]


def test_a_provider_that_is_asked_for_nothing_is_refused() -> None:
    silent = {"type": "Prometheus", "address": "http://p:9090"}
    silent |= {"temperatureQuery": "", "powerQuery": ""}

    assert faults(EnergyAware, metricProvider=silent) == [
        "metricProvider.temperatureQuery: nothing is asked for"
    ]
