"""Another configuration takes over, between two attempts, in one call without an `await`.

1. Profiles in which nothing differs stay in use; the others inherit the state of their
   predecessors (`profile_handover`).
2. Features that hold something of the profiles are told to look at the new ones (`reconfigured`).
3. The queue gets the new order, PreEnqueue plugins and hints. Pods of profiles that are gone are
   dropped; pods of profiles that are new are added from the objects the reflectors know.

Attempts under way end with the profile they began with: a pod that was placed is bound, or its
placement undone, by the plugins that placed it.
"""

from collections.abc import Collection

from moorage.clock import Clock
from moorage.cycle import profile_handover
from moorage.queue.queue_settings import QueueSettings
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.attempt import Cycles
from moorage.scheduler.feature import Features
from moorage.scheduler.handles import Handles
from moorage.scheduler.intake import Believe, KnownObjects
from moorage.scheduler.loop import AttemptGate
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.queue_order import settings_for
from moorage.scheduler.tasks import Wake
from moorage.scheduler.version import Extending, Version
from moorage.watch.api_resources import PODS
from moorage.watch.reflector import Change


class Reconfiguration:
    """Puts versions in force, and passes changed profiles to plugins, features and the queue."""

    def __init__(
        self,
        profiles: Profiles,
        queue: SchedulingQueue,
        clock: Clock,
        cycles: Cycles,
        gate: AttemptGate,
        handles: Handles,
        features: Features,
        known: KnownObjects,
        believe: Believe,
        wake: Wake,
    ) -> None:
        self._profiles = profiles
        self._queue = queue
        self._clock = clock
        self._cycles = cycles
        self._gate = gate
        self._handles = handles
        self._features = features
        self._known = known
        self._believe = believe
        self._wake = wake

    def install(self, version: Version) -> frozenset[str]:
        """Put a version in force; the names of the profiles that have changed."""
        before = dict(self._profiles.by_name)
        after = {
            name: profile_handover.replace_profile(before.get(name), made)
            for name, made in version.profiles.items()
        }
        changed = frozenset(name for name, made in after.items() if before.get(name) is not made)
        for configure in self._features.configure:
            changed |= frozenset(configure(version, after, changed))
        if version.extending is not None:
            changed = frozenset(after)
            self._ask(version.extending)
        self._profiles.replace(version, after)
        self.rejoin(changed)
        self.let_go(before.keys() - after.keys())
        self.look_up(after.keys() - before.keys())
        for configured in self._features.configured:
            configured(version)
        return changed

    def check(self, version: Version) -> None:
        """Call plugins as they will be called when the version takes over; raises what they raise.

        Nothing is changed: the version in force goes on.
        """
        profiles = list(version.profiles.values())
        for variants_of in self._features.variants_of:
            profiles += variants_of(version)
        self._handles.give(profiles)
        settings = settings_for(profiles, version.backoff, self._features.rank)
        sorted(map(settings.sort_key, self._queue))

    def rejoin(self, changed: Collection[str]) -> None:
        """Pass the profiles in force to plugins, features and the queue; `changed` are new."""
        self._handles.give(self._profiles)
        for reconfigured in self._features.reconfigured:
            reconfigured()
        self._queue.reconfigure(self._settings(), changed, self._clock.now())
        self._wake()

    def let_go(self, gone: Collection[str]) -> None:
        """Tell features which scheduler names no longer have a profile."""
        for let_go in self._features.let_go:
            let_go(gone)

    def look_up(self, new: Collection[str]) -> None:
        """Queue the pods that have been waiting for profiles which are new."""
        for pod in self._known.pods():
            if pod.spec.scheduler_name not in new or pod.spec.node_name or pod.is_terminal:
                continue
            if not self._queue.keep(pod.uid):
                self._believe(Change("added", new=pod), PODS)

    def _ask(self, extending: Extending) -> None:
        self._cycles.ask(extending.extenders)
        self._gate.take_turns(extending.turns)

    def _settings(self) -> QueueSettings:
        return settings_for(self._profiles, self._profiles.backoff, self._features.rank)
