"""Which workloads gain and which lose when one configuration replaces another."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from moorage.simulate.comparison import Comparison, Difference

Verdict = Literal["gained", "lost"]
_LOOKED_AT: Final = ("never_placed", "wait_s.mean", "completion_s.mean")
"""What a workload is judged by, in this order; less of each is better."""


class WorkloadChange(msgspec.Struct, frozen=True):
    """A workload with a significant difference between two configurations."""

    workload: str
    configurations: tuple[str, str]
    verdict: Verdict
    kpi: str
    mean: float
    low: float | None
    high: float | None


def workload_changes(found: Comparison) -> list[WorkloadChange]:
    """The workloads that changed, the largest losses first and the largest gains last."""
    changes = list(_changes(found.differences))
    return sorted(changes, key=lambda change: (-change.mean, change.workload))


def _changes(differences: Iterable[Difference]) -> Iterator[WorkloadChange]:
    by_workload: dict[tuple[str, tuple[str, str]], dict[str, Difference]] = {}
    for difference in differences:
        group, _, rest = difference.kpi.partition(".")
        kpi = next((each for each in _LOOKED_AT if rest.endswith(f".{each}")), None)
        if group == "by_workload" and kpi is not None:
            workload = rest.removesuffix(f".{kpi}")
            by_workload.setdefault((workload, difference.configurations), {})[kpi] = difference
    for (workload, configurations), found in by_workload.items():
        for kpi in _LOOKED_AT:
            change = found.get(kpi)
            if change is not None and change.is_significant:
                verdict: Verdict = "gained" if change.mean < 0 else "lost"
                yield WorkloadChange(
                    workload, configurations, verdict, kpi, change.mean, change.low, change.high
                )
                break
