"""Metrics of preemption."""

from collections.abc import Iterator, Mapping

import msgspec

from moorage.observe import catalogue
from moorage.observe.metric_families import Family, counter, gauge, unlabelled


class PreemptionCounts(msgspec.Struct, frozen=True):
    """What a scheduler has done to make room, and what is under way.

    `evictions` are by (way, result). `disruptions_spent` counts disruptions that budgets do not
    show yet, and `disruptions_expired` those that they did not show in time.
    """

    evictions: Mapping[tuple[str, str], int]
    leaving: int
    loops_cut: int
    pairs_stopped: int
    nominations_given_up: int
    disruptions_spent: int
    disruptions_expired: int


def preemption_families(counts: PreemptionCounts) -> Iterator[Family]:
    """The metrics of preemption."""
    yield counter(catalogue.EVICTIONS, counts.evictions.items())
    yield gauge(catalogue.VICTIMS_LEAVING, unlabelled(counts.leaving))
    yield counter(catalogue.LOOPS_CUT, unlabelled(counts.loops_cut))
    yield gauge(catalogue.PAIRS_STOPPED, unlabelled(counts.pairs_stopped))
    yield counter(catalogue.NOMINATIONS_GIVEN_UP, unlabelled(counts.nominations_given_up))
    yield gauge(catalogue.DISRUPTIONS_SPENT, unlabelled(counts.disruptions_spent))
    yield counter(catalogue.DISRUPTIONS_EXPIRED, unlabelled(counts.disruptions_expired))
