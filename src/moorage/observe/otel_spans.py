"""OpenTelemetry export of traced attempts: one span per attempt, one per step (extra `otel`).

Spans are sent by OTLP over HTTP, in batches, from the SDK's own thread. Without a reachable
collector spans are lost, and decisions are not affected.
"""

import secrets
import time
from collections.abc import Callable
from typing import Any, Final

from moorage import __version__
from moorage.observe.records import Attempt, Result
from moorage.observe.step_timings import Timer

MISSING: Final = (
    "spans cannot be exported: install OpenTelemetry with `pip install moorage[otel]`, or leave "
    "out --otlp-endpoint"
)
SERVICE: Final = "moorage"


class OtelMissing(Exception):
    """The extra is not installed."""


class _Ids:
    """An id generator that gives the next trace the id in the log and in events."""

    def __init__(self, others: Any) -> None:
        self.trace = 0
        self._others = others

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return int(self._others.generate_span_id())

    def is_trace_id_random(self) -> bool:
        return True


class OtelSpans:
    """Exports spans; `wall` minus `steady` converts the timer's times to wall clock time."""

    def __init__(
        self,
        processor: Any,
        *,
        instance: str = "",
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.perf_counter,
    ) -> None:
        try:
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
        except ImportError:
            raise OtelMissing(MISSING) from None

        self._ids = _Ids(RandomIdGenerator())
        about = {"service.name": SERVICE, "service.version": __version__}
        about |= {"service.instance.id": instance} if instance else {}
        self._provider = TracerProvider(
            id_generator=self._ids, resource=Resource.create(about), shutdown_on_exit=False
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("moorage.attempts", __version__)
        self._offset = wall() - steady()

    def export(self, attempt: Attempt, timer: Timer, ended: float) -> None:
        """Export spans of one attempt, of its steps, and of the plugins within each step."""
        from opentelemetry import trace
        from opentelemetry.context import Context

        self._ids.trace = int(timer.trace_id or secrets.token_hex(16), 16)
        whole = self._tracer.start_span(
            "Scheduling",
            context=Context(),
            start_time=self._nanoseconds(timer.began),
            attributes=_attributes(attempt, timer),
        )
        if attempt.result is Result.ERROR:
            whole.set_status(trace.Status(trace.StatusCode.ERROR, attempt.message))
        within = trace.set_span_in_context(whole, Context())
        for point, status, began, seconds in timer.trace:
            step = self._span(point, began, seconds, within, {"status": status})
            inside = trace.set_span_in_context(step, Context())
            for at, plugin, outcome, started, took in timer.plugins:
                if at == point:
                    self._span(f"{at}/{plugin}", started, took, inside, {"status": outcome})
        whole.end(self._nanoseconds(ended))

    def close(self) -> None:
        """Send the remaining spans."""
        self._provider.shutdown()

    def _span(
        self, name: str, began: float, seconds: float, within: Any, attributes: dict[str, str]
    ) -> Any:
        span = self._tracer.start_span(
            name, context=within, start_time=self._nanoseconds(began), attributes=attributes
        )
        span.end(self._nanoseconds(began + seconds))
        return span

    def _nanoseconds(self, steady: float) -> int:
        return int((steady + self._offset) * 1e9)


def _attributes(attempt: Attempt, timer: Timer) -> dict[str, Any]:
    namespace, _, name = attempt.pod.partition("/")
    return {
        "k8s.namespace.name": namespace,
        "k8s.pod.name": name,
        "k8s.pod.uid": attempt.uid,
        "k8s.node.name": attempt.node,
        "moorage.attempt": attempt.id,
        "moorage.profile": attempt.profile,
        "moorage.result": attempt.result.value,
        "moorage.message": attempt.message,
        "moorage.score": attempt.score,
        "moorage.feasible": attempt.feasible,
        "moorage.refusals": [f"{count} {plugin}: {why}" for plugin, why, count in timer.refusals],
        "moorage.best": [f"{node} {total}" for node, total, _ in timer.best],
    }


def otlp_spans(endpoint: str, instance: str = "") -> OtelSpans:
    """Spans to an OTLP collector at a URL such as http://localhost:4318."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise OtelMissing(MISSING) from None
    url = endpoint if endpoint.endswith("/v1/traces") else f"{endpoint.rstrip('/')}/v1/traces"
    return OtelSpans(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)), instance=instance)
