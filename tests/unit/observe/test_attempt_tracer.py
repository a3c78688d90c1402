"""Traces of attempts: which are told, and what they tell."""

import asyncio
import gzip
import http.server
import io
import random
import threading
import time
from typing import Any, ClassVar

import msgspec
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from moorage import Cycle, Filter, Node, Pod, Rejection
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.bind.event_recorder import TRACE_ANNOTATION
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.config.logging_policy import LoggingRule, LoggingSettings, LogLevel
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe import logs
from moorage.observe.attempt_tracer import MESSAGE, AttemptTracer, SpanExporter, TraceTerms
from moorage.observe.otel_spans import OtelSpans, otlp_spans
from moorage.observe.prometheus_metrics import Metrics
from moorage.testing import node, pod
from moorage.watch.api_resources import EVENTS, PODS
from tests.extending import POLL_SECONDS

SLOW = 0.4
"""Longer than anything that an attempt does for the first time in a process."""


class Dawdles(Filter, frozen=True):
    """Takes its time over one pod."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if pod.name == "slow" and node.name == "a":
            time.sleep(SLOW + 0.02)
        return None


def traces(
    verbosity: int = 0,
    terms: TraceTerms = TraceTerms(sampled=0.0),  # noqa: B008 frozen
    settings: LoggingSettings = LoggingSettings(),  # noqa: B008 frozen
    exporter: SpanExporter | None = None,
    seed: int = 0,
) -> tuple[dict[str, dict[str, Any]], MemoryCluster]:
    """What is told of five pods on three nodes, by the pod; and the cluster afterwards."""
    clock, stream = VirtualClock(1000.0), io.StringIO()
    cluster = MemoryCluster(clock=clock, rng=random.Random(1))
    for name in ("a", "b"):
        cluster.apply({"apiVersion": "v1", "kind": "Node", **node(name).offering(cpu="8").raw})
    small = node("c").offering(cpu="100m")
    cluster.apply({"apiVersion": "v1", "kind": "Node", **small.raw})
    for made in (pod("web").requesting(cpu="1"), pod("slow"), pod("huge").requesting(cpu="99")):
        cluster.apply({"apiVersion": "v1", "kind": "Pod", **made.raw})
    known = built_in_plugins.built_in()
    known.add(Dawdles)
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Dawdles"}]}}}],
    }
    described = built_in_plugins.describe_plugins(known)
    profiles = build_profiles(load(config, known=described).configuration, known)
    log = logs.configure(verbosity, "json", stream)
    log.use(settings)
    metrics = Metrics()
    tracer = AttemptTracer(metrics, log, terms=terms, exporter=exporter)

    async def main() -> None:
        observers = (tracer, metrics, log.decisions())
        rng = random.Random(seed)
        scheduler = assemble(cluster, profiles, clock=clock, rng=rng, observers=observers)
        running = asyncio.ensure_future(scheduler.run())
        await clock.sleep(0.5)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert scheduler.observers.switched_off == []

    try:
        run_virtual(main(), clock)
    finally:
        log.close()
    said = [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]
    return {line["pod"]: line for line in said if line["msg"] == MESSAGE}, cluster


def test_a_slow_attempt_is_always_told_with_its_steps() -> None:
    traces()  # the first attempts of a process take longer than any other
    told, _ = traces(terms=TraceTerms(slow_seconds=SLOW, sampled=0.0))

    assert TraceTerms().slow_seconds == 0.1, "kube-scheduler's own measure"
    assert set(told) == {"default/slow"}
    slow = told["default/slow"]
    assert slow["why"] == "slow"
    steps = dict(step.split(" ")[:2] for step in slow["steps"].split(", "))
    assert {"PreFilter", "Filter", "PreScore", "Score"} <= set(steps)
    assert float(steps["Filter"].removesuffix("ms")) > SLOW * 1000


def test_what_is_slow_is_a_setting() -> None:
    assert traces(terms=TraceTerms(slow_seconds=60.0, sampled=0.0))[0] == {}


def test_at_verbosity_5_every_attempt_is_told_with_verdicts_and_scores() -> None:
    told, _ = traces(verbosity=5)

    assert set(told) == {"default/web", "default/slow", "default/huge"}
    web, huge = told["default/web"], told["default/huge"]
    assert web["verdicts"] == "1 NodeResourcesFit: Insufficient cpu"
    assert web["scores"].startswith(("a ", "b "))
    assert "NodeResourcesFit" in web["scores"]
    assert len(web["scores"].split("; ")) == 2
    assert huge["verdicts"] == (
        "3 NodeResourcesFit: Insufficient cpu (cpu: 99 asked, 8 free at most)"
    )
    assert "PostFilter" in huge["steps"]
    assert "Filter/" in web["plugins"]


def test_at_any_verbosity_a_sample_is_told() -> None:
    told, _ = traces(terms=TraceTerms(sampled=1.0))

    assert {line["why"] for line in told.values()} == {"sampled", "slow"}
    assert "scores" in told["default/web"]


def test_a_rule_of_the_log_may_ask_for_all() -> None:
    rules = (LoggingRule(level=LogLevel.DEBUG, verbs=("schedule",)),)
    told, _ = traces(settings=LoggingSettings(rules=rules))

    assert set(told) == {"default/web", "default/slow", "default/huge"}


def test_being_traced_changes_no_decision() -> None:
    def placed(**how: Any) -> list[dict[str, str]]:
        return [
            {
                found.name: found.spec.node_name
                for found in traces(seed=seed, **how)[1].objects(PODS)
                if isinstance(found, Pod)
            }
            for seed in range(8)
        ]

    unseen = placed(terms=TraceTerms(60.0, 0.0))
    assert len({str(each) for each in unseen}) > 1, "ties are broken by the seed"
    assert placed(verbosity=5) == unseen


def test_spans_are_exported_one_per_step_and_events_name_the_trace() -> None:
    kept = InMemorySpanExporter()
    told, cluster = traces(
        terms=TraceTerms(sampled=1.0), exporter=OtelSpans(SimpleSpanProcessor(kept))
    )
    spans = kept.get_finished_spans()
    by_trace = {f"{span.context.trace_id:032x}" for span in spans}
    found = [cluster.read(EVENTS, e.namespace, e.name) for e in cluster.objects(EVENTS)]
    noted = {event["metadata"]["annotations"][TRACE_ANNOTATION] for event in found}
    roots = {span.attributes["k8s.pod.name"]: span for span in spans if span.parent is None}
    web = [span.name for span in spans if span.context.trace_id == roots["web"].context.trace_id]

    assert {line["trace"] for line in told.values()} == by_trace == noted
    assert set(roots) == {"web", "slow", "huge"}
    assert {"Scheduling", "PreFilter", "Filter", "PreScore", "Score", "Bind"} <= set(web)
    assert "Filter/NodeResourcesFit" in web
    assert roots["web"].attributes["k8s.node.name"] in ("a", "b")
    for span in spans:
        assert roots["web"].resource.attributes["service.name"] == "moorage"
        assert span.start_time <= span.end_time


class _Collector(http.server.BaseHTTPRequestHandler):
    """Takes what is sent to it."""

    received: ClassVar[list[tuple[str, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.received.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """In silence."""


def test_spans_arrive_at_a_collector() -> None:
    server = http.server.HTTPServer(("127.0.0.1", 0), _Collector)
    thread = threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,))
    thread.start()
    try:
        exporter = otlp_spans(f"http://127.0.0.1:{server.server_address[1]}")
        traces(terms=TraceTerms(sampled=1.0), exporter=exporter)
        exporter.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    paths = {path for path, _ in _Collector.received}
    sent = b"".join(body for _, body in _Collector.received)

    assert paths == {"/v1/traces"}
    assert all(name in sent for name in (b"Scheduling", b"Filter/NodeResourcesFit", b"huge"))
