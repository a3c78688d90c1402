"""The HTTP endpoints of `moorage run`; imported when its server opens, because it needs aiohttp."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from moorage.app.configuration_history import ConfigurationHistory
from moorage.app.http_service import serve_process
from moorage.app.inputs import RunOptions
from moorage.app.run_process import RunProcess
from moorage.feeds.feeds import Feed
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.logs import Logs
from moorage.observe.prometheus_metrics import Metrics
from moorage.serve.callers import Callers
from moorage.serve.health import Health
from moorage.serve.open_listener import OpenListener
from moorage.serve.questions import Question

if TYPE_CHECKING:
    from moorage.dashboard.dashboard import Dashboard
    from moorage.dashboard.sources import Explain
    from moorage.explain.live_answers import LiveAnswers


class Shown(NamedTuple):
    """What a run shows over HTTP."""

    metrics: Metrics
    logs: Logs
    decisions: DecisionRecords
    history: ConfigurationHistory
    feeds: Callable[[], list[Feed]]


async def serve_run(
    process: RunProcess,
    listeners: Sequence[OpenListener],
    callers: Callers,
    *,
    options: RunOptions,
    shown: Shown,
) -> None:
    """Serve for as long as the process lasts."""

    def pages(health: Health) -> "Dashboard | None":
        return _dashboard(process, health, options, shown)

    await serve_process(
        process,
        listeners,
        callers,
        metrics=shown.metrics,
        logs=shown.logs,
        decisions=shown.decisions,
        questions=_questions(process, options),
        pages=pages,
    )


def _dashboard(
    process: RunProcess, health: Health, options: RunOptions, shown: Shown
) -> "Dashboard | None":
    if not options.dashboard:
        return None
    from moorage.app.run_dashboard import run_dashboard  # few use it

    return run_dashboard(
        process,
        health,
        records=shown.decisions,
        metrics=shown.metrics,
        history=shown.history,
        feeds=shown.feeds,
        explain=_explain(process, options),
    )


def _questions(process: RunProcess, options: RunOptions) -> dict[str, Question]:
    """The questions that are answered; none unless they are enabled."""
    if not options.enable_explain:
        return {}
    return {"/debug/explain": Question(_answers(process).answer)}


def _explain(process: RunProcess, options: RunOptions) -> "Explain | None":
    """Explains pods for the dashboard; None unless explanations are enabled."""
    if not options.enable_explain:
        return None
    from moorage.explain.live_answers import WHOLE_CLUSTER  # few use it, and it imports slowly

    answers = _answers(process)
    return lambda pod: answers.explain({"pod": pod}, WHOLE_CLUSTER)


def _answers(process: RunProcess) -> "LiveAnswers":
    from moorage.explain.live_answers import LiveAnswers

    return LiveAnswers(process.scheduler)
