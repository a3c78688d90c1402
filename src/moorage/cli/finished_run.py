"""A finished run on a dashboard: the final cluster and all decisions, until Ctrl-C."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from typing import Any, Final

from moorage.app.dashboard_sources import scheduler_sources
from moorage.cli.standard_streams import echo
from moorage.config.field_errors import InputError
from moorage.dashboard.dashboard import Dashboard
from moorage.dashboard.sources import Explain, Sources
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.prometheus_metrics import Metrics
from moorage.scheduler.scheduler import Scheduler
from moorage.serve.health import Health
from moorage.serve.http_server import Server
from moorage.serve.secure_serving import Listener, ListenerError

LOOPBACK: Final = "127.0.0.1"


class FinishedRun:
    """Observes a run, and serves it when it is over."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._metrics = Metrics(sampled=1.0)
        self._records = DecisionRecords()

    @property
    def observers(self) -> tuple[Any, ...]:
        """The observers to notify of every attempt."""
        return self._metrics, self._records

    def serve(
        self,
        scheduler: Scheduler,
        explain: Explain | None = None,
        kpis: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Serve a scheduler whose run has ended, until Ctrl-C."""
        self._metrics.follow(scheduler)
        ended = scheduler.clock.now()
        sources = scheduler_sources(
            scheduler,
            self._records,
            "simulate",
            now=lambda: ended,
            live=False,
            explain=explain,
            timings=self._metrics.timings,
        )
        compared = sources.compare._replace(kpis=lambda: list(kpis))
        self.serve_sources(sources._replace(compare=compared))

    def serve_sources(self, sources: Sources) -> None:
        """Serve these sources, until Ctrl-C."""
        try:
            asyncio.run(_serve(self._port, sources, self._metrics))
        except ListenerError as error:
            raise InputError([f"--http-port {self._port}: {error}"]) from None


async def _serve(port: int, sources: Sources, metrics: Metrics) -> None:
    server = Server(
        [Listener(LOOPBACK, port, None)],
        health=Health(),
        metrics=metrics,
        configz=dict,
        decisions=sources.records,
        pages=Dashboard(sources),
    )
    stop = asyncio.Event()
    _on_signals(stop.set)
    async with server.serving():
        echo(f"http://{LOOPBACK}:{server.ports[0]}/dashboard/ until Ctrl-C", err=True)
        await stop.wait()


def _on_signals(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
