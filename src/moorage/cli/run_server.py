"""The HTTP endpoints of `moorage run`; imported when its server opens, because it needs aiohttp."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from moorage.app.configuration_history import ConfigurationHistory
from moorage.app.http_service import serve_process
from moorage.app.inputs import RunOptions
from moorage.app.run_process import RunProcess
from moorage.config import yaml_dump
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
    kubeconfig: str,
    shown: Shown,
) -> None:
    """Serve for as long as the process lasts."""

    def pages(health: Health) -> "Dashboard | None":
        return _dashboard(process, health, options, kubeconfig, shown)

    await serve_process(
        process,
        listeners,
        callers,
        metrics=shown.metrics,
        logs=shown.logs,
        decisions=shown.decisions,
        questions=_questions(process, options, kubeconfig),
        pages=pages,
    )


def _dashboard(
    process: RunProcess, health: Health, options: RunOptions, kubeconfig: str, shown: Shown
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
        explain=_explain(process, options, kubeconfig),
    )


def _questions(process: RunProcess, options: RunOptions, kubeconfig: str) -> dict[str, Question]:
    """The questions that are answered; none unless they are enabled."""
    if not (options.enable_explain or options.enable_whatif):
        return {}
    answers, found = _answers(process, options, kubeconfig), dict[str, Question]()
    if options.enable_explain:
        found["/debug/explain"] = Question(answers.explain)
    if options.enable_whatif:
        found["/debug/whatif"] = Question(answers.whatif)
    return found


def _explain(process: RunProcess, options: RunOptions, kubeconfig: str) -> "Explain | None":
    """Explains pods for the dashboard; None unless explanations are enabled."""
    if not options.enable_explain:
        return None
    answers = _answers(process, options, kubeconfig)
    return lambda pod: answers.explain({"pod": pod})


def _answers(process: RunProcess, options: RunOptions, kubeconfig: str) -> "LiveAnswers":
    from moorage.explain.live_answers import LiveAnswers  # few use it, and it imports slowly
    from moorage.explain.process_answers import ProcessAnswers, cluster_options

    beside = ProcessAnswers(
        cluster_options(kubeconfig, options.context, options.plugins),
        lambda: yaml_dump.dump_configuration(process.in_force.configuration),
    )
    return LiveAnswers(process.scheduler, beside)
