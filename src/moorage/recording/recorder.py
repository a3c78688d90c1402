"""The recorder: it replaces a scheduler's cache, and the function that decides.

    recorder = Recorder(Journal(...), clock.now)
    assemble(..., cache=recorder.cache, decide=recorder.decide)

Every attempt is an entry with its inputs other than the cache: the time, the key
of draws among equals, and the answers of extenders. State of features is recorded before it, if it
has changed.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.profile import Profile
from moorage.devices.device_cache import device_cache
from moorage.framework.cycle import Cycle
from moorage.recording.checkpoint import checkpoint, profile_key
from moorage.recording.entries import (
    Attempt,
    Began,
    Configured,
    Entry,
    Noted,
    Outcome,
    Snapshot,
)
from moorage.recording.extender_answers import NotedExtenders
from moorage.recording.noted_state import STATES, NotedState, is_quiet
from moorage.recording.outcomes import failure_of, outcome_of
from moorage.recording.recorded_cache import ChangeLog, RecordedCache
from moorage.recording.retention import Rotation


class Recorder:
    """Calls `write` with every entry, in order."""

    def __init__(
        self,
        write: Callable[[Entry], None],
        now: Callable[[], float],
        rotation: Rotation | None = None,
    ) -> None:
        self._log = ChangeLog(write, now)
        self._write = write
        self._now = now
        self._rotation = rotation or Rotation()
        self.cache: Cache = RecordedCache(self._log, self._rotation, self._rotate)
        self._devices = device_cache(self.cache)
        self._configured: Configured | None = None
        self.profiles: dict[str, Profile] = {}
        """The profiles that have decided, by `profile_key`."""
        self._profile: Profile | None = None
        self._makes_room = True
        write(Began(now()))
        self._noted: dict[str, list[tuple[Any, Any]]] = {}
        """Version and value of each state as last recorded, by profile."""

    def configured(self, configuration: Configured) -> None:
        """Record that another configuration is in force from now on."""
        self._noted.clear()
        self.profiles.clear()
        self._profile, self._configured = None, configuration
        self._write(configuration)

    def decide(self, profile: Profile, cycle: Cycle) -> Decision | Unschedulable:
        """Make an attempt as without a recorder, and record its outcome."""
        log = self._log
        if self._rotation.due:
            self._rotate()
        if profile is not self._profile:
            self._met(profile)
        if log.known.get(cycle.incoming.uid) is not cycle.pod:
            log.pod(cycle.pod)
        if self._noted or not is_quiet(cycle, self._devices):
            self._note(profile, cycle)
        asked = self._ask(cycle) if cycle.extenders else None
        log.muted = True
        try:
            decided = attempt.run(profile, cycle)
        except Exception as error:
            self._tell(profile, cycle, failure_of(error), asked)
            raise
        finally:
            log.muted = False
        self._tell(profile, cycle, outcome_of(decided), asked)
        return decided

    def _met(self, profile: Profile) -> None:
        self._profile, self._makes_room = profile, bool(profile.post_filter)
        if self._makes_room or profile_key(profile) not in self.profiles:
            self.profiles[profile_key(profile)] = profile

    def _rotate(self) -> None:
        """Begin a new file with a snapshot of the state, unless a trial is open."""
        if not self.cache.in_trial:
            self._rotation.due = False
            self._write(Snapshot(tuple(checkpoint(self._believed()))))

    def _believed(self) -> "BelievedNow":
        noted = {
            (state.name, profile): value
            for profile, known in self._noted.items()
            for state, (_, value) in zip(STATES, known, strict=True)
            if value is not None
        }
        known = self._log.known.values()
        return BelievedNow(
            self.cache, self._now(), self._configured, self.profiles, noted, tuple(known)
        )

    def _ask(self, cycle: Cycle) -> NotedExtenders:
        asked = cycle.extenders = NotedExtenders(cycle.extenders, self._log)
        return asked

    def _tell(
        self,
        profile: Profile,
        cycle: Cycle,
        outcome: Outcome,
        asked: NotedExtenders | None,
    ) -> None:
        write = self._write
        write(
            Attempt(
                cycle.attempt,
                cycle.incoming.uid,
                profile.scheduler_name,
                profile.version,
                cycle.now,
                cycle.tie_key,
                outcome,
                self._makes_room,
                asked is not None,
                () if asked is None else tuple(asked.said),
            )
        )

    def _note(self, profile: Profile, cycle: Cycle) -> None:
        name = profile_key(profile)
        if name not in self._noted and is_quiet(cycle, self._devices):
            return
        known = self._noted.get(name)
        if known is None:
            known = self._noted[name] = [(None, None)] * len(STATES)
        for index, state in enumerate(STATES):
            version, value = known[index]
            found = state.version(cycle)
            if found != version:
                known[index] = (found, self._noted_value(state, cycle, name, value))
        if all(value is None for _, value in known):
            del self._noted[name]

    def _noted_value(self, state: NotedState, cycle: Cycle, profile: str, before: Any) -> Any:
        value = state.read(cycle)
        if value != before:
            self._write(Noted(state.name, profile, value))
        return value


class BelievedNow(NamedTuple):
    """The state of a recorded scheduler (`checkpoint.Believed`)."""

    cache: Cache
    now: float
    configured: Configured | None
    profiles: Mapping[str, Profile]
    noted: Mapping[tuple[str, str], Any]
    known: tuple[Pod, ...]

    def seen(self) -> Iterator[Pod]:
        """Every known pod, whether it has a node or is pending."""
        return iter(self.known)

    def reserved_by(self, info: PodInfo) -> tuple[Profile, float] | None:
        """The pod's profile, whose Reserve plugins reserved it, and now as the latest time."""
        profile = self.profiles.get(info.pod.spec.scheduler_name)
        return None if profile is None else (profile, self.now)
