"""A scheduler under test: in this process or in one of its own, on a real API server."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml

from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.batching.quick_decisions import QuickDecisions
from moorage.cache.consistency import validate_cache
from moorage.clock import SystemClock
from moorage.config.loader import load
from moorage.kube import kubeconfig
from moorage.kube.fence import steady_time
from moorage.kube.kube_api_server import KubeApiServer
from moorage.observe.records import Attempt, Bound
from moorage.scheduler.bursts import short_bursts
from moorage.scheduler.cache_debugger import compare
from moorage.scheduler.scheduler import Scheduler
from moorage.watch.api_errors import Unreachable
from tests.integration.control_plane import ControlPlane
from tests.integration.making import OURS, Raw

T = TypeVar("T")
LOOK_SECONDS = 0.02
PATIENCE = 60.0


def configuration(**settings: Any) -> Raw:
    """A KubeSchedulerConfiguration with one profile of ours, and no pace to keep."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": OURS}],
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 10_000, "burst": 10_000},
        **settings,
    }


class Seen:
    """An observer that keeps everything."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.bindings: list[Bound] = []
        self.failures: list[tuple[str, str]] = []

    def attempted(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def bound(self, bound: Bound) -> None:
        self.bindings.append(bound)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        self.failures.append((pod, f"{type(error).__name__}: {error}"))


class Running:
    """A scheduler that runs in this process, and the control plane it works for."""

    def __init__(
        self, plane: ControlPlane, scheduler: Scheduler, server: KubeApiServer, seen: Seen
    ) -> None:
        self.plane = plane
        self.scheduler = scheduler
        self.server = server
        self.seen = seen

    async def create(self, *objects: Raw) -> None:
        await asyncio.to_thread(self.plane.create, *objects)

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        return await asyncio.to_thread(self.plane.request, method, path, body)

    async def pods(self) -> dict[str, Raw]:
        listed = await self.request("GET", "/api/v1/pods")
        return {pod["metadata"]["name"]: pod for pod in listed["items"]}

    async def placed(self, *names: str) -> dict[str, str]:
        """Where these pods are, once all of them are somewhere."""

        async def check() -> dict[str, str] | None:
            pods = await self.pods()
            found = {name: pods[name]["spec"].get("nodeName", "") for name in names}
            return found if all(found.values()) else None

        return await eventually(check, lambda: f"{names} are not all bound; {self.seen.failures}")

    async def condition(self, name: str, reason: str) -> Raw:
        """The pod's PodScheduled condition, once it has that reason."""

        async def check() -> Raw | None:
            found = scheduled_condition((await self.pods())[name])
            return found if found.get("reason") == reason else None

        return await eventually(check, lambda: f"{name} is not {reason}")

    async def events(self, name: str, reason: str) -> list[Raw]:
        """Events about a pod, once there is one."""

        async def check() -> list[Raw] | None:
            listed = await self.request("GET", "/apis/events.k8s.io/v1/events")
            found = [
                event
                for event in listed["items"]
                if (event["regarding"].get("name"), event["reason"]) == (name, reason)
            ]
            return found or None

        return await eventually(check, lambda: f"no {reason} event about {name}")

    async def differences(self) -> list[str]:
        scheduler = self.scheduler
        return await compare(scheduler.cache, self.server, scheduler.queue, scheduler.profiles)

    async def agrees(self) -> None:
        """Return when cache and queue hold what the API server holds; fail if they never do."""
        found: list[str] = []

        async def check() -> bool:
            try:
                found[:] = await self.differences()
            except Unreachable as error:  # a busy machine, where little time is given for answers
                found[:] = [str(error)]
            return not found and not self.scheduler.binding

        await eventually(check, lambda: f"the cache differs: {found}")
        self.scheduler.queue.validate()
        validate_cache(self.scheduler.cache)


