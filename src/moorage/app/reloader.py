"""Reads the configuration again on a change or SIGHUP, and puts it in force or refuses it.

1. Files are checked every `interval` seconds, and read once they have stopped changing. ConfigMaps
   are watched.
2. The configuration is checked as a whole, in a thread, while scheduling goes on.
3. If it is valid, it takes over between two attempts. If not, it is refused: the log, a metric and
   an event say why, and the configuration in force stays.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import Final, Protocol, TypeVar

import msgspec

from moorage.api.meta import KubeObject
from moorage.app.config_bundle import ConfigBundle
from moorage.app.config_sources import Candidate, ConfigMapRef, ConfigSources
from moorage.app.config_text import ConfigText
from moorage.app.reload_reporter import ReloadReporter
from moorage.app.reload_thread import in_reload_thread
from moorage.config.field_errors import ConfigError, InputError
from moorage.config.types import SchedulerConfiguration
from moorage.framework.plugin_registry import RegistryError
from moorage.observe.records import Outcome
from moorage.scheduler.scheduler import Scheduler
from moorage.scheduler.version import Extending
from moorage.serve.configz import ActiveConfiguration
from moorage.watch.api_errors import ApiError

RESTART_ONLY: Final = (
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "delayCacheUntilActive",
)


def needs_restart(before: SchedulerConfiguration, after: SchedulerConfiguration) -> tuple[str, ...]:
    """The settings that differ, but take effect only after a restart."""
    return tuple(_differing(before, after))


def keep_restart_only(
    before: SchedulerConfiguration, after: SchedulerConfiguration
) -> SchedulerConfiguration:
    """The new configuration with those settings as they are in use."""
    names = {f.name for f in msgspec.structs.fields(after) if f.encode_name in RESTART_ONLY}
    return msgspec.structs.replace(after, **{name: getattr(before, name) for name in names})


def _differing(before: SchedulerConfiguration, after: SchedulerConfiguration) -> Iterator[str]:
    for field in msgspec.structs.fields(after):
        one, other = getattr(before, field.name), getattr(after, field.name)
        if field.encode_name not in RESTART_ONLY or one == other:
            continue
        if not isinstance(one, msgspec.Struct):
            yield field.encode_name
            continue
        for inner in msgspec.structs.fields(one):
            if getattr(one, inner.name) != getattr(other, inner.name):
                yield f"{field.encode_name}.{inner.encode_name}"


T = TypeVar("T")


class InThread(Protocol):
    """Runs blocking work while the event loop goes on."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class Reloader:
    """Reads the configuration again, and puts it in force if it is valid.

    `extending` returns the extenders of a configuration, or None if they are those in use.
    `applied` is called with each configuration that took over.
    """

    def __init__(
        self,
        sources: ConfigSources,
        scheduler: Scheduler,
        in_force: ActiveConfiguration,
        *,
        lease: KubeObject,
        interval: float,
        rng: random.Random,
        extending: Callable[[SchedulerConfiguration], Extending | None],
        applied: Callable[[ConfigBundle], None] = lambda whole: None,
        aside: InThread = in_reload_thread,
    ) -> None:
        self._sources = sources
        self._scheduler = scheduler
        self._in_force = in_force
        self._interval = interval
        self._rng = rng
        self._extending = extending
        self._applied = applied
        self._aside = aside
        self._wake = asyncio.Event()
        self._telling = ReloadReporter(scheduler, in_force, lease)
        self._signature = sources.files.signature()
        self._tried = ""
        texts = sources.read()
        self._seen = {text.source: text.fingerprint for text in texts}
        scheduler.in_force.refer_to(self._telling.about(texts))

    def again(self) -> None:
        """Read again, whether or not anything has changed."""
        self._tried = ""
        self._wake.set()

    async def run(self) -> None:
        """Watch and read, for ever; begin with what has changed since the process started."""
        await self.look(quiet=True)
        async with asyncio.TaskGroup() as tasks:
            if self._interval:
                tasks.create_task(self._watch_files(), name="reload/files")
            for ref in self._sources.config_maps.refs:
                tasks.create_task(self._follow(ref), name=f"reload/{ref}")
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self.look()

    async def _watch_files(self) -> None:
        files, clock = self._sources.files, self._scheduler.clock
        read = before = self._signature
        while True:
            await clock.sleep(self._interval)
            now = files.signature()
            if now == before and now != read:
                read = now
                self._wake.set()
            before = now

    async def _follow(self, ref: ConfigMapRef) -> None:
        scheduler = self._scheduler
        follow = self._sources.config_maps.follow(
            ref, scheduler.server, scheduler.clock, self._rng, self._failed
        )
        async with aclosing(follow) as changes:
            async for _ in changes:
                self._wake.set()

    def _failed(self, what: str, error: ApiError) -> None:
        self._scheduler.observers.failed(what, "", error)

    async def look(self, *, quiet: bool = False) -> Outcome | None:
        """Read the configuration and act on it; None if nothing has changed since the last call.

        With `quiet`, an unchanged configuration is not reported.
        """
        try:
            texts = self._sources.read()
            tried = self._sources.fingerprint(texts)
        except (InputError, OSError) as error:
            texts, tried = [], str(error)
        if tried == self._tried:
            return None
        self._tried = tried
        if not texts:
            return self._telling.tell("refused", [], tried)
        changed = [text for text in texts if self._seen.get(text.source) != text.fingerprint]
        self._seen = {text.source: text.fingerprint for text in texts}
        return await self._try(texts, changed, quiet)

    async def _try(
        self, texts: list[ConfigText], changed: list[ConfigText], quiet: bool
    ) -> Outcome | None:
        generation, tell = self._in_force.generation + 1, self._telling.tell
        try:
            candidate = await self._aside(lambda: self._sources.prepare(texts, generation))
            if candidate.version.digest == self._in_force.digest:
                return None if quiet else tell("unchanged", changed)
            await self._between_attempts(lambda: self._take_over(candidate, changed))
        except (ConfigError, InputError, RegistryError) as error:
            return tell("refused", changed, str(error))
        except Exception as error:  # a plugin may raise anything when it is made or first called
            return tell("refused", changed, f"{type(error).__name__}: {error}")
        return tell("success", changed, warnings=candidate.whole.warnings)

    async def _between_attempts(self, work: Callable[[], None]) -> None:
        done = asyncio.get_running_loop().create_future()

        def do() -> None:
            try:
                work()
            except Exception as error:
                done.set_exception(error)
            else:
                done.set_result(None)

        self._scheduler.gate.later(do)
        await done

    def _take_over(self, candidate: Candidate, changed: list[ConfigText]) -> None:
        found, before = candidate.whole.configuration, self._in_force.configuration
        self._scheduler.check(candidate.version)
        about, extending = self._telling.about(changed), self._extending(found)
        version = candidate.version._replace(extending=extending, about=about)
        self._scheduler.install(version)
        self._telling.restart = needs_restart(before, found)
        self._in_force.replace(keep_restart_only(before, found), version.digest)
        self._applied(candidate.whole)
