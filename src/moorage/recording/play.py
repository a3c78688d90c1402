"""Plays a recording back to its end, to an attempt, or to the first that comes out differently."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from moorage.config.field_errors import InputError
from moorage.cycle.profile import Profile
from moorage.recording.configuration import NO_PLUGINS, LoadedPlugins
from moorage.recording.divergence import Divergence, divergence_of
from moorage.recording.entries import AnyEntry, Attempt, Configured
from moorage.recording.moments import parse_time, time_of
from moorage.recording.plugin_code import code_of
from moorage.recording.replay import Made, Replay
from moorage.recording.segments import Recording

NO_SUCH_ATTEMPT: Final = (
    "{}: no such attempt among the {} of the recording: name one by its id, or by its number (#17)"
)


class Played(msgspec.Struct, frozen=True):
    """The result of a replay."""

    attempts: int
    began: float
    ended: float
    divergence: Divergence | None = None
    torn: tuple[str, ...] = ()
    late: int = 0
    configured: int = 0
    """How many times a configuration took effect."""


class Stop(NamedTuple):
    """The position of a replay, and the attempt that comes next, if one was named."""

    replay: Replay
    entry: Attempt | None


class Player:
    """Plays one recording, with the installed plugins and those given.

    `heard` is called with every repeated attempt. Attempts are numbered from 1; `--until` also
    takes the id of an attempt, as logs show it.
    """

    def __init__(
        self,
        folder: Path,
        plugins: LoadedPlugins = NO_PLUGINS,
        progress: Callable[[int], None] = lambda attempts: None,
        heard: Callable[[Made], None] = lambda made: None,
    ) -> None:
        self.recording = Recording(folder)
        self.rest: Iterator[AnyEntry] = self.recording.entries()
        """The entries that have not been played yet."""
        self._plugins = plugins
        self._progress = progress
        self._heard = heard
        self._configured: list[Configured] = []
        self._divergence: Divergence | None = None
        self._began = 0.0
        self.replay = Replay(self._profiles, self._made)

    def play(self) -> Played:
        """Play to the end, or to the first attempt that comes out differently."""
        for entry in self.rest:
            self.replay.apply(entry)
            if self._divergence is not None:
                break
        return self.played()

    def play_until(self, attempt: str) -> Stop:
        """Play to just before an attempt, or to a time; raises an InputError if there is none."""
        time = parse_time(attempt)
        for entry in self.rest:
            now = time_of(entry)
            if time is not None and now is not None and now >= time and not self.replay.in_trial:
                self.rest = itertools.chain([entry], self.rest)
                return Stop(self.replay, None)
            if isinstance(entry, Attempt) and attempt in (entry.id, f"#{self.replay.attempts + 1}"):
                return Stop(self.replay, entry)
            self.replay.apply(entry)
        raise InputError([NO_SUCH_ATTEMPT.format(attempt, self.replay.attempts)])

    def _profiles(self, given: Configured) -> dict[str, Profile]:
        self._configured.append(given)
        return self._plugins.profiles(given)

    def _made(self, made: Made) -> None:
        self._began = self._began or made.entry.now
        self._progress(self.replay.attempts)
        self._heard(made)
        if not made.same and self._divergence is None:
            assert self.replay.configured is not None
            here = code_of(self.replay.profiles.values())
            self._divergence = divergence_of(made, self.replay.configured, here)

    def played(self) -> Played:
        """The result so far."""
        replay, torn = self.replay, self.recording.torn
        return Played(
            replay.attempts,
            self._began,
            replay.now,
            self._divergence,
            tuple(map(str, torn)),
            replay.late,
            len(self._configured),
        )