@contextlib.asynccontextmanager
async def running(
    plane: ControlPlane,
    *,
    kubeconfig_file: Path | None = None,
    request_seconds: float = 30.0,
    sync: bool = True,
    agree: bool = True,
    observer: object = None,
    **settings: Any,
) -> AsyncIterator[Running]:
    """Schedule in this process; at the end the cache must hold what the API server holds.

    Without `sync` it may be that not everything has been listed yet.
    """
    known = built_in_plugins.installed()
    loaded = load(
        configuration(**settings), known=built_in_plugins.describe_plugins(known)
    ).configuration
    selected = kubeconfig.load_kubeconfig([kubeconfig_file or plane.kubeconfig])
    server = KubeApiServer(selected, qps=0, request_seconds=request_seconds)
    seen = Seen()
    backoff = (
        float(loaded.pod_initial_backoff_seconds),
        float(loaded.pod_max_backoff_seconds),
    )
    scheduler = assemble(
        server,
        build_profiles(loaded, known),
        clock=SystemClock(),
        rng=random.Random(7),
        observers=[seen] if observer is None else [seen, observer],
        backoff=backoff,
        sparing=True,
        bursts=short_bursts(steady_time),
        tap=QuickDecisions(SystemClock().now, tells_parts=True),
    )
    task = asyncio.ensure_future(scheduler.run())
    under_test = Running(plane, scheduler, server, seen)
    try:
        if sync:
            await eventually(_synced(scheduler, task), lambda: f"not synced: {seen.failures}")
        yield under_test
        if task.done():
            task.result()
        if agree:
            await under_test.agrees()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await server.close()


def play(
    plane: ControlPlane, scenario: Callable[[Running], Awaitable[None]], **settings: Any
) -> None:
    """Let a scheduler run through a scenario."""

    async def main() -> None:
        async with running(plane, **settings) as under_test:
            await scenario(under_test)

    asyncio.run(main())


def _synced(scheduler: Scheduler, task: "asyncio.Future[None]") -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        if task.done():
            task.result()
        return scheduler.synced

    return check


async def eventually(
    check: Callable[[], Awaitable[T | None]], otherwise: Callable[[], str], within: float = PATIENCE
) -> T:
    """What `check` answers once it answers something."""
    deadline = time.monotonic() + within
    while True:
        answer = await check()
        if answer:
            return answer
        assert time.monotonic() < deadline, otherwise()
        await asyncio.sleep(LOOK_SECONDS)


def scheduled_condition(pod: Raw) -> Raw:
    conditions = pod.get("status", {}).get("conditions") or []
    found = [c for c in conditions if c["type"] == "PodScheduled"]
    return found[0] if found else {}


def wait_for(check: Callable[[], T | None], otherwise: str, within: float = PATIENCE) -> T:
    """What `check` answers once it answers something, for tests without an event loop."""
    deadline = time.monotonic() + within
    while True:
        answer = check()
        if answer:
            return answer
        assert time.monotonic() < deadline, otherwise
        time.sleep(LOOK_SECONDS)


class Replica:
    """`moorage run` in a process of its own; what it says is in `log`."""

    def __init__(
        self,
        folder: Path,
        name: str,
        config: Raw,
        kubeconfig_file: Path,
        *flags: str,
        beside: Iterable[Raw] = (),
    ) -> None:
        file = folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump_all([config, *beside]))
        self.log = folder / f"{name}.log"
        self._command = [
            sys.executable,
            "-c",
            "from moorage.cli.main import main; main()",
            "run",
            "--config",
            str(file),
            "--kubeconfig",
            str(kubeconfig_file),
            "--secure-port=0",
            "--v=4",
            *flags,
        ]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment()
            )

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def says(self, text: str, within: float = PATIENCE) -> None:
        """Return when it has said so."""
        wait_for(lambda: text in self.said, f"it never said {text!r}:\n{self.log}", within)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, within: float = PATIENCE) -> int:
        return self.process.wait(within)


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.endswith("_PROXY")}


@contextlib.contextmanager
def replica(
    folder: Path,
    name: str,
    kubeconfig_file: Path,
    *flags: str,
    beside: Iterable[Raw] = (),
    **settings: Any,
) -> Iterator[Replica]:
    """One `moorage run`, killed at the end unless it has ended.

    `beside` are further documents of its configuration file.
    """
    config = configuration(**settings)
    made = Replica(folder, name, config, kubeconfig_file, *flags, beside=beside)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
        made.process.wait()
