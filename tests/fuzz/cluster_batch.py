"""A scheduler that hears of a batch of objects, one by one, and attempts what pods there are."""

import asyncio
import contextlib
import logging
import random
from functools import cache
from typing import Final

from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.cache.consistency import validate_cache
from moorage.cache.podinfo import PodError
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.config.types import SchedulerConfiguration
from moorage.framework.verdicts import PluginError
from moorage.observe.records import Attempt, Bound, Result
from moorage.queue.transitions import QueueError
from moorage.scheduler.scheduler import Scheduler
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import RESOURCES
from tests.fuzz.byte_server import ByteServer
from tests.fuzz.findings import Findings
from tests.fuzz.objects import Input, ObjectStream
from tests.fuzz.time_limit import Hang, restart, time_limit

START: Final = 1_767_225_600.0
SETTLE_SECONDS: Final = 0.05
LEFT_OUT: Final = logging.getLogger("moorage.kube.response_decoder")
REFUSALS: Final = (PodError, QueueError, PluginError)
"""Errors that name the object, or the plugin and the term, that is wrong."""
NAMED: Final = (
    "SelectorError",  # names the term and what is wrong in it
    "scores must be 0 to 100",  # kube-scheduler's words, where what nodes offer overflows its sums
    "selectedNode annotation reset",  # the server that answers here stores no claims
    "is already on",  # two pods of one uid: the bytes of a name were changed
)
"""Attempts that fail with a reason which the pod's author can read and act on."""
CONFIG: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podMaxBackoffSeconds": 2,
    "profiles": [
        {"plugins": {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}}},
    ],
}


@cache
def configuration() -> SchedulerConfiguration:
    known = built_in_plugins.built_in()
    return load(CONFIG, known=built_in_plugins.describe_plugins(known)).configuration


class Watcher(logging.Handler):
    """Hears what the scheduler refuses, attempts and fails at."""

    def __init__(self, findings: Findings, batch: int) -> None:
        super().__init__()
        self._findings = findings
        self._batch = batch

    def emit(self, record: logging.LogRecord) -> None:
        """An object that was left out: its kind, and its name or the place in it, must be told."""
        said = record.getMessage().partition("left out: ")[2]
        self._findings.refused["not decoded"] += 1
        if ": " not in said:
            self._findings.add("unnamed refusal", record.getMessage(), self._batch)

    def attempted(self, attempt: Attempt) -> None:
        self._findings.attempts += 1
        if attempt.result is not Result.ERROR:
            return
        said = next((words for words in NAMED if words in attempt.message), "")
        if said:
            self._findings.refused[said] += 1
        else:
            self._findings.add("failed attempt", attempt.message, self._batch)

    def bound(self, bound: Bound) -> None:
        self._findings.bound += 1

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        if isinstance(error, ApiError):
            self._findings.refused["watch ended"] += 1
        elif isinstance(error, REFUSALS):
            self._findings.refused[type(error).__name__] += 1
        else:
            self._findings.add("crash", error, self._batch)
            if not pod:
                self._findings.add("unnamed refusal", repr(error), self._batch)


def run(seed: int, batch: int, count: int) -> Findings:
    """Feed a scheduler of its own with so many inputs of a batch."""
    findings = Findings()
    watcher = Watcher(findings, batch)
    LEFT_OUT.addHandler(watcher)
    fed: list[Input] = []
    try:
        with time_limit():
            _play(seed, batch, count, findings, watcher, fed)
    except Hang as hang:
        findings.add("hang", hang, batch)
    except BaseException as error:
        findings.add("loop ended", _first(error), batch)
    finally:
        LEFT_OUT.removeHandler(watcher)
    return findings


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _play(
    seed: int, batch: int, count: int, findings: Findings, watcher: Watcher, fed: list[Input]
) -> None:
    clock, server = VirtualClock(START), ByteServer()

    async def main() -> None:
        scheduler = assemble(
            server,
            build_profiles(configuration(), built_in_plugins.built_in()),
            clock=clock,
            rng=random.Random(batch),
            observers=[watcher],
            followed=[r for r in RESOURCES.values() if r.plural not in ("events", "leases")],
        )
        task = asyncio.ensure_future(scheduler.run())
        try:
            await clock.sleep(SETTLE_SECONDS)
            stream = ObjectStream(seed, batch)
            for _ in range(count):
                one = next(stream)
                fed.append(one)
                restart()
                server.send(one.resource, one.line)
                findings.inputs += 1
                await clock.sleep(SETTLE_SECONDS)
                if task.done():
                    task.result()
            restart()
            await clock.sleep(30.0)
            _check(scheduler)
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    run_virtual(main(), clock)


def _check(scheduler: Scheduler) -> None:
    validate_cache(scheduler.cache)
    scheduler.queue.validate()
