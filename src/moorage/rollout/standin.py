"""Standing in: a profile takes another scheduler's pods while that scheduler's Lease is expired.

1. Every Lease is read periodically, also on standbys, so that a new leader knows its state at once.
2. When a Lease has expired (`lease_sight`), the profile decides under the other name as well: the
   pending pods of that name are queued.
3. When the Lease is renewed, or cannot be read, that ends, and these pods leave the queue. Bindings
   in progress go on; if the other scheduler was quicker, the API server refuses, and the pod leaves
   the queue then.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from moorage.bind.event_recorder import EventRecorder, EventType, lease_reference
from moorage.clock import Clock, within
from moorage.cycle.profile import Profile
from moorage.observe import catalogue
from moorage.observe.metric_families import Family, gauge
from moorage.rollout.lease_sight import LeaseSight, StandIn
from moorage.scheduler.feature import Feature
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.reconfigure import Reconfiguration
from moorage.scheduler.tasks import Later, Start
from moorage.scheduler.version import Version
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_resources import LEASES
from moorage.watch.api_server import ApiServer

LOOK_SECONDS: Final = 2.0
LOOK_SECONDS_STANDING_IN: Final = 0.5
ANSWER_SECONDS: Final = 5.0

Told = Callable[[int, str], None]


def silent(level: int, sentence: str) -> None:
    """Report nothing."""


class StandIns(Feature):
    """Keeps whom we stand in for. `told` is called with every change and its log level;
    `monotonic` is a monotonic clock."""

    def __init__(
        self,
        clock: Clock,
        server: ApiServer,
        profiles: Profiles,
        recorder: EventRecorder,
        reconfiguration: Reconfiguration,
        start: Start,
        later: Later,
        is_active: Callable[[], bool],
        *,
        told: Told = silent,
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        self._clock = clock
        self._server = server
        self._profiles = profiles
        self._recorder = recorder
        self._reconfiguration = reconfiguration
        self._start = start
        self._later = later
        self._is_active = is_active
        self._told = told
        self._now = clock.now if monotonic is None else monotonic
        self._stand_ins: tuple[StandIn, ...] = ()
        self._taken: dict[str, Profile] = {}
        self._started = False

    def configured(self, version: Version) -> None:
        """Take over a new configuration, whose profiles do not stand in for anybody yet."""
        before, self._stand_ins = self._stand_ins, version.features.get(StandIns, ())
        for one in self._stand_ins:
            if one in before and one.scheduler in self._taken:
                self._put_in_force(one)
            elif self._started and one not in before:
                self._start(self._watch(one), f"stand-in/{one.scheduler}")
        kept = {one.scheduler for one in self._stand_ins}
        self._taken = {name: taken for name, taken in self._taken.items() if name in kept}

    def start(self) -> None:
        """Begin to read the Leases."""
        self._started = True
        for one in self._stand_ins:
            self._start(self._watch(one), f"stand-in/{one.scheduler}")

    def state(self) -> dict[str, bool]:
        """The schedulers to stand in for, and whether we do so now."""
        return {one.scheduler: one.scheduler in self._taken for one in self._stand_ins}

    def families(self) -> Iterable[Family]:
        yield gauge(catalogue.STANDING_IN, [((name,), on) for name, on in self.state().items()])

    async def _watch(self, one: StandIn) -> None:
        sight, trouble = LeaseSight(absence_counts=one.absence_counts), ""
        while one in self._stand_ins:
            trouble = await self._look(one, sight, trouble)
            expired = sight.has_expired(self._now())
            self._later(partial(self._settle, one, sight, expired))
            standing = one.scheduler in self._taken
            await self._clock.sleep(LOOK_SECONDS_STANDING_IN if standing else LOOK_SECONDS)

    async def _look(self, one: StandIn, sight: LeaseSight, trouble: str) -> str:
        """Read the Lease; an obstacle is reported once, and returned."""
        asking = self._server.get(LEASES, one.namespace, one.lease)
        found = ""
        try:
            lease = await within(self._clock, ANSWER_SECONDS, asking)
            sight.seen(lease.get("spec") or {}, self._now())
        except NotFound:
            sight.seen(None, self._now())
            found = "there is no such Lease" + ("" if one.absence_counts else _NOBODY_KNOWS)
        except (ApiError, TimeoutError) as error:
            sight.unseen()
            found = f"it cannot be read: {error}{_NOBODY_KNOWS}"
        if found and found != trouble:
            self._told(logging.WARNING, f"Lease {one.namespace}/{one.lease}: {found}")
        return found

    def _settle(self, one: StandIn, sight: LeaseSight, expired: bool) -> None:
        """Begin or end standing in, between two attempts, as the Lease requires."""
        if one not in self._stand_ins:
            return
        profiles, name = self._profiles.by_name, one.scheduler
        ours = name in self._taken and profiles.get(name) is self._taken[name]
        if expired and name not in profiles and one.profile in profiles:
            self._take(one, sight)
        elif ours and not expired:
            self._give_back(one, sight)
        elif not ours:
            self._taken.pop(name, None)

    def _take(self, one: StandIn, sight: LeaseSight) -> None:
        self._put_in_force(one)
        silent = f"has not been renewed for {sight.seconds:g} s"
        why = "is not there" if sight.is_absent else silent
        self._say(one, "Warning", "StandingIn", f"takes the pods of {one.scheduler}", why)

    def _put_in_force(self, one: StandIn) -> None:
        """Put the profile in force under the other name too, with everything it has computed."""
        profiles = self._profiles.by_name
        if one.scheduler in profiles or one.profile not in profiles:
            return
        self._taken[one.scheduler] = profiles[one.profile].named(one.scheduler)
        self._profiles.add(one.scheduler, self._taken[one.scheduler])
        self._reconfiguration.rejoin({one.scheduler})
        self._reconfiguration.look_up({one.scheduler})

    def _give_back(self, one: StandIn, sight: LeaseSight) -> None:
        self._profiles.remove(one.scheduler)
        del self._taken[one.scheduler]
        self._reconfiguration.rejoin(())
        self._reconfiguration.let_go({one.scheduler})
        holder = f"has been renewed by {sight.holder}" if sight.holder else "cannot be judged"
        self._say(one, "Normal", "GivenBack", f"gives back the pods of {one.scheduler}", holder)

    def _say(self, one: StandIn, type_: EventType, reason: str, what: str, why: str) -> None:
        sentence = f"profile {one.profile} {what}: Lease {one.namespace}/{one.lease} {why}"
        self._told(logging.WARNING if type_ == "Warning" else logging.INFO, sentence)
        if self._is_active():
            lease = lease_reference(one.namespace, one.lease)
            self._recorder.record(one.profile, lease, type_, reason, "StandIn", sentence)


_NOBODY_KNOWS: Final = ", so nobody stands in"
