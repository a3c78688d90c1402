"""The dashboard of `moorage run`: a scheduler with its lease, watches and configurations."""

from collections.abc import Callable
from typing import Any

from moorage.app.configuration_history import ConfigurationHistory
from moorage.app.dashboard_sources import scheduler_sources
from moorage.app.run_process import RunProcess
from moorage.dashboard.dashboard import Dashboard
from moorage.dashboard.health_view import ApiAnswers, HealthSource
from moorage.dashboard.sources import Explain
from moorage.feeds.feeds import Feed
from moorage.kube.leader_election import LeaderElector
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.prometheus_metrics import Metrics
from moorage.serve.health import Check, Health
from moorage.watch.reflector import Reflector


def run_dashboard(
    process: RunProcess,
    health: Health,
    *,
    records: DecisionRecords,
    metrics: Metrics,
    history: ConfigurationHistory,
    feeds: Callable[[], list[Feed]],
    explain: Explain | None = None,
) -> Dashboard:
    """The dashboard of one process; the number of its viewers is in `metrics`."""
    scheduler = process.scheduler
    sources = scheduler_sources(
        scheduler,
        records,
        "run",
        instance=process.identity,
        leader=lambda: process.elector is None or process.elector.leading,
        generation=lambda: process.in_force.generation,
        explain=explain,
        timings=metrics.timings,
        health=HealthSource(
            checks=lambda: _checks(health),
            leader=lambda: leader_facts(process.elector),
            watches=lambda: _watches(process),
            feeds=feeds,
            api=lambda: ApiAnswers(
                process.server.requests.durations(), process.server.requests.failed
            ),
        ),
    )
    compared = sources.compare._replace(generations=history.rows)
    dashboard = Dashboard(sources._replace(compare=compared))
    metrics.register(dashboard.viewers)
    return dashboard


def _checks(health: Health) -> list[Check]:
    """Every health check once, whichever endpoints have it."""
    by_name = {check.name: check for found in health.endpoints.values() for check in found}
    return list(by_name.values())


def leader_facts(elector: LeaderElector | None) -> dict[str, Any]:
    """The leader, the lease, and its seconds left; empty without leader election."""
    if elector is None:
        return {}
    return {
        "identity": elector.identity,
        "leading": elector.leading,
        "holder": elector.holder,
        "lease": f"{elector.terms.namespace}/{elector.terms.name}",
        "left_s": round(elector.seconds_left, 1) if elector.leading else None,
    }


def _watches(process: RunProcess) -> list[Reflector]:
    scheduler = process.scheduler
    return [*scheduler.reflectors.values(), *scheduler.optional_reflectors]
