"""Configurations side by side: KPIs of each, and how they differ, seed by seed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from moorage.kpi.summary import flat
from moorage.simulate.scenario_run import RunResult
from moorage.simulate.student_t import Interval, mean_interval, paired_interval


class Difference(msgspec.Struct, frozen=True):
    """A KPI of the second configuration less that of the first, over the same seeds."""

    kpi: str
    configurations: tuple[str, str]
    mean: float
    low: float | None
    high: float | None

    @property
    def is_significant(self) -> bool:
        """Whether chance cannot explain it: the interval excludes zero."""
        return Interval(self.mean, self.low, self.high).excludes_zero


class Outcome(msgspec.Struct, frozen=True):
    """One configuration: the mean KPIs over all seeds, and the result of each seed."""

    name: str
    kpis: dict[str, Any]
    intervals: dict[str, Interval]
    seeds: tuple[RunResult, ...]


class Comparison(msgspec.Struct, frozen=True):
    """The outcomes of several configurations, and their differences."""

    scenario: str
    version: str
    configurations: tuple[Outcome, ...]
    differences: tuple[Difference, ...]

    def as_data(self) -> dict[str, Any]:
        """The comparison as plain values."""
        return {
            "scenario": self.scenario,
            "version": self.version,
            "configurations": [_data(outcome) for outcome in self.configurations],
            "differences": [msgspec.to_builtins(each) for each in self.differences],
        }


def compare(scenario: str, version: str, results: Mapping[str, Sequence[RunResult]]) -> Comparison:
    """Compare the named configurations; each pair over the seeds that both have."""
    outcomes = tuple(_outcome(name, found) for name, found in results.items() if found)
    return Comparison(scenario, version, outcomes, tuple(_differences(results)))


def _outcome(name: str, found: Sequence[RunResult]) -> Outcome:
    listed = tuple(sorted(found, key=lambda result: result.seed))
    columns = [dict(flat(result.kpis)) for result in listed]
    intervals = {
        path: _rounded(mean_interval([column[path] for column in columns]))
        for path in columns[0]
        if all(path in column for column in columns)
    }
    return Outcome(name, _mean([result.kpis for result in listed]), intervals, listed)


def _differences(results: Mapping[str, Sequence[RunResult]]) -> Iterator[Difference]:
    for first, second in combinations(results, 2):
        ones = {result.seed: dict(flat(result.kpis)) for result in results[first]}
        others = {result.seed: dict(flat(result.kpis)) for result in results[second]}
        seeds = sorted(ones.keys() & others.keys())
        if not seeds:
            continue
        for path in ones[seeds[0]]:
            pairs = [(ones[seed].get(path), others[seed].get(path)) for seed in seeds]
            known = [(a, b) for a, b in pairs if a is not None and b is not None]
            if len(known) == len(seeds):
                found = _rounded(paired_interval([a for a, _ in known], [b for _, b in known]))
                yield Difference(path, (first, second), found.mean, found.low, found.high)


def _mean(values: Sequence[Any]) -> Any:
    """The mean of equally shaped values, number by number; a None is skipped."""
    if all(isinstance(value, dict) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {name: _mean([value[name] for value in values if name in value]) for name in names}
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = math.fsum(known) / len(known)
    whole = all(isinstance(value, int) for value in known) and mean == int(mean)
    return int(mean) if whole else _round(mean)


def _data(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "kpis": outcome.kpis,
        "intervals": {path: msgspec.to_builtins(each) for path, each in outcome.intervals.items()},
        "seeds": [
            {"seed": result.seed, "kpis": result.kpis}
            | ({"errors": list(result.errors)} if result.errors else {})
            | ({"note": result.gave_up} if result.gave_up else {})
            for result in outcome.seeds
        ],
    }


def _rounded(found: Interval) -> Interval:
    ends = (found.low, found.high)
    low, high = (None if end is None else _round(end) for end in ends)
    return Interval(_round(found.mean), low, high)


def _round(value: float) -> float:
    return float(f"{value:.9g}")
