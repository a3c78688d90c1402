"""A shadow's findings as metrics, computed on each scrape."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from moorage.kpi.meter import Meter
from moorage.observe.catalogue import Metric
from moorage.observe.metric_families import Family, counter, gauge, unlabelled
from moorage.shadow.tally import Tally
from moorage.shadow.unseen import Unseen

JUDGED: Final = Metric(
    "moorage_shadow_judgements",
    "counter",
    "Decisions of other schedulers, by how they compare with a configuration's own.",
    ("configuration", "agreement"),
)
GIVEN_UP: Final = Metric(
    "moorage_shadow_score_given_up",
    "counter",
    "Points of a configuration's score that other schedulers' choices had less than its own.",
    ("configuration",),
)
UNSEEN: Final = Metric(
    "moorage_shadow_unseen_seconds", "counter", "Time in which the cluster was not seen whole."
)
UNJUDGED: Final = Metric(
    "moorage_shadow_unseen_pods", "counter", "Bindings that could not be judged."
)
WAITING: Final = Metric(
    "moorage_shadow_pods_waiting", "gauge", "Pods without a node, in each world.", ("world",)
)
IN_USE: Final = Metric(
    "moorage_shadow_nodes_in_use",
    "gauge",
    "Nodes with pods of any kind, in each world.",
    ("world",),
)
COST: Final = Metric(
    "moorage_shadow_cost_per_hour", "gauge", "What nodes in use cost, in each world.", ("world",)
)
ALL: Final = (JUDGED, GIVEN_UP, UNSEEN, UNJUDGED, WAITING, IN_USE, COST)


class ShadowMetrics:
    """A Prometheus collector."""

    def __init__(
        self,
        tallies: Mapping[str, Tally],
        unseen: Unseen,
        worlds: Callable[[], Mapping[str, Meter]],
    ) -> None:
        self._tallies = tallies
        self._unseen = unseen
        self._worlds = worlds

    def collect(self) -> Iterator[Family]:
        """All metrics, with their current values."""
        counts = (
            ((name, agreement.value), float(count))
            for name, tally in self._tallies.items()
            for agreement, count in tally.counts.items()
        )
        yield counter(JUDGED, counts)
        lost = (((name,), float(tally.given_up)) for name, tally in self._tallies.items())
        yield counter(GIVEN_UP, lost)
        yield counter(UNSEEN, unlabelled(self._unseen.seconds))
        yield counter(UNJUDGED, unlabelled(float(self._unseen.pods)))
        worlds = self._worlds()
        yield gauge(WAITING, [((name,), float(each.waiting)) for name, each in worlds.items()])
        in_use = [((name,), float(each.costs.in_use)) for name, each in worlds.items()]
        yield gauge(IN_USE, in_use)
        yield gauge(COST, [((name,), each.costs.hourly()) for name, each in worlds.items()])
