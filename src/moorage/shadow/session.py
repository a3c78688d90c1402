"""A shadow from its start to its findings: until a signal, for a time, or for a number of pods."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from moorage.clock import Clock
from moorage.dashboard.dashboard import Dashboard
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import SelectedContext
from moorage.observe.decision_log import NO_ANSWER, UNREACHABLE
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.prometheus_metrics import Metrics
from moorage.observe.repeated_failures import RepeatedFailures
from moorage.scheduler.attempt import TapOf
from moorage.serve.health import Check, Health
from moorage.serve.http_server import Server
from moorage.serve.secure_serving import Listener
from moorage.shadow.dashboard_sources import JudgementRecords, shadow_sources
from moorage.shadow.journal import ALIVE_SECONDS, Journal, read_journal
from moorage.shadow.judgement import Judgement
from moorage.shadow.process import Shadow
from moorage.shadow.shadow_metrics import ShadowMetrics
from moorage.shadow.summary import Findings
from moorage.simulate.candidate import Candidate

LOOPBACK: Final = "127.0.0.1"
LOOK_SECONDS: Final = 0.5
UNREAD: Final = "the cluster has not been read yet"


class ShadowPlan(NamedTuple):
    """What the shadow does, and when it stops."""

    seconds: float | None = None
    pods: int | None = None
    drifts: bool = True
    journal: str = ""
    http_port: int = 0
    dashboard: bool = False
    said_seconds: float = 10.0


Say = Callable[[Shadow], None]
Warn = Callable[[str], None]


class NeverReadError(Exception):
    """The shadow ended before the cluster was read once; the text says why, if known."""

    def __init__(self, last: BaseException | None) -> None:
        super().__init__(f"the cluster was never read: {last or 'it was ended too early'}")


async def run_shadow(
    selected: SelectedContext,
    candidates: Sequence[Candidate],
    plan: ShadowPlan,
    clock: Clock,
    say: Say,
    warn: Warn,
    tap_of: TapOf | None = None,
) -> Findings:
    """Shadow a live cluster until the plan, SIGINT or SIGTERM ends it; a tap sees all changes.

    Raises a NeverReadError if the cluster was never read.
    """
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = KubeApiServer(selected, qps=0)
    counter = PodLimit(plan.pods, stop)
    told = [counter.judged]
    failures = _WatchFailures(warn, clock)
    shadow = Shadow(
        server,
        candidates,
        clock,
        drifts=plan.drifts,
        told=told,
        tap_of=tap_of,
        observers=[failures],
    )
    journal = _journal(plan, shadow, clock)
    if journal is not None:
        shadow.told.append(journal.write)
    beside = [shadow.run(), _remind(shadow, journal, plan.said_seconds, clock, say)]
    if plan.http_port:
        beside.append(_http(shadow, plan).run())
    stopped = _stopped(stop, plan.seconds, shadow, failures)
    try:
        await _until(stopped, [asyncio.ensure_future(each) for each in beside])
        if not shadow.begun.is_set():
            raise NeverReadError(failures.last)
        return shadow.findings()
    finally:
        await server.close()
        if journal is not None:
            journal.close()


async def _until(end: Coroutine[Any, Any, None], tasks: list[asyncio.Future[None]]) -> None:
    """Wait for the end; raises the error of a task that failed before."""
    stopped = asyncio.ensure_future(end)
    try:
        await asyncio.wait({stopped, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in (stopped, *tasks):
            task.cancel()
        await asyncio.gather(stopped, *tasks, return_exceptions=True)


async def _stopped(
    stop: asyncio.Event, seconds: float | None, shadow: Shadow, failures: "_WatchFailures"
) -> None:
    """Return when told to stop, or `seconds` after the cluster was read.

    Reading may take longer than `seconds`; but if reading has failed by then, return as well.
    """
    if seconds is None:
        await stop.wait()
        return
    begun = asyncio.ensure_future(shadow.begun.wait())
    stopping = asyncio.ensure_future(stop.wait())
    first, either = asyncio.FIRST_COMPLETED, {begun, stopping}
    try:
        done, _ = await asyncio.wait(either, timeout=seconds, return_when=first)
        while not done and failures.last is None:
            done, _ = await asyncio.wait(either, timeout=LOOK_SECONDS, return_when=first)
        if done:
            await asyncio.wait({stopping}, timeout=seconds)
    finally:
        begun.cancel()
        stopping.cancel()


class _WatchFailures:
    """An observer that warns if the cluster cannot be read, at increasing intervals."""

    def __init__(self, warn: Warn, clock: Clock) -> None:
        self.last: BaseException | None = None
        self._warn = warn
        self._repeated = RepeatedFailures(clock.now)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        if not pod.startswith("watch/"):
            return
        self.last = error
        unreachable = getattr(error, "status", None) == NO_ANSWER
        if self._repeated.due("unreachable" if unreachable else pod) is not None:
            self._warn(f"{UNREACHABLE if unreachable else pod}: {error}")


class PodLimit:
    """Stops when enough pods were judged; pending pods do not count.

    A second look replaces the judgement of the same pod and time; it does not count again.
    """

    def __init__(self, most: int | None, stop: asyncio.Event) -> None:
        self._most = most
        self._stop = stop
        self._seen: set[tuple[str, float]] = set()
        self._first = ""

    def judged(self, judged: Judgement) -> None:
        self._first = self._first or judged.configuration
        if self._most is None or not judged.node or judged.configuration != self._first:
            return
        self._seen.add((judged.pod, judged.time))
        if len(self._seen) >= self._most:
            self._stop.set()


def _journal(plan: ShadowPlan, shadow: Shadow, clock: Clock) -> Journal | None:
    if not plan.journal:
        return None
    path = Path(plan.journal)
    read_journal(path, shadow.tallies, shadow.unseen, clock.now())
    return Journal(path, clock.now)


async def _remind(
    shadow: Shadow, journal: Journal | None, seconds: float, clock: Clock, say: Say
) -> None:
    """Report the current state periodically."""
    await shadow.begun.wait()
    last = clock.now()
    while True:
        await clock.sleep(seconds)
        say(shadow)
        if journal is not None and clock.now() - last >= ALIVE_SECONDS:
            journal.alive()
            last = clock.now()


def _http(shadow: Shadow, plan: ShadowPlan) -> Server:
    metrics = Metrics()
    metrics.register(ShadowMetrics(shadow.tallies, shadow.unseen, lambda: shadow.meters))
    ready = Check("sched-handler-sync", lambda: None if shadow.begun.is_set() else UNREAD)
    records = DecisionRecords()
    pages = None
    if plan.dashboard:
        shadow.told.append(JudgementRecords(records).judged)
        pages = Dashboard(shadow_sources(shadow, records, [ready]))
    return Server(
        [Listener(LOOPBACK, plan.http_port, None)],
        health=Health(ready=[ready]),
        metrics=metrics,
        configz=lambda: {"configurations": list(shadow.tallies)},
        decisions=records,
        pages=pages,
    )
