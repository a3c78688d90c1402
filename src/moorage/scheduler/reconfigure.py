"""Another configuration takes over, between two attempts, in one call without an `await`.

1. Profiles in which nothing differs stay as they are; the others take over what their predecessors
   had booked.
2. Whoever holds something of the profiles looks at the new ones.
3. The queue goes by their order, gates and hints. Pods of profiles that are gone are let go; those
   of profiles that are new are looked up among all that is known.

What is under way goes on with the profile it began with: a pod that was placed is bound, or undone,
by the plugins that placed it.
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
    """Puts versions in force, and lets everyone look at profiles that have changed."""

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
        """Put a version in force; the names of the profiles that are not what they were."""
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
        """Ask plugins what they will be asked when the version takes over, while nothing depends
        on it; raises what they raise."""
        profiles = list(version.profiles.values())
        for variants_of in self._features.variants_of:
            profiles += variants_of(version)
        self._handles.give(profiles)
        settings = settings_for(profiles, version.backoff, self._features.rank)
        sorted(map(settings.sort_key, self._queue))

    def rejoin(self, changed: Collection[str]) -> None:
        """Let everyone look at the profiles in force; `changed` are those that differ."""
        self._handles.give(self._profiles)
        for reconfigured in self._features.reconfigured:
            reconfigured()
        self._queue.reconfigure(self._settings(), changed, self._clock.now())
        self._wake()

    def let_go(self, gone: Collection[str]) -> None:
        """Pods of profiles that are gone wait for nobody of ours."""
        for let_go in self._features.let_go:
            let_go(gone)

    def look_up(self, new: Collection[str]) -> None:
        """Pods that have waited for a profile that there was not."""
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
