"""A scheduler that hears of a batch of objects, one by one, and attempts what pods there are."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Iterator
from functools import cache
from typing import Any, Final
from unittest import mock

from moorage.api.meta import ObjectError
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.cache.consistency import validate_cache
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.config.types import SchedulerConfiguration
from moorage.framework.verdicts import NoNodesError, PluginError, ScoreRangeError
from moorage.observe.records import Attempt, Bound
from moorage.plugins.volume_binding.binder import BindingFailedError
from moorage.scheduler.outcome import Outcome
from moorage.scheduler.scheduler import Scheduler
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import RESOURCES
from tests.fuzz.byte_server import ByteServer
from tests.fuzz.findings import Findings, first
from tests.fuzz.objects import Input, ObjectStream
from tests.fuzz.time_limit import Hang, restart, time_limit

START: Final = 1_767_225_600.0
SETTLE_SECONDS: Final = 0.05
LEFT_OUT: Final = logging.getLogger("moorage.kube.response_decoder")
REFUSALS: Final = (
    ObjectError,  # names what is wrong in the object
    ScoreRangeError,  # as kube-scheduler's, where what nodes offer overflows a score
    BindingFailedError,  # the server that answers here stores no claims
    ApiError,
    NoNodesError,
)
"""What an attempt may fail with that the author of an object can read and act on."""
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

    def bound(self, bound: Bound) -> None:
        self._findings.bound += 1

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        """Something failed beside attempts; unless a watch ended, it must name a pod."""
        if not isinstance(error, ApiError) and not pod:
            self._findings.add("unnamed refusal", repr(error), self._batch)
        self.judge(error)

    def judge(self, error: BaseException) -> None:
        """An error that is no refusal is a crash, whatever it was made into on the way."""
        refusal = refusal_of(error)
        if refusal is None:
            self._findings.add("crash", error, self._batch)
        else:
            self._findings.refused[type(refusal).__name__] += 1

    @contextlib.contextmanager
    def hearing_attempts(self) -> Iterator[None]:
        """Judge what every attempt fails with, before it becomes a message."""
        failed = Outcome.failed

        def heard(outcome: Outcome, queued: Any, cycle: Any, profile: Any, error: Any) -> None:
            self.judge(error)
            failed(outcome, queued, cycle, profile, error)

        with mock.patch.object(Outcome, "failed", heard):
            yield


def refusal_of(error: BaseException | None) -> BaseException | None:
    """The refusal that an error is, or was raised from.

    A PluginError that was raised from nothing is what its plugin says, as kube-scheduler's does: a
    pool that is being updated, say. One that stands for a bug was raised from it.
    """
    while error is not None and not isinstance(error, REFUSALS):
        if type(error) is PluginError and error.__cause__ is None:
            return error
        error = error.__cause__
    return error


def run(seed: int, batch: int, count: int) -> Findings:
    """Feed a scheduler of its own with so many inputs of a batch."""
    findings = Findings()
    watcher = Watcher(findings, batch)
    LEFT_OUT.addHandler(watcher)
    fed: list[Input] = []
    try:
        with time_limit(), watcher.hearing_attempts():
            _play(seed, batch, count, findings, watcher, fed)
    except Hang as hang:
        findings.add("hang", hang, batch)
    except BaseException as error:
        findings.add("loop ended", first(error), batch)
    finally:
        LEFT_OUT.removeHandler(watcher)
    return findings


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
