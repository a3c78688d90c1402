"""EnergyAware: prefers cool nodes that draw little power, and refuses nodes that are too hot."""

from collections.abc import Hashable
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import CPU
from moorage.config.durations import Duration
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.events import MEASURED, Action, ClusterEvent, EventHint, Resource
from moorage.framework.plugin import Carried
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import MAX_SCORE, Rejection, unresolvable
from moorage.policies import label_values
from moorage.policies.argument_types import Amount, Percent
from moorage.policies.telemetry import metric_sources, node_measurements
from moorage.policies.telemetry.metric_sources import EnergyProvider, EnergySource, Source

TOO_HOT: Final = "node(s) were too hot"
TOO_MUCH_POWER: Final = "node(s) drew too much power"

_HOT, _POWER = 1, 2
_MILLICORES = 1000

Floats = NDArray[np.float64]


class EnergyAware(Filter, Score, frozen=True):
    """Reads temperature and power from annotations or labels of nodes, or from `metricProvider`.

    A measurement takes precedence for `staleAfter` (10m). Temperature scores 100 up to
    `coolCelsius` (40) and falls to 0 at `hotCelsius` (80). Power per core scores 100 up to
    `lowWattsPerCore` (5) and falls to 0 at `highWattsPerCore` (25). The score is the mean of the
    known ones, weighted by `temperatureWeight` and `powerWeight`; a node where neither is known
    scores `unknownScore` (50). The filter refuses nodes above `maxCelsius` (90), and those that
    draw more than `maxWatts`, if it is set.
    """

    temperature_key: str = "moorage.io/temperature-celsius"
    power_key: str = "moorage.io/power-watts"
    cool_celsius: float = 40.0
    hot_celsius: float = 80.0
    low_watts_per_core: Amount = 5.0
    high_watts_per_core: Amount = 25.0
    temperature_weight: Percent = 1
    power_weight: Percent = 1
    unknown_score: Percent = 50
    max_celsius: float | None = 90.0
    max_watts: Amount | None = None
    metric_provider: EnergyProvider = EnergyProvider()
    stale_after: Duration = Duration.of_seconds(600)

    aliases = ("EnergyAwarePlugin",)
    depends = Depends.NODE
    carried: ClassVar[Carried] = {node_measurements.ENERGY_STORE: None}

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        faults = []
        if args["coolCelsius"] >= args["hotCelsius"]:
            faults.append("hotCelsius: must be above coolCelsius")
        if args["lowWattsPerCore"] >= args["highWattsPerCore"]:
            faults.append("highWattsPerCore: must be above lowWattsPerCore")
        if not args["temperatureWeight"] + args["powerWeight"]:
            faults.append("temperatureWeight: must be above 0, or powerWeight")
        return [*faults, *metric_sources.provider_faults(args, "temperatureQuery", "powerQuery")]

    def sources(self) -> tuple[Source, ...]:
        nobody = self.metric_provider.type == metric_sources.NO_PROVIDER
        return () if nobody else (EnergySource(self.metric_provider),)

    def sign(self, cycle: Cycle) -> Hashable | None:
        """None with measurements: they expire by themselves, so no column may be kept."""
        return None if node_measurements.ENERGY_STORE in cycle.shared else ()

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        celsius, watts = self.readings(cycle, nodes)
        if self.max_watts is not None:
            out[watts > self.max_watts] = _POWER
        if self.max_celsius is not None:
            out[celsius > self.max_celsius] = _HOT

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(TOO_HOT if code == _HOT else TOO_MUCH_POWER)

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        celsius, watts = self.readings(cycle, nodes)
        heat = _falling(celsius, self.cool_celsius, self.hot_celsius)
        cores = np.maximum(nodes.allocatable[CPU], 1) / _MILLICORES
        power = _falling(watts / cores, self.low_watts_per_core, self.high_watts_per_core)
        total, weights = np.zeros(nodes.count), np.zeros(nodes.count)
        for part, weight in ((heat, self.temperature_weight), (power, self.power_weight)):
            total += np.nan_to_num(part) * weight
            weights += ~np.isnan(part) * weight
        mean = total / np.maximum(weights, 1)
        score_range.write_scores(np.where(weights > 0, mean, self.unknown_score), out)

    def events(self) -> tuple[EventHint, ...]:
        changed = Action.ADD | Action.UPDATE_NODE_ANNOTATION | Action.UPDATE_NODE_LABEL
        return EventHint(ClusterEvent(Resource.NODE, changed)), EventHint(MEASURED)

    def readings(self, cycle: Cycle, nodes: Nodes) -> tuple[Floats, Floats]:
        """Degrees and watts: measured, or by annotation or label, or NaN.  float64 (node) each"""
        said = [
            label_values.node_numbers(nodes.table, key)[nodes.rows]
            for key in (self.temperature_key, self.power_key)
        ]
        if node_measurements.ENERGY_STORE in cycle.shared:
            celsius, watts, at = node_measurements.energy_store(cycle.shared).columns(nodes.table)[
                :, nodes.rows
            ]
            fresh = cycle.now - at < self.stale_after.seconds
            said = [
                np.where(fresh & ~np.isnan(measured), measured, old)
                for measured, old in zip((celsius, watts), said, strict=True)
            ]
        return said[0], said[1]


def _falling(values: Floats, low: float, high: float) -> Floats:
    """100 up to `low`, 0 from `high` on, linear between; NaN stays NaN.  float64 (node)"""
    return MAX_SCORE * (1.0 - np.clip((values - low) / (high - low), 0.0, 1.0))
