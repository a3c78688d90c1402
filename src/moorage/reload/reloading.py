"""Reading again: when something has changed, or on SIGHUP.

1. Files are looked at every `interval`, and read once they hold still; ConfigMaps are followed.
2. What was read is checked as a whole, in a thread, while scheduling goes on.
3. If it is right, it takes over between two attempts. If not, it is refused: the log, a metric and
   an event tell why, and what was in force stays.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Protocol, TypeVar

from moorage.api.meta import KubeObject
from moorage.config.problems import ConfigError
from moorage.config.types import SchedulerConfiguration
from moorage.framework.registry import RegistryError
from moorage.observe.records import Outcome
from moorage.reload import fixed
from moorage.reload.config_maps import Ref
from moorage.reload.sources import Candidate, Sources
from moorage.reload.telling import Telling
from moorage.reload.texts import Text
from moorage.scheduler import Scheduler, reconfiguring
from moorage.scheduler.reconfiguring import Extending
from moorage.serve.configuring import InForce
from moorage.simulate.manifests import InputError
from moorage.watch.errors import ApiError

T = TypeVar("T")


class Aside(Protocol):
    """A way to do something that takes its time while the event loop goes on."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class Reloader:
    """Reads again, and lets what is right take over.

    `extending` tells which extenders a configuration asks for, where they are not those in use.
    """

    def __init__(
        self,
        sources: Sources,
        scheduler: Scheduler,
        in_force: InForce,
        *,
        lease: KubeObject,
        interval: float,
        rng: random.Random,
        extending: Callable[[SchedulerConfiguration], Extending | None],
        aside: Aside = asyncio.to_thread,
    ) -> None:
        self._sources = sources
        self._desk = scheduler
        self._in_force = in_force
        self._interval = interval
        self._rng = rng
        self._extending = extending
        self._aside = aside
        self._wake = asyncio.Event()
        self._telling = Telling(scheduler, in_force, lease)
        self._signature = sources.files.signature()
        self._tried = ""
        texts = sources.read()
        self._seen = {text.source: text.fingerprint for text in texts}
        scheduler.about = self._telling.about(texts)

    def again(self) -> None:
        """Read again, whether or not anything has changed."""
        self._tried = ""
        self._wake.set()

    async def run(self) -> None:
        """Watch and read, for ever; first of all, whatever changed while the process started."""
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
        files, clock = self._sources.files, self._desk.clock
        read = before = self._signature
        while True:
            await clock.sleep(self._interval)
            now = files.signature()
            if now == before and now != read:
                read = now
                self._wake.set()
            before = now

    async def _follow(self, ref: Ref) -> None:
        desk = self._desk
        follow = self._sources.config_maps.follow(
            ref, desk.server, desk.clock, self._rng, self._failed
        )
        async with aclosing(follow) as changes:
            async for _ in changes:
                self._wake.set()

    def _failed(self, what: str, error: ApiError) -> None:
        self._desk.observers.failed(what, "", error)

    async def look(self, *, quiet: bool = False) -> Outcome | None:
        """Read, and act on it; None where everything is as it was when last looked at.

        When `quiet`, it is not told that nothing is new.
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

    async def _try(self, texts: list[Text], changed: list[Text], quiet: bool) -> Outcome | None:
        generation, tell = self._in_force.generation + 1, self._telling.tell
        try:
            candidate = await self._aside(lambda: self._sources.prepare(texts, generation))
            if candidate.version.digest == self._in_force.digest:
                return None if quiet else tell("unchanged", changed)
            await self._between_attempts(lambda: self._take_over(candidate, changed))
        except (ConfigError, InputError, RegistryError) as error:
            return tell("refused", changed, str(error))
        except Exception as error:  # whatever a plugin raises when it is made, or first asked
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

        self._desk.deciding.later(do)
        await done

    def _take_over(self, candidate: Candidate, changed: list[Text]) -> None:
        found, before = candidate.whole.configuration, self._in_force.configuration
        reconfiguring.check(self._desk, candidate.version)
        version = candidate.version._replace(extending=self._extending(found))
        reconfiguring.install(self._desk, version)
        self._telling.restart = fixed.needs_restart(before, found)
        self._desk.about = self._telling.about(changed)
        self._in_force.replace(fixed.keep(before, found), version.digest)
