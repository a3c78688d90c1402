"""A shadow's findings as data: what `-o json` prints and the page shows."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from moorage import __version__
from moorage.kpi import summary as kpi_summary
from moorage.kpi.meter import Meter
from moorage.shadow.judgement import Agreement
from moorage.shadow.tally import Tally, TallyData, data_of
from moorage.shadow.unseen import Span, Unseen
from moorage.simulate.comparison import Comparison, compare
from moorage.simulate.scenario_run import RunResult

MOST_WAITS: Final = 1000


class UnseenData(msgspec.Struct, frozen=True):
    """The time and the pods that were not seen."""

    seconds: float
    pods: int
    spans: list[Span]


class Findings(msgspec.Struct, frozen=True):
    """One-step judgements, and the worlds side by side: the true cluster first, then each
    configuration's own."""

    version: str
    began: float
    ended: float
    nodes: int
    one_step: list[TallyData]
    unseen: UnseenData
    worlds: Comparison

    def as_data(self) -> dict[str, Any]:
        """Plain values."""
        data: dict[str, Any] = msgspec.to_builtins(
            {name: getattr(self, name) for name in self.__struct_fields__ if name != "worlds"}
        )
        return {**data, "worlds": self.worlds.as_data()}

    @property
    def has_failed_judgements(self) -> bool:
        """Whether a plugin failed where a decision was judged."""
        return any(tally.counts.get(Agreement.FAILED.value) for tally in self.one_step)

    def kpis(self, world: str) -> dict[str, Any]:
        """The KPIs of one world."""
        return next(each.kpis for each in self.worlds.configurations if each.name == world)


def findings(
    began: float,
    ended: float,
    tallies: Mapping[str, Tally],
    unseen: Unseen,
    meters: Mapping[str, Meter],
    errors: Mapping[str, tuple[str, ...]],
) -> Findings:
    """Close the meters and spans, and build the findings; meters and errors are by world."""
    unseen.close(ended)
    nodes = next(iter(meters.values())).costs.present
    runs = {
        name: [run_of(meter, began, ended, errors.get(name, ()))] for name, meter in meters.items()
    }
    return Findings(
        __version__,
        began,
        ended,
        nodes,
        [data_of(tally) for tally in tallies.values()],
        UnseenData(unseen.seconds, unseen.pods, list(unseen.spans)),
        compare("shadow", __version__, runs),
    )


def run_of(meter: Meter, began: float, ended: float, errors: tuple[str, ...] = ()) -> RunResult:
    """A world's KPIs, its curve, the waits of its pods, and its errors."""
    meter.settled(ended)
    kpis = kpi_summary.as_data(kpi_summary.summarize(meter))
    curve = tuple((time - began, moment) for time, moment in meter.samples.points)
    return RunResult(0, kpis, curve, tuple(meter.times.waits())[:MOST_WAITS], errors=errors)
