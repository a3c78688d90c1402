"""Standing in: a profile takes another scheduler's pods while that scheduler's Lease is expired.

1. Every Lease is read again and again, on standbys too, so that a new leader knows at once.
2. When it has expired (`lease_sight`), the profile decides under the other's name as well: pods of
   that name that wait are queued.
3. When it is renewed, or cannot be read, that ends: they are let go. What is being bound is bound;
   where the other was quicker, the API server refuses, and the pod is let go then.
"""

import asyncio
import copy
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from moorage.bind.event_recorder import EventType, lease_reference
from moorage.clock import within
from moorage.cycle.profile import Profile
from moorage.rollout.lease_sight import LeaseSight, StandIn
from moorage.scheduler import reconfigure
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_resources import LEASES

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler

LOOK_SECONDS: Final = 2.0
LOOK_SECONDS_STANDING_IN: Final = 0.5
ANSWER_SECONDS: Final = 5.0

Told = Callable[[int, str], None]


class StandIns:
    """Who is stood in for; `told` hears of every change, with its importance."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._desk = scheduler
        self._stand_ins: tuple[StandIn, ...] = ()
        self._taken: dict[str, Profile] = {}
        self._started = False
        self.now: Callable[[], float] = scheduler.clock.now
        """A clock that nobody sets."""
        self.told: Told = lambda level, sentence: None

    def stand_in(self, stand_ins: tuple[StandIn, ...]) -> None:
        """Another configuration is in force, and knows nothing of whom we stand in for."""
        before, self._stand_ins = self._stand_ins, stand_ins
        for one in stand_ins:
            if one in before and one.scheduler in self._taken:
                self._put_in_force(one)
            elif self._started and one not in before:
                self._desk.start(self._watch(one), f"stand-in/{one.scheduler}")
        kept = {one.scheduler for one in stand_ins}
        self._taken = {name: taken for name, taken in self._taken.items() if name in kept}

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Begin to watch."""
        self._started = True
        for one in self._stand_ins:
            tasks.create_task(self._watch(one), name=f"stand-in/{one.scheduler}")

    def state(self) -> dict[str, bool]:
        """Whom there is to stand in for, and whether that is so now."""
        return {one.scheduler: one.scheduler in self._taken for one in self._stand_ins}

    async def _watch(self, one: StandIn) -> None:
        sight, trouble = LeaseSight(absence_counts=one.absence_counts), ""
        while one in self._stand_ins:
            trouble = await self._look(one, sight, trouble)
            expired = sight.has_expired(self.now())
            self._desk.deciding.later(partial(self._settle, one, sight, expired))
            standing = one.scheduler in self._taken
            await self._desk.clock.sleep(LOOK_SECONDS_STANDING_IN if standing else LOOK_SECONDS)

    async def _look(self, one: StandIn, sight: LeaseSight, trouble: str) -> str:
        """Read the Lease; what is in the way of that is told once, and returned."""
        asking = self._desk.server.get(LEASES, one.namespace, one.lease)
        found = ""
        try:
            lease = await within(self._desk.clock, ANSWER_SECONDS, asking)
            sight.seen(lease.get("spec") or {}, self.now())
        except NotFound:
            sight.seen(None, self.now())
            found = "there is no such Lease" + ("" if one.absence_counts else _NOBODY_KNOWS)
        except (ApiError, TimeoutError) as error:
            sight.unseen()
            found = f"it cannot be read: {error}{_NOBODY_KNOWS}"
        if found and found != trouble:
            self.told(logging.WARNING, f"Lease {one.namespace}/{one.lease}: {found}")
        return found

    def _settle(self, one: StandIn, sight: LeaseSight, expired: bool) -> None:
        """Between two attempts: have what there should be."""
        if one not in self._stand_ins:
            return
        profiles, name = self._desk.lineup.profiles, one.scheduler
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
        """The profile under another name, with everything it has computed."""
        desk, profiles = self._desk, self._desk.lineup.profiles
        if one.scheduler in profiles or one.profile not in profiles:
            return
        acting = copy.copy(profiles[one.profile])
        acting.scheduler_name, acting.version = one.scheduler, ""
        profiles[one.scheduler] = self._taken[one.scheduler] = acting
        reconfigure.rejoin(desk, {one.scheduler})
        reconfigure.look_up(desk, {one.scheduler})

    def _give_back(self, one: StandIn, sight: LeaseSight) -> None:
        desk = self._desk
        del desk.lineup.profiles[one.scheduler], self._taken[one.scheduler]
        reconfigure.rejoin(desk, ())
        reconfigure.let_go(desk, {one.scheduler})
        holder = f"has been renewed by {sight.holder}" if sight.holder else "cannot be judged"
        self._say(one, "Normal", "GivenBack", f"gives back the pods of {one.scheduler}", holder)

    def _say(self, one: StandIn, type_: EventType, reason: str, what: str, why: str) -> None:
        desk = self._desk
        sentence = f"profile {one.profile} {what}: Lease {one.namespace}/{one.lease} {why}"
        self.told(logging.WARNING if type_ == "Warning" else logging.INFO, sentence)
        if desk.active.is_set():
            lease = lease_reference(one.namespace, one.lease)
            desk.recorder.record(one.profile, lease, type_, reason, "StandIn", sentence)


_NOBODY_KNOWS: Final = ", so nobody stands in"
