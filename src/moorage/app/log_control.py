"""Applies the `logging` settings of each configuration: log, traces and latency conditions."""

import asyncio

from moorage.app.config_bundle import ConfigBundle
from moorage.app.run_process import RunProcess
from moorage.bind.latency_condition import LatencyConditions
from moorage.config.logging_policy import LoggingSettings
from moorage.observe.attempt_tracer import AttemptTracer, TraceTerms
from moorage.observe.logs import Logs


class LogControl:
    """Applies the `logging` settings of each configuration that takes over."""

    def __init__(self, log: Logs, tracer: AttemptTracer) -> None:
        self._log = log
        self._tracer = tracer
        self._settings = LoggingSettings()
        self._conditions: LatencyConditions | None = None

    def apply(self, whole: ConfigBundle) -> None:
        """Apply the settings of a configuration that takes over."""
        self._settings = settings = whole.logging
        self._log.use(settings)
        self._tracer.use(TraceTerms(settings.trace_longer_than.seconds, settings.trace_share))
        if self._conditions is not None:
            self._conditions.enabled = settings.scheduler_latency

    async def service(self, process: RunProcess) -> None:
        """Write latencies to pods if configured, for as long as the process lasts."""
        enabled = self._settings.scheduler_latency
        self._conditions = LatencyConditions(process.server, enabled)
        process.scheduler.observers.add(self._conditions)
        await asyncio.Event().wait()
