"""The last attempts as JSON, newest first, with their rates, their steps and a timeline."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Raw
from msgspec.json import Encoder

from moorage.api.annotations import read_int
from moorage.dashboard.decision_columns import DecisionColumns, quantiles
from moorage.dashboard.health_view import tally_quantile
from moorage.dashboard.slices import at_once, between_attempts, sliced
from moorage.observe.decision_records import CAPACITY, DecisionRecord, DecisionRecords
from moorage.observe.metric_families import Tally
from moorage.observe.step_timings import Timings
from moorage.serve.decisions import DecisionFilter

_ENCODE: Final = Encoder().encode
STEPS_OF: Final = 500
"""How many of the last attempts count for the durations of steps."""


class DecisionQuery(NamedTuple):
    """Which records to return, newest first: before a number, and at or before a time."""

    wanted: DecisionFilter
    before: int
    at: float | None = None
    begin: float | None = None
    """The start of the timeline, which ends at `at`."""

    @classmethod
    def of(cls, query: Mapping[str, str], count: int) -> "DecisionQuery":
        """The query of a query string; ValueError names an invalid parameter."""
        text = query.get("before") or query.get("continue") or str(count + 1)
        before = read_int(text)
        if before is None:
            raise ValueError(f"before={text}: not a number")
        plain = {name: value for name, value in query.items() if name != "continue"}
        moments = (_moment(query, name) for name in ("at", "from"))
        return cls(DecisionFilter.of(plain), before, *moments)

    def takes(self, record: DecisionRecord) -> bool:
        """Whether the query includes a record."""
        return (self.at is None or record.time <= self.at) and self.wanted.takes(record)


class DecisionView:
    """Answers requests for decision records."""

    def __init__(
        self,
        records: DecisionRecords,
        now: Callable[[], float],
        timings: Timings | None = None,
        capacity: int = CAPACITY,
    ) -> None:
        self.records = records
        self._now = now
        self._timings = timings
        self._columns = DecisionColumns(records, capacity)

    def catch_up(self) -> None:
        """Read the records added since the last look."""
        self._columns.catch_up()

    async def page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """One page of records, the token for the next page, and statistics of all records."""
        asked = DecisionQuery.of(query, self.records.count)
        self.catch_up()
        found = [each for each in await sliced(at_once, self._found(asked)) if each is not None]
        limit = asked.wanted.limit
        more = len(found) > limit
        items = found[:limit]
        until = asked.at if asked.begin else None
        steps = await self.steps()
        timeline = await between_attempts(
            at_once, lambda: self._columns.timeline(asked.begin, until)
        )
        return {
            "items": await sliced(at_once, (Raw(_ENCODE(each)) for each in items)),
            "continue": str(items[-1].number) if more and items else "",
            "rates": self.rates(),
            "steps": steps,
            "timeline": timeline,
        }

    def rates(self) -> dict[str, float | None]:
        """Attempts per second, and how long they take."""
        return self._columns.rates(self._now())

    async def steps(self) -> list[dict[str, Any]]:
        """How long each step took in the last attempts."""
        took: dict[str, list[float]] = {}
        for record in await sliced(at_once, self._last(STEPS_OF)):
            for point, ms in record.steps.items():
                took.setdefault(point, []).append(ms)
        points = await sliced(at_once, (_step(point, each) for point, each in took.items()))
        return [*points, *([] if self._timings is None else _plugin_steps(self._timings))]

    def _last(self, most: int) -> Iterator[DecisionRecord]:
        records = self.records.before(self.records.count + 1)
        return (record for record, _ in zip(records, range(most), strict=False))

    def _found(self, asked: DecisionQuery) -> Iterator[DecisionRecord | None]:
        """Matching records, one more than requested; None for each other record, as a pause."""
        pod, left = asked.wanted.pod, asked.wanted.limit + 1
        records = (
            (each for each in reversed(self.records.of_pod(pod)) if each.number < asked.before)
            if pod
            else self.records.before(asked.before)
        )
        for record in records:
            if record.number <= asked.wanted.since:
                return
            if not asked.takes(record):
                yield None
                continue
            yield record
            left -= 1
            if not left:
                return


def _step(point: str, took: list[float]) -> dict[str, Any]:
    p50, p99 = quantiles(took, 0.5, 0.99)
    return {"step": point, "plugin": "", "p50_ms": p50, "p99_ms": p99, "calls": len(took)}


def _plugin_steps(timings: Timings) -> list[dict[str, Any]]:
    """How long each plugin takes at each point, from the attempts timed in such detail."""
    found: dict[tuple[str, str], Tally] = {}
    for (plugin, point, _), tally in timings.plugins.items():
        found.setdefault((point, plugin), Tally(tally.bounds)).add(tally)
    return [
        {
            "step": point,
            "plugin": plugin,
            "p50_ms": tally_quantile(tally, 0.5),
            "p99_ms": tally_quantile(tally, 0.99),
            "calls": tally.count,
        }
        for (point, plugin), tally in found.items()
    ]


def _moment(query: Mapping[str, str], name: str) -> float | None:
    text = query.get(name)
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name}={text}: not a moment: write seconds since the epoch") from None
