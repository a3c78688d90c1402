"""Counting by ourselves says what Prometheus' own client would have said."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from moorage.observe.catalogue import FINE, POINT_DURATION, Metric, exponential
from moorage.observe.metric_families import Family, Tallies, Tally, histogram

BOUNDS = exponential(0.001, 2, 15)
METRIC = Metric("took_seconds", "histogram", "How long it took.", ("result",), BOUNDS)


class Collector:
    def __init__(self, family: Family) -> None:
        self._family = family

    def collect(self) -> list[Family]:
        return [self._family]


def text(registry: CollectorRegistry) -> list[str]:
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if "_created" not in line]


@given(st.lists(st.one_of(st.floats(0, 100), st.sampled_from(BOUNDS))))
def test_a_histogram_reads_as_if_prometheus_client_had_counted(values: list[float]) -> None:
    theirs, ours = CollectorRegistry(), CollectorRegistry()
    client = Histogram(METRIC.name, METRIC.help, METRIC.labels, buckets=BOUNDS, registry=theirs)
    tallies = Tallies(BOUNDS)
    for value in values:
        client.labels("scheduled").observe(value)
        tallies.of("scheduled").observe(value)
    ours.register(Collector(histogram(METRIC, tallies.items())))

    assert text(ours) == text(theirs)


@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from(FINE))))
def test_fewer_buckets_hold_what_they_would_have_counted_themselves(values: list[float]) -> None:
    fine, coarse = Tally(FINE), Tally(POINT_DURATION.buckets)
    for value in values:
        fine.observe(value)
        coarse.observe(value)

    narrowed = fine.coarser(POINT_DURATION.buckets)

    assert (narrowed.counts, narrowed.total) == (coarse.counts, coarse.total)


def test_label_values_have_one_tally() -> None:
    tallies = Tallies(BOUNDS)

    assert tallies.of("a") is tallies.of("a")
    assert tallies.of("a") is not tallies.of("b")


def test_tallies_add_up() -> None:
    first, second = Tally((1.0,)), Tally((1.0,))
    first.observe(0.5)
    second.observe(2.0)

    first.add(second)

    assert (first.counts, first.total, first.count) == ([1, 1], 2.5, 2)
