"""The HTTP server and its routes.

| path | answers |
|---|---|
| /livez /readyz /healthz | `ok` or what is wrong; `?verbose`, `?exclude=NAME`; open to all |
| /readyz/NAME | one check and its reason |
| /metrics | Prometheus' text or OpenMetrics |
| /configz | the configuration in force, as JSON |
| /debug/strategies | what AdaptiveSchedulingPlugin has learnt, and why it places pods as it does |
| /debug/decisions | the last attempts, filtered (?pod=NS/NAME ...) and paged; ?watch=1 streams |
| /debug/explain | POST a question about the live cache; only where enabled |
| /debug/stacks | the stacks of all threads and tasks |
| /debug/profile?seconds=N | CPU time by collapsed stack, for a flame graph |
| /debug/flags/v | PUT a number: the log verbosity from now on |
| /dashboard/ | the page and its views (`moorage.dashboard`); only where enabled |
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, Protocol

import msgspec
from aiohttp import web

from moorage.api.annotations import read_int
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.logs import Logs, say
from moorage.observe.prometheus_metrics import Metrics
from moorage.serve import debug_profiles
from moorage.serve.bounded_listener import BoundedListener
from moorage.serve.client_certificates import refresh_certificates
from moorage.serve.decisions import DecisionPages
from moorage.serve.gate import Gate, busy_while_answering
from moorage.serve.health import Health, HealthAnswer
from moorage.serve.loop_watchdog import LoopWatchdog
from moorage.serve.open_listener import OpenListener
from moorage.serve.questions import MOST_BYTES, Question, Questions
from moorage.serve.secure_serving import Listener, ServerTls

REFRESH_SECONDS: Final = 60.0
SHUTDOWN_SECONDS: Final = 5.0
KEPT_FOR: Final = 20.0
"""Whoever asks for metrics without end takes a twentieth of the event loop's time at most."""


class Pages(Protocol):
    """Further routes, behind the same gate."""

    def routes(self) -> list[web.RouteDef]: ...

    def close(self) -> None:
        """End the answers in progress: the server stops."""


