"""What is known of a group beforehand: an equal one did not fit, and nothing has changed since.

Where many equal groups wait, whatever makes room wakes all of them: the first that does not fit
tells how the attempts at the others would end. Remembered is what was found for plain groups alone:
no tree, no packing, nobody placed yet, and pods without affinity, volumes, claims or promises,
which only kube-scheduler's own plugins have judged.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from moorage.api.podgroup import OLDER_POD_GROUP_LABEL, POD_GROUP_LABEL
from moorage.cache.cache import Cache
from moorage.cache.podinfo import Feature, PodInfo
from moorage.clock import Clock
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import Rejection
from moorage.gang import topology
from moorage.gang.group import Group
from moorage.gang.holds import Holds
from moorage.gang.plugin import NAME
from moorage.gang.transaction import Misfit, Refused
from moorage.scheduler.attempt import Cycles
from moorage.scheduler.known_refusals import lasting_grounds
from moorage.scheduler.profiles import Profiles

_OWN_PLUGINS = "moorage.plugins."
_UNLIKE = Feature.VOLUMES | Feature.CLAIMS | Feature.POD_AFFINITY


class _Known(NamedTuple):
    misfit: Misfit
    refusals: tuple[tuple[int, Unschedulable | Rejection], ...]
    """Who was refused, by the place in the order in which the pods were tried, and why."""


class KnownMisfits:
    """Which groups do not fit as things stand, by what they have in common, and why."""

    def __init__(self, cache: Cache, clock: Clock, profiles: Profiles, holds: Holds) -> None:
        self._cache = cache
        self._clock = clock
        self._profiles = profiles
        self._holds = holds
        self._as_of: Hashable = None
        self._known: dict[Hashable, _Known] = {}

    def forget(self) -> None:
        """Something has changed that the cache does not know of: a group, or a profile."""
        self._known.clear()

    def find(self, group: Group, members: list[QueuedPod], cycles: Cycles) -> Misfit | None:
        """How an attempt at a group would end: as that at an equal one has ended."""
        self._catch_up()
        alike = self._in_common(group, members) if self._known else None
        known = None if alike is None else self._known.get(alike)
        if known is None:
            return None
        refused = []
        for position, why in known.refusals:
            queued = members[position]
            profile = self._profiles.by_name[queued.info.pod.spec.scheduler_name]
            refused.append(Refused(queued, cycles.begin(queued, profile), why))
        return known.misfit._replace(blocker=refused[0], refused=refused)

    def note(self, group: Group, members: list[QueuedPod], misfit: Misfit, said: str) -> None:
        """Remember how an attempt has ended that evicts nobody; `said` is why it does not."""
        if misfit.blocker is None or not all(map(self._lasts, misfit.refused)):
            return
        self._catch_up()
        alike = self._in_common(group, members)
        if alike is not None:
            places = {queued.info.uid: place for place, queued in enumerate(members)}
            refusals = tuple((places[each.queued.info.uid], each.why) for each in misfit.refused)
            bare = misfit._replace(blocker=None, refused=(), preemption=said)
            self._known[alike] = _Known(bare, refusals)

    def _catch_up(self) -> None:
        now = self._cache.moment, self._holds.version
        if now != self._as_of:
            self._known.clear()
            self._as_of = now

    def _lasts(self, refused: Refused) -> bool:
        """Whether whoever refused a pod would refuse an equal one, until something changes."""
        if not isinstance(refused.why, Unschedulable):
            return False
        profile = self._profiles.by_name[refused.queued.info.pod.spec.scheduler_name]
        grounds = lasting_grounds(refused.cycle, profile, refused.why)
        return grounds is not None and set(grounds.signing_plugins) <= {NAME} and _is_plain(profile)

    def _in_common(self, group: Group, members: list[QueuedPod]) -> Hashable | None:
        """Equal for groups that fare alike; None where that is not certain."""
        found = group.object
        if found is None or group.tree is not None or group.placed or found.spec.min_resources:
            return None
        if topology.wanted_packing(found) != topology.Packing() or group.leaving:
            return None
        if len(members) != len(group.waiting) or not all(map(self._is_ordinary, members)):
            return None
        now = self._clock.now()
        held = self._holds.over(members[0].info.pod, group, now)
        return (
            group.minimum,
            group.priority,
            found.spec.preemption_policy,
            tuple(hold.group.key for hold in held),
            _alike(members),
        )

    def _is_ordinary(self, queued: QueuedPod) -> bool:
        pod, cls = queued.info.pod, queued.info.cls
        if cls.features & _UNLIKE or pod.spec.topology_spread_constraints or pod.owner is not None:
            return False
        promised = self._cache.nominations.node_of(queued.info.uid) is not None
        return not promised and not pod.status.nominated_node_name


def _alike(members: Sequence[QueuedPod]) -> Hashable:
    return tuple((queued.info.cls.like_spec, _labels(queued.info)) for queued in members)


def _labels(info: PodInfo) -> frozenset[tuple[str, str]]:
    own = (POD_GROUP_LABEL, OLDER_POD_GROUP_LABEL)
    return frozenset((key, value) for key, value in info.cls.labels.items() if key not in own)


def _is_plain(profile: Profile) -> bool:
    """Whether nodes are scored, and room is made, by nothing but specs, labels and the cache. Where
    only some nodes are scored, the next attempt goes on where the last one ended."""
    if profile.percentage_of_nodes_to_score is not None:
        return False
    asked = (*(entry.plugin for entry in profile.score), *(each for _, each in profile.post_filter))
    return all(
        type(plugin).__module__.startswith(_OWN_PLUGINS) or _promises(plugin) for plugin in asked
    )


def _promises(plugin: object) -> bool:
    return bool(getattr(plugin, "same_for_equal_pods", False))
