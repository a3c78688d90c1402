"""Reading again: when something has changed, or on SIGHUP.

1. Files are looked at every `interval`, and read once they hold still; ConfigMaps are followed.
2. What was read is checked as a whole, in a thread, while scheduling goes on.
3. If it is right, it takes over between two attempts. If not, it is refused: the log, a metric and
   an event tell why, and what was in force stays.

The event is about the ConfigMap that was changed; where files were, about the scheduler's Lease.
"""

import asyncio
import hashlib
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Final, NamedTuple, Protocol

from moorage.api.meta import KubeObject
from moorage.bind.recorder import EventType
from moorage.config.problems import ConfigError
from moorage.config.types import SchedulerConfiguration
from moorage.framework.registry import Registry, RegistryError
from moorage.observe.records import Outcome, Reloaded
from moorage.reload import building, fixed, whole
from moorage.reload.config_maps import ConfigMaps, Ref
from moorage.reload.files import Files
from moorage.reload.texts import Text
from moorage.reload.whole import Whole
from moorage.scheduler import Scheduler, reconfiguring
from moorage.scheduler.reconfiguring import Extending, Version
from moorage.serve.configuring import InForce
from moorage.simulate.manifests import InputError
from moorage.watch.errors import ApiError

REFUSED: Final = "generation {} stays in force: {}"
IN_FORCE: Final = "generation {} ({}) is in force"


class PluginFiles(Protocol):
    """The plugins that may be named, read again where their files have changed."""

    @property
    def digests(self) -> tuple[str, ...]: ...

    def load(self) -> Registry: ...


class Sources(NamedTuple):
    """Everything that a configuration is read from."""

    files: Files
    config_maps: ConfigMaps
    plugins: PluginFiles

    def read(self) -> list[Text]:
        """Every text; InputError where something is not there."""
        return [*self.files.read(), *self.config_maps.read()]


class Candidate(NamedTuple):
    """What was read and found right, ready to take over."""

    whole: Whole
    version: Version


class Reloader:
    """Reads again, and lets what is right take over."""

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
    ) -> None:
        self._sources = sources
        self._desk = scheduler
        self._in_force = in_force
        self._lease = lease
        self._interval = interval
        self._rng = rng
        self._extending = extending
        self._wake = asyncio.Event()
        self._seen = {text.source: text.fingerprint for text in sources.read()}
        self._tried = self._fingerprint(sources.read())
        self._refused: Reloaded | None = None
        self._restart: tuple[str, ...] = ()
        scheduler.about = self._about([])
        in_force.facts["canaries"] = scheduler.canarying.shown
        in_force.facts["needsRestart"] = lambda: self._restart
        in_force.facts["refused"] = self._shown_refusal

    def again(self) -> None:
        """Read again, whether or not anything has changed."""
        self._tried = ""
        self._wake.set()

    async def run(self) -> None:
        """Watch and read, for ever."""
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
        read = before = files.signature()
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

    async def look(self) -> Outcome | None:
        """Read, and act on it; None where everything is as it was when last looked at."""
        try:
            texts = self._sources.read()
        except (InputError, OSError) as error:
            return self._refuse_missing(str(error))
        fingerprint = self._fingerprint(texts)
        if fingerprint == self._tried:
            return None
        changed = [text for text in texts if self._seen.get(text.source) != text.fingerprint]
        self._seen = {text.source: text.fingerprint for text in texts}
        self._tried = fingerprint
        try:
            candidate = await asyncio.to_thread(self._prepare, texts)
            if candidate.version.digest == self._in_force.digest:
                return self._told("unchanged", changed)
            await self._between_attempts(lambda: self._take_over(candidate, changed))
        except (ConfigError, InputError, RegistryError) as error:
            return self._told("refused", changed, message=str(error))
        except Exception as error:  # whatever a plugin raises when it is made, or first asked
            return self._told("refused", changed, message=f"{type(error).__name__}: {error}")
        return self._told("success", changed, warnings=candidate.whole.warnings)

    def _prepare(self, texts: list[Text]) -> Candidate:
        plugins = self._sources.plugins
        known = plugins.load()
        found = whole.load(texts, known)
        generation, digest = self._in_force.generation + 1, found.digest(plugins.digests)
        return Candidate(found, building.version(found, known, generation, digest))

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
        found, before = candidate.whole, self._in_force.configuration
        extending = self._extending(found.configuration)
        reconfiguring.install(self._desk, candidate.version._replace(extending=extending))
        self._restart = fixed.needs_restart(before, found.configuration)
        self._desk.about = self._about(changed)
        kept = fixed.keep(before, found.configuration)
        self._in_force.replace(kept, candidate.version.digest)

    def _refuse_missing(self, message: str) -> Outcome | None:
        if self._tried == message:
            return None
        self._tried = message
        return self._told("refused", [], message=message)

    def _told(
        self,
        outcome: Outcome,
        changed: list[Text],
        message: str = "",
        warnings: tuple[str, ...] = (),
    ) -> Outcome:
        in_force, canaries = self._in_force, self._desk.lineup.canaries
        told = Reloaded(
            outcome,
            in_force.generation,
            in_force.digest,
            ", ".join(text.source for text in changed),
            message,
            self._restart if outcome == "success" else (),
            warnings,
            tuple((name, each.given.name, each.percent) for name, each in canaries.items()),
        )
        self._refused = told if outcome == "refused" else None
        self._desk.observers.reloaded(told)
        self._record(told, self._about(changed))
        return outcome

    def _record(self, told: Reloaded, about: KubeObject) -> None:
        if told.outcome == "unchanged" or not self._desk.active.is_set():
            return
        refused = told.outcome == "refused"
        if refused:
            note = REFUSED.format(told.generation, told.message)
        else:
            note = IN_FORCE.format(told.generation, told.digest)
            if told.restart:
                note += f"; these need a restart: {', '.join(told.restart)}"
        kind: EventType = "Warning" if refused or told.restart else "Normal"
        reason = "ConfigRefused" if refused else "ConfigReloaded"
        controller = next(iter(self._desk.profiles))
        self._desk.recorder.record(controller, about, kind, reason, "Reloading", note)

    def _about(self, changed: list[Text]) -> KubeObject:
        return next((text.about for text in changed if text.about is not None), self._lease)

    def _shown_refusal(self) -> dict[str, str] | None:
        if self._refused is None:
            return None
        return {"source": self._refused.source, "message": self._refused.message}

    def _fingerprint(self, texts: list[Text]) -> str:
        parts = [f"{text.source}={text.fingerprint}" for text in texts]
        parts += self._sources.files.contents()
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