class Server:
    """Serves until cancelled. `ports` are those it listens on, in the order of the listeners.

    Listeners that are not open yet are opened when serving begins.
    """

    def __init__(
        self,
        listeners: Iterable[Listener | OpenListener],
        *,
        health: Health,
        metrics: Metrics,
        configz: Callable[[], dict[str, Any]],
        gate: Gate | None = None,
        logs: Logs | None = None,
        watchdog: LoopWatchdog | None = None,
        profiling: bool = True,
        strategies: Callable[[], dict[str, Any]] = dict,
        decisions: DecisionRecords | None = None,
        questions: Mapping[str, Question] | None = None,
        pages: Pages | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now = now
        self._kept_metrics: dict[str, tuple[bytes, float]] = {}
        self.health = health
        self.ports: list[int] = []
        self._listeners = list(listeners)
        self._metrics = metrics
        self._configz = configz
        self.gate = Gate(None) if gate is None else gate
        self._logs = logs
        self._watchdog = watchdog
        self._profiling = profiling
        self._strategies = strategies
        self._questions = Questions(questions or {})
        self._decisions = DecisionPages(DecisionRecords(0) if decisions is None else decisions)
        self._pages = pages
        self._tls: list[ServerTls] = []
        self._busy: set[Any] = set()

    async def run(self) -> None:
        """Serve until cancelled."""
        async with self.serving(), asyncio.TaskGroup() as tasks:
            tasks.create_task(self._refresh(), name="serve/certificates")
            if self._watchdog is not None:
                tasks.create_task(self._watchdog.run(), name="serve/watchdog")

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve for as long as the block lasts."""
        async with AsyncExitStack() as stack:
            for each in self._listeners:
                opened = OpenListener(each) if isinstance(each, Listener) else each
                stack.callback(opened.close)
                runner = web.AppRunner(
                    self._application(opened.listener.trusted),
                    shutdown_timeout=SHUTDOWN_SECONDS,
                    handler_cancellation=True,
                )
                await runner.setup()
                stack.push_async_callback(runner.cleanup)
                stack.push_async_callback(self._listen(opened, runner).close)
            if self._pages is not None:
                stack.callback(self._pages.close)
            yield

    def _listen(self, opened: OpenListener, runner: web.AppRunner) -> BoundedListener:
        context = None
        if opened.tls is not None:
            self._tls.append(opened.tls)
            context = opened.tls.context
            opened.tls.trust(self.gate.certificates.pem)
        assert runner.server is not None
        made = BoundedListener(opened.socket, runner.server, context, busy=self._busy)
        self.ports.append(made.port)
        address = opened.listener.address
        say(logging.INFO, "Serving", address=address, port=made.port, tls=context is not None)
        return made

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            self.refresh()

    def refresh(self) -> None:
        """Read certificates again whose files have changed."""
        refresh_certificates(self._tls, self.gate.certificates)

    def _application(self, trusted: bool) -> web.Application:
        gate = self.gate.loopback if trusted else self.gate.authorize
        app = web.Application(
            middlewares=[busy_while_answering(self._busy), gate], client_max_size=MOST_BYTES
        )
        app.router.add_get("/metrics", self._get_metrics)
        app.router.add_get("/configz", self._get_configz)
        app.router.add_get("/debug/strategies", self._get_strategies)
        app.router.add_get("/debug/decisions", self._decisions.get)
        for path in self._questions.paths:
            app.router.add_post(path, self._questions.post)
        for endpoint in self.health.endpoints:
            app.router.add_get(f"/{endpoint}", self._get_health)
            app.router.add_get(f"/{endpoint}/{{check}}", self._get_check)
        if self._profiling:
            app.router.add_get("/debug/stacks", self._get_stacks)
            app.router.add_get("/debug/profile", self._get_profile)
            app.router.add_put("/debug/flags/v", self._put_verbosity)
        if self._pages is not None:
            app.router.add_routes(self._pages.routes())
        return app

    async def _get_health(self, request: web.Request) -> web.Response:
        query = request.query
        excluded = query.getall("exclude", [])
        endpoint = request.path.strip("/")
        return _text(self.health.ask(endpoint, verbose="verbose" in query, excluded=excluded))

    async def _get_check(self, request: web.Request) -> web.Response:
        endpoint = request.path.strip("/").partition("/")[0]
        return _text(self.health.ask_one(endpoint, request.match_info["check"]))

    async def _get_metrics(self, request: web.Request) -> web.Response:
        body, content_type = self._rendered(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    def _rendered(self, accept: str) -> tuple[bytes, str]:
        """The metrics, rendered again once nineteen times as long has passed as that takes."""
        content_type, begun = self._metrics.format_of(accept), self._now()
        kept = self._kept_metrics.get(content_type)
        if kept is None or begun >= kept[1]:
            body, content_type = self._metrics.render(accept)
            took = self._now() - begun
            kept = self._kept_metrics[content_type] = body, begun + took * KEPT_FOR
        return kept[0], content_type

    async def _get_configz(self, request: web.Request) -> web.Response:
        body = msgspec.json.encode(self._configz())
        return web.Response(body=body, content_type="application/json")

    async def _get_strategies(self, request: web.Request) -> web.Response:
        body = msgspec.json.encode(self._strategies())
        return web.Response(body=body, content_type="application/json")

    async def _get_stacks(self, request: web.Request) -> web.Response:
        return _text(HealthAnswer(200, debug_profiles.dump_stacks()))

    async def _get_profile(self, request: web.Request) -> web.Response:
        said = request.query.get("seconds", "")
        try:
            seconds = float(said) if said else debug_profiles.DEFAULT_SECONDS
        except ValueError:
            seconds = math.nan
        if math.isnan(seconds):  # a timer set to NaN keeps other timers of the loop from firing
            return _text(HealthAnswer(400, f"seconds={said}: not a number\n"))
        try:
            return _text(HealthAnswer(200, await debug_profiles.cpu_profile(seconds)))
        except debug_profiles.ProfileRunning as busy:
            return _text(HealthAnswer(409, f"{busy}\n"))

    async def _put_verbosity(self, request: web.Request) -> web.Response:
        said = (await request.text()).strip()
        verbosity = read_int(said, most=1_000)
        if self._logs is None or verbosity is None:
            return _text(
                HealthAnswer(400, f"{said!r} is not a verbosity: PUT a number, 0 or more\n")
            )
        self._logs.verbosity = verbosity
        return _text(HealthAnswer(200, f"successfully set the verbosity to {said}\n"))


def _text(answer: HealthAnswer) -> web.Response:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache, private"}
    return web.Response(status=answer.status, text=answer.text, headers=headers)
