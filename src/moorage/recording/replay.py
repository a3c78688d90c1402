"""Plays a recording back on a cache of its own: the same changes, the same attempts, compared.

1. Every recorded change is applied to a cache that begins empty.
2. Every attempt is repeated with the plugins installed here, and with the recorded time, tie
   key, extender answers and noted state. Its outcome is compared with the recorded one.
3. Reserve and Unreserve plugins are called where they were called then. Permit, PreBind, Bind and
   PostBind plugins are not called, because they act on the outside world.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import msgspec

from moorage.api.kinds import KINDS
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.resource_claims import ResourceClaim
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.cycle import attempt, filtering
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.filtering import Filtering
from moorage.cycle.profile import Profile
from moorage.cycle.profile_handover import replace_profile
from moorage.devices.device_cache import device_cache
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import NO_EXTENDERS
from moorage.framework.plugin import give_handles
from moorage.framework.verdicts import SchedulingError
from moorage.recording import entries
from moorage.recording.entries import AnyEntry, Attempt, Configured, Failed, Outcome
from moorage.recording.extender_answers import GivenExtenders
from moorage.recording.noted_state import by_name
from moorage.recording.outcomes import failure_of, outcome_of
from moorage.scheduler.placement import reserve, unplace


class Made(NamedTuple):
    """A repeated attempt, with its inputs."""

    entry: Attempt
    info: PodInfo
    profile: Profile
    cycle: Cycle
    decided: Decision | Unschedulable | None
    outcome: Outcome
    same: bool


class Held(NamedTuple):
    """A pod that is assumed on a node, and the attempt that placed it."""

    profile: Profile
    cycle: Cycle
    node: Node


ProfilesOf = Callable[[Configured], Mapping[str, Profile]]


class Replay:
    """Applies entries, one after the other; `made` is called with every repeated attempt."""

    def __init__(self, profiles_of: ProfilesOf, made: Callable[[Made], None]) -> None:
        self._profiles_of = profiles_of
        self._made = made
        self.attempts = 0
        self.late = 0
        """Attempts that failed because a plugin missed its deadline; a replay cannot repeat it."""
        self.runs = 0
        self._forget_everything()
        self._steps = self._all_steps()

    def _forget_everything(self) -> None:
        self.cache = Cache()
        self.now = 0.0
        self.pods: dict[str, PodInfo] = {}
        """Every known pod, whether it has a node or is pending."""
        self.configured: Configured | None = None
        self.profiles: dict[str, Profile] = {}
        self._without_room: dict[str, Profile] = {}
        self._states = by_name()
        self._noted: dict[tuple[str, str], Any] = {}
        self._fresh: set[tuple[str, str]] = set()
        self._last: dict[str, Made] = {}
        self.held: dict[str, Held] = {}
        self._trials: list[AbstractContextManager[None]] = []

    def _all_steps(self) -> dict[type[Any], Callable[[Any], object]]:
        return {
            entries.Began: self._began,
            entries.PodSeen: self._pod_seen,
            entries.PodPut: self._pod_put,
            entries.PodGone: self._pod_gone,
            entries.NodePut: lambda entry: self.cache.put_node(entry.node),
            entries.NodeGone: self._node_gone,
            entries.ObjectPut: self._object_put,
            entries.ObjectGone: self._object_gone,
            entries.Assumed: self._assumed,
            entries.Forgotten: self._forgotten,
            entries.Nominated: self._nominated,
            entries.Denominated: lambda entry: self.cache.nominations.remove(entry.uid),
            entries.Resting: self._resting,
            entries.Rested: lambda entry: self.cache.resting.pop(entry.node, None),
            entries.TrialBegun: self._trial_begun,
            entries.TrialEnded: lambda _: self._trials.pop().__exit__(None, None, None),
            entries.Imagined: self._imagined,
            entries.Removed: self._removed,
            entries.Configured: self._configured,
            entries.Noted: self._note,
            entries.Clock: self._clock,
            entries.Arranged: self._arranged,
            entries.ClaimAssumed: self._claim_assumed,
            entries.ClaimSettled: self._claim_settled,
            entries.Reserved: self._reserved,
            entries.Attempt: self._attempt,
        }

    def apply(self, entry: AnyEntry) -> None:
        """Apply one entry."""
        self._steps[type(entry)](entry)

    def _began(self, entry: entries.Began) -> None:
        self._forget_everything()
        self.runs += 1
        self.now = entry.now

    def _pod_seen(self, entry: entries.PodSeen) -> None:
        self.pods[entry.pod.metadata.uid] = self.cache.info(entry.pod)

    def _pod_put(self, entry: entries.PodPut) -> None:
        self.held.pop(entry.uid, None)
        self._last.pop(entry.uid, None)
        self.cache.put_pod(self.pods[entry.uid].pod)

    def _pod_gone(self, entry: entries.PodGone) -> None:
        for known in (self.pods, self.held, self._last):
            known.pop(entry.uid, None)
        self.cache.remove_pod(entry.uid)

    def _node_gone(self, entry: entries.NodeGone) -> None:
        row = self.cache.table.row_of.get(entry.name)
        if row is not None:
            self.cache.remove_node(self.cache.table.node(row))

    def _object_put(self, entry: entries.ObjectPut) -> None:
        kind = KINDS[entry.kind].struct
        self.cache.objects.put(msgspec.msgpack.decode(entry.raw, type=kind))

    def _object_gone(self, entry: entries.ObjectGone) -> None:
        namespace, _, name = entry.key.rpartition("/")
        found = self.cache.objects.get(KINDS[entry.kind].struct, name, namespace)
        if found is not None:
            self.cache.objects.remove(found)

    def _assumed(self, entry: entries.Assumed) -> None:
        made = self._last.get(entry.uid)
        info = self.pods[entry.uid]
        if made is None or not isinstance(made.decided, Decision):
            self.cache.assume(info, entry.node)
            return
        table = self.cache.table
        node = table.node(table.row_of[entry.node])
        self.cache.assume(made.info, entry.node)
        self.held[entry.uid] = Held(made.profile, made.cycle, node)
        with contextlib.suppress(SchedulingError):  # the recording says what became of it
            reserve(made.profile, made.cycle, node)

    def _reserved(self, entry: entries.Reserved) -> None:
        profile, info = self.profiles[entry.profile], self.pods[entry.uid]
        row = self.cache.table.row_of[entry.node]
        cycle = Cycle(self.cache, info, now=entry.now, shared=profile.shared)
        found, node = Filtering(cycle), self.cache.table.node(row)
        with contextlib.suppress(SchedulingError):
            filtering.pre_filter(profile, cycle, found)
            filtering.refusal(cycle, found.active, row)
        self.cache.assume(info, entry.node)
        self.held[entry.uid] = Held(profile, cycle, node)
        with contextlib.suppress(SchedulingError):
            reserve(profile, cycle, node)

    def _forgotten(self, entry: entries.Forgotten) -> None:
        held = self.held.pop(entry.uid, None)
        if held is not None:
            unplace(held.profile, held.cycle, held.node)
        elif entry.uid in self.cache.assumed:
            found = self.cache.pod(entry.uid)
            assert found is not None
            self.cache.forget(found)

    def _nominated(self, entry: entries.Nominated) -> None:
        self.cache.nominations.put(self.pods[entry.uid], entry.node)

    def _resting(self, entry: entries.Resting) -> None:
        self.cache.resting[entry.node] = entry.until

    def _trial_begun(self, entry: entries.TrialBegun) -> None:
        trial = self.cache.trial()
        trial.__enter__()
        self._trials.append(trial)

    def _imagined(self, entry: entries.Imagined) -> None:
        self.cache.place_on(self.cache.table.row_of[entry.node], self.pods[entry.uid])

    def _removed(self, entry: entries.Removed) -> None:
        found = self.cache.pod(entry.uid)
        if found is not None:
            self.cache.displace(found)

    def _configured(self, entry: Configured) -> None:
        before = self.profiles
        made = self._profiles_of(entry)
        self.profiles = {key: replace_profile(before.get(key), each) for key, each in made.items()}
        self.configured = entry
        for profile in self.profiles.values():
            profile.guards.attach(self._time)
            profile.handles = give_handles(profile.plugins, self.cache, profile.shared, self._time)
        self._without_room = {
            key: each.without_post_filter() for key, each in self.profiles.items()
        }
        self._fresh |= self._noted.keys()
        self._noted = dict.fromkeys(self._noted)

    def seen(self) -> Iterator[Pod]:
        """Every known pod, whether it has a node or is pending."""
        return (info.pod for info in self.pods.values())

    def reserved_by(self, info: PodInfo) -> tuple[Profile, float] | None:
        """The profile whose Reserve plugins reserved an assumed pod, and when."""
        held = self.held.get(info.uid)
        return None if held is None else (held.profile, held.cycle.now)

    @property
    def in_trial(self) -> bool:
        """Whether a trial is open."""
        return bool(self._trials)

    @property
    def noted(self) -> Mapping[tuple[str, str], Any]:
        """State of features, by its name and profile."""
        return self._noted

    def _time(self) -> float:
        return self.now

    def _note(self, entry: entries.Noted) -> None:
        self._noted[entry.what, entry.profile] = entry.value
        self._fresh.add((entry.what, entry.profile))

    def _clock(self, entry: entries.Clock) -> None:
        self.now = entry.now

    def _arranged(self, entry: entries.Arranged) -> None:
        self.cache.arrange(entry.order)
        for key, start in entry.next_start:
            if key in self.profiles:
                self.profiles[key].progress.next_start = start

    def _claim_assumed(self, entry: entries.ClaimAssumed) -> None:
        claim = msgspec.msgpack.decode(entry.raw, type=ResourceClaim)
        device_cache(self.cache).claims.assume(claim, is_new=entry.is_new)

    def _claim_settled(self, entry: entries.ClaimSettled) -> None:
        device_cache(self.cache).claims.end_allocation(entry.uid, entry.key)

    def _attempt(self, entry: Attempt) -> None:
        self.attempts += 1
        self.now = entry.now
        if isinstance(entry.outcome, Failed) and entry.outcome.late:
            self.late += 1
            return
        made = self.make(entry)
        self._last[entry.uid] = made
        self._made(made)

    def make(self, entry: Attempt) -> Made:
        """Repeat an attempt on the current state."""
        key = f"{entry.profile}@{entry.version}" if entry.version else entry.profile
        known = self.profiles if entry.makes_room else self._without_room
        profile, info = known[key], self.pods[entry.uid]
        cycle = self._cycle(entry, profile, info)
        self._put_back(key, cycle)
        decided: Decision | Unschedulable | None = None
        try:
            decided = attempt.run(profile, cycle)
            outcome = outcome_of(decided)
        except Exception as error:
            outcome = failure_of(error)
        same = outcome == entry.outcome
        return Made(entry, info, profile, cycle, decided, outcome, same)

    def _cycle(self, entry: Attempt, profile: Profile, info: PodInfo) -> Cycle:
        return Cycle(
            self.cache,
            info,
            tie_key=entry.tie_key,
            now=entry.now,
            attempt=entry.id,
            shared=profile.shared,
            extenders=GivenExtenders(entry.answers) if entry.asks else NO_EXTENDERS,
        )

    def _put_back(self, key: str, cycle: Cycle) -> None:
        if not self._noted:
            return
        for name, state in self._states.items():
            at = (name, key)
            if at in self._noted and (at in self._fresh or state.of_attempt):
                state.put_back(cycle, self._noted[at])
                self._fresh.discard(at)
