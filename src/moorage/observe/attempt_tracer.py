"""Traces of single attempts: each step with its time, verdicts folded, the best scores by plugin.

Attempts that took long to decide are always logged with their steps, as kube-scheduler's LogIfLong
does. At `-v 5` every attempt is logged in full, and below it a sample. If spans are exported, the
sampled attempts are exported too, binding included.
"""

import random
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from moorage.config.logging_policy import LogLevel
from moorage.framework.cycle import Step
from moorage.observe.decision_log import LogSink
from moorage.observe.prometheus_metrics import Metrics
from moorage.observe.records import Attempt, Bound, Result
from moorage.observe.step_timings import SLOW_SECONDS, Timer

TRACE_VERBOSITY: Final = 5
SAMPLED: Final = 0.001
"""The share of attempts that are traced in full at any verbosity."""
OPEN_KEPT: Final = 10_000
PLUGINS_TOLD: Final = 5
LOGGER_NAME: Final = "traces"
MESSAGE: Final = "Trace of an attempt"


class TraceTerms(NamedTuple):
    """Which attempts are traced: those slower than `slow_seconds`, and a share of all."""

    slow_seconds: float = SLOW_SECONDS
    sampled: float = SAMPLED


class SpanExporter(Protocol):
    """Exports traces."""

    def export(self, attempt: Attempt, timer: Timer, ended: float) -> None:
        """Export one attempt; `ended` is a time of the timer's clock."""


class _Told(NamedTuple):
    attempt: Attempt
    why: str
    steps: tuple[Step, ...]
    plugins: tuple[tuple[str, str, str, float, float], ...]
    refusals: Sequence[tuple[str, str, int]]
    best: Sequence[tuple[str, int, dict[str, int]]]


class AttemptTracer:
    """An observer that times attempts through `metrics`, and logs some of them."""

    def __init__(
        self,
        metrics: Metrics,
        sink: LogSink,
        *,
        terms: TraceTerms = TraceTerms(),  # noqa: B008 frozen: sharing it does no harm
        exporter: SpanExporter | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._metrics = metrics
        self._sink = sink
        self._exporter = exporter
        self._chance = chance
        self._open: OrderedDict[str, tuple[Timer, Attempt | None]] = OrderedDict()
        self.use(terms)

    def use(self, terms: TraceTerms) -> None:
        """Use these terms from now on."""
        self._terms = terms
        self._metrics.timings.slow_seconds = terms.slow_seconds

    def timer(self, profile: str, pod: str, attempt: str) -> Timer:
        """The timer of an attempt; decides whether the attempt is traced in full."""
        if not self._every and not self._chance() < self._terms.sampled:
            return self._metrics.timer(profile, pod, attempt)
        trace_id = "" if self._exporter is None else secrets.token_hex(16)
        timer = self._metrics.timer(profile, pod, attempt, detailed=True, trace_id=trace_id)
        self._open[attempt] = timer, None
        if len(self._open) > OPEN_KEPT:
            self._open.popitem(last=False)
        return timer

    @property
    def _every(self) -> bool:
        """Whether all attempts are traced: by verbosity, or by a rule of the log."""
        sink = self._sink
        return sink.verbosity >= TRACE_VERBOSITY or sink.levels.get("schedule") is LogLevel.DEBUG

    def attempted(self, attempt: Attempt) -> None:
        slow = self._metrics.timings.slow.pop(attempt.id, None)
        timer, before = self._open.get(attempt.id, (slow, None))
        if timer is None:
            return
        if before is None:
            why = "slow" if slow is not None else "sampled"
            why = "verbosity" if self._every and slow is None else why
            told = _Told(
                attempt,
                why,
                tuple(timer.trace),
                tuple(timer.plugins),
                timer.refusals,
                timer.best,
            )
            self._sink.writer.put(self._line, told)
        if attempt.result is Result.SCHEDULED and timer.detailed:
            self._open[attempt.id] = timer, attempt
        else:
            self._close(attempt, timer)

    def bound(self, bound: Bound) -> None:
        timer, attempt = self._open.get(bound.attempt, (None, None))
        if timer is not None and attempt is not None:
            self._close(attempt, timer)

    def _close(self, attempt: Attempt, timer: Timer) -> None:
        self._open.pop(attempt.id, None)
        if self._exporter is not None and timer.detailed:
            self._exporter.export(attempt, timer, self._metrics.timings.now())

    def _line(self, told: _Told) -> str:
        attempt = told.attempt
        fields: dict[str, Any] = {
            "pod": attempt.pod,
            "result": attempt.result.value,
            "why": told.why,
            "attempt": attempt.id,
            "ms": round(attempt.seconds * 1000, 3),
            "steps": _steps(told.steps),
            "plugins": _plugins(told.plugins),
            "verdicts": _verdicts(told.refusals),
            "scores": _scores(told.best),
            "trace": attempt.trace,
        }
        given = {name: value for name, value in fields.items() if value != ""}
        when = attempt.time + attempt.seconds
        return self._sink.render("I", TRACE_VERBOSITY, when, LOGGER_NAME, MESSAGE, given)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g}ms"


def _steps(steps: Sequence[Step]) -> str:
    ends = ((f"{point} {_ms(took)}", ended) for point, ended, _, took in steps)
    return ", ".join(text if ended == "Success" else f"{text} ({ended})" for text, ended in ends)


def _plugins(plugins: Sequence[tuple[str, str, str, float, float]]) -> str:
    slowest = sorted(plugins, key=lambda each: -each[4])[:PLUGINS_TOLD]
    return ", ".join(f"{point}/{plugin} {_ms(took)}" for point, plugin, _, _, took in slowest)


def _verdicts(refusals: Sequence[tuple[str, str, int]]) -> str:
    return "; ".join(f"{count} {plugin}: {why}" for plugin, why, count in refusals)


def _scores(best: Sequence[tuple[str, int, dict[str, int]]]) -> str:
    told = []
    for node, total, parts in best:
        ordered = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
        inner = ", ".join(f"{plugin} {score}" for plugin, score in ordered if score)
        told.append(f"{node} {total} ({inner})" if inner else f"{node} {total}")
    return "; ".join(told)
