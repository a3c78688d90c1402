"""The limits of a canary: how much worse than the stable version it may do before a rollback."""

import msgspec

from moorage.config.durations import Duration
from moorage.config.field_errors import Path, Report, invalid
from moorage.config.types import ConfigStruct, Int32

AT: Path = ("spec", "rollback")


class Rollback(ConfigStruct, frozen=True):
    """When a canary is rolled back; null means no limit.

    `max_failure_rate` and `max_latency` are about the canary alone, over its last `window` pods.
    All others compare it with the stable version, and count only if the difference is significant,
    at the `confidence` of all comparisons together.
    """

    min_pods: Int32 = 20
    window: Int32 = 200
    confidence: float = 0.95
    max_failure_rate: float | None = 0.5
    max_latency: Duration | None = None
    max_failure_rate_increase: float | None = 0.1
    max_latency_ratio: float | None = 3.0
    max_wait_increase: Duration | None = Duration.of_seconds(10)
    max_evictions_increase: float | None = 0.1
    max_cost_ratio: float | None = 2.0
    max_utilisation_decrease: float | None = None
    max_balance_decrease: float | None = None
    max_spread_decrease: float | None = None


_SHARES = (
    "max_failure_rate",
    "max_failure_rate_increase",
    "max_utilisation_decrease",
    "max_balance_decrease",
    "max_spread_decrease",
)
_RATIOS = ("max_latency_ratio", "max_cost_ratio")
_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(Rollback)}


def check_rollback(rollback: Rollback, report: Report) -> None:
    """Report invalid limits."""
    _check_evidence(rollback, report)
    for name in _SHARES:
        share = getattr(rollback, name)
        if share is not None and not 0 <= share <= 1:
            _report(report, name, share, "is a share: must be between 0 and 1")
    for name in _RATIOS:
        ratio = getattr(rollback, name)
        if ratio is not None and ratio < 1:
            _report(report, name, ratio, "must be 1 or more")
    if rollback.max_latency is not None and rollback.max_latency <= 0:
        _report(report, "max_latency", rollback.max_latency, "must be greater than zero")
    for name in ("max_wait_increase", "max_evictions_increase"):
        amount = getattr(rollback, name)
        if amount is not None and amount < 0:
            _report(report, name, amount, "must be 0 or more")


def _check_evidence(rollback: Rollback, report: Report) -> None:
    if rollback.min_pods < 1:
        _report(report, "min_pods", rollback.min_pods, "must be greater than 0")
    if rollback.window < rollback.min_pods:
        detail = "must be greater than or equal to minPods"
        _report(report, "window", rollback.window, detail)
    if not 0.5 <= rollback.confidence <= 0.9999:
        detail = "is a share: must be between 0.5 and 0.9999"
        _report(report, "confidence", rollback.confidence, detail)


def _report(report: Report, name: str, value: object, detail: str) -> None:
    report.problem((*AT, _NAMES[name]), invalid(value, detail))
