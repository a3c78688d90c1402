"""The KPIs of a run as data, and as a flat list of numbers to compare."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from moorage.kpi.meter import Meter
from moorage.kpi.pod_times import TimesSummary
from moorage.kpi.quantiles import Quantiles

DIGITS: Final = 9
"""Significant digits to keep: the last few digits of a float depend on the machine."""


MOST_WORKLOADS: Final = 200
"""How many workloads are reported separately."""


class Kpis(msgspec.Struct, frozen=True, kw_only=True):
    """What one run was worth; docs/kpis.md says what each number means."""

    pods: int
    finished: int
    never_placed: int
    gangs: int
    gangs_never_placed: int
    wait_s: Quantiles
    completion_s: Quantiles
    makespan_s: float
    slo_attained: float | None
    utilisation: dict[str, float]
    allocation: dict[str, float]
    allocation_peak: dict[str, float]
    allocation_end: dict[str, float]
    fragmentation: dict[str, float]
    balance: dict[str, float]
    spread_kept: float | None
    cost: float
    cost_provisioned: float
    cost_by_namespace: dict[str, float]
    nodes_used: int
    nodes_used_mean: float
    nodes_used_peak: int
    evictions: int
    rejections: int
    work_lost_s: float
    fairness: float
    dominant_share: dict[str, float]
    attempts_per_pod: float
    decisions_per_s: float | None
    by_class: dict[str, TimesSummary]
    by_tenant: dict[str, TimesSummary]
    by_priority: dict[str, TimesSummary]
    by_workload: dict[str, TimesSummary]


def summarize(meter: Meter) -> Kpis:
    """Finish a meter and compute its KPIs."""
    end = meter.finish()
    length, times = end - meter.start, meter.times
    everyone = times.summary()
    resources = meter.totals.means(end)
    pods = everyone.pods
    within = times.within(meter.settings.slo_wait_seconds)
    return _rounded(
        Kpis(
            pods=pods,
            finished=times.finished,
            never_placed=everyone.never_placed,
            gangs=meter.gangs,
            gangs_never_placed=meter.gangs_never_placed,
            wait_s=everyone.wait_s,
            completion_s=everyone.completion_s,
            makespan_s=length,
            slo_attained=within / pods if pods else None,
            utilisation=_known({name: each.utilisation for name, each in resources.items()}),
            allocation=_known({name: each.allocation for name, each in resources.items()}),
            allocation_peak={name: each.peak for name, each in resources.items()},
            allocation_end=_known({name: each.end for name, each in resources.items()}),
            fragmentation=_mean_fragmentation(meter),
            balance=_known({name: each.balance for name, each in resources.items()}),
            spread_kept=meter.spread.share(),
            cost=meter.costs.cost(),
            cost_provisioned=meter.costs.provisioned(end),
            cost_by_namespace=meter.costs.by_tenant(),
            nodes_used=meter.costs.used,
            nodes_used_mean=meter.costs.mean_in_use(length),
            nodes_used_peak=meter.costs.peak,
            evictions=meter.evictions,
            rejections=meter.rejections,
            work_lost_s=meter.work_lost,
            fairness=meter.fairness.index(end),
            dominant_share=meter.fairness.shares(meter.start, end),
            attempts_per_pod=meter.attempts / pods if pods else 0.0,
            decisions_per_s=meter.attempts / length if length else None,
            by_class=times.by(lambda kind: kind.cls),
            by_tenant=times.by(lambda kind: kind.tenant),
            by_priority=times.by(lambda kind: str(kind.priority)),
            by_workload=_few(times.by(lambda kind: kind.workload)),
        )
    )


def as_data(kpis: Kpis) -> dict[str, Any]:
    """The KPIs as plain values."""
    data: dict[str, Any] = msgspec.to_builtins(kpis)
    return data


def flat(kpis: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, float]]:
    """Every number with its path: `wait_s.p95`, `by_tenant.team-a.never_placed`."""
    for name, value in kpis.items():
        path = f"{within}.{name}" if within else name
        if isinstance(value, Mapping):
            yield from flat(value, path)
        elif value is not None:
            yield path, float(value)


def _mean_fragmentation(meter: Meter) -> dict[str, float]:
    """The mean over the samples, by resource; samples are equally far apart."""
    seen: dict[str, list[float]] = {}
    for _, moment in meter.samples.points:
        for name, share in moment.fragmentation.items():
            seen.setdefault(name, []).append(share)
    return {name: sum(shares) / len(shares) for name, shares in sorted(seen.items())}


def _few(workloads: dict[str, TimesSummary]) -> dict[str, TimesSummary]:
    """The workloads with the most pods; pods without a workload do not count."""
    named = {name: found for name, found in workloads.items() if name}
    if len(named) <= MOST_WORKLOADS:
        return named
    largest = sorted(named, key=lambda name: (-named[name].pods, name))[:MOST_WORKLOADS]
    return {name: named[name] for name in sorted(largest)}


def _known(values: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def _rounded(kpis: Kpis) -> Kpis:
    return msgspec.convert(_round(msgspec.to_builtins(kpis)), Kpis)


def _round(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _round(inner) for name, inner in value.items()}
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
