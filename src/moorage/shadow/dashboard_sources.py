"""What the dashboard of a shadow shows: the true cluster, and each judgement as a decision."""

from collections.abc import Sequence
from math import sqrt
from typing import Any, Final

import msgspec

from moorage.app.dashboard_sources import scheduler_sources
from moorage.dashboard.health_view import HealthSource
from moorage.dashboard.sources import Sources
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.records import Attempt, Result
from moorage.serve.health import Check
from moorage.shadow.judgement import Judgement
from moorage.shadow.process import Shadow
from moorage.shadow.tally import Tally, data_of

SURE: Final = 1.96
"""The half-width of a 95 % interval, in standard errors."""
SHOWN: Final = 20


class JudgementRecords:
    """Keeps judgements as decision records: the decision, and the judgement of a configuration."""

    def __init__(self, records: DecisionRecords) -> None:
        self._records = records

    def judged(self, judged: Judgement) -> None:
        """Keep one judgement."""
        self._records.attempted(
            Attempt(
                id=f"{self._records.count + 1:x}",
                pod=judged.pod,
                uid=judged.pod,
                profile=judged.configuration,
                result=Result.SCHEDULED if judged.node else Result.UNSCHEDULABLE,
                time=judged.time,
                node=judged.node,
                message=_message(judged),
            )
        )


def shadow_sources(shadow: Shadow, records: DecisionRecords, checks: Sequence[Check]) -> Sources:
    """The dashboard's sources for one shadow; `records` keeps its judgements."""
    health = HealthSource(checks=lambda: checks, watches=shadow.reflectors)
    sources = scheduler_sources(shadow.scheduler, records, "shadow", health=health)
    compared = sources.compare._replace(shadow=lambda: _found(shadow), kpis=lambda: _kpis(shadow))
    return sources._replace(compare=compared)


def _message(judged: Judgement) -> str:
    better = f"; best here: {judged.best}" if judged.best and not judged.agrees else ""
    return f"{judged.scheduler}: {judged.agreement.value}{better}{_because(judged)}"


def _because(judged: Judgement) -> str:
    return f" ({judged.reason})" if judged.reason else ""


def _found(shadow: Shadow) -> dict[str, Any]:
    return {
        "since": shadow.began,
        "unseen_s": round(shadow.unseen.seconds, 1),
        "unseen_pods": shadow.unseen.pods,
        "one_step": [_tally(each) for each in shadow.tallies.values()],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(data_of(tally))
    return {**data, "disagreements": data["disagreements"][-SHOWN:]}


def _kpis(shadow: Shadow) -> list[dict[str, Any]]:
    """Agreement with its interval, and the current KPIs of the worlds."""
    tallies = [each for each in shadow.tallies.values() if each.placed]
    rows = []
    if tallies:
        shares = [wilson(each.agreeing, each.placed) for each in tallies]
        rows.append(_row("agreement", [each.configuration for each in tallies], shares))
    worlds = shadow.meters
    if len(worlds) > 1:
        now = {
            "pods waiting": [float(each.waiting) for each in worlds.values()],
            "nodes in use": [float(each.costs.in_use) for each in worlds.values()],
            "cost per hour": [each.costs.hourly() for each in worlds.values()],
        }
        rows += [_row(kpi, list(worlds), [(v, v, v) for v in found]) for kpi, found in now.items()]
    return rows


def _row(kpi: str, names: list[str], found: list[tuple[float, float, float]]) -> dict[str, Any]:
    mean, low, high = (list(each) for each in zip(*found, strict=True))
    return {"kpi": kpi, "configurations": names, "mean": mean, "low": low, "high": high}


def wilson(hits: int, of: int) -> tuple[float, float, float]:
    """A share with its 95 % Wilson interval."""
    share, square = hits / of, SURE**2
    middle = (share + square / (2 * of)) / (1 + square / of)
    wide = SURE * sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return round(share, 4), round(max(0.0, middle - wide), 4), round(min(1.0, middle + wide), 4)
