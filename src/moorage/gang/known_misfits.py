"""What is known of a group beforehand: an equal one did not fit, and nothing has changed since.

If many equal groups wait, an event that makes room wakes all of them. The first that does not fit
tells how the attempts at the others would end. Results are kept only for plain groups: no tree, no
packing, no pod placed yet, and pods without affinity, spread constraints, volumes, claims, owners
or nominations, filtered by kube-scheduler's own plugins only.
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
    """(position in the order in which pods were tried, why that pod was refused)."""


class KnownMisfits:
    """The results for groups that do not fit as things stand; equal groups share one."""

    def __init__(self, cache: Cache, clock: Clock, profiles: Profiles, holds: Holds) -> None:
        self._cache = cache
        self._clock = clock
        self._profiles = profiles
        self._holds = holds
        self._as_of: Hashable = None
        self._known: dict[Hashable, _Known] = {}

    def forget(self) -> None:
        """Forget everything: something has changed that the cache does not count, as a group."""
        self._known.clear()

    def find(self, group: Group, members: list[QueuedPod], cycles: Cycles) -> Misfit | None:
        """How an attempt at a group would end: as the attempt at an equal one; None if unknown."""
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
        """Keep the result of an attempt that evicts no pod; `said` is why it evicts none."""
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
        """Whether an equal pod would be refused the same way, until something changes."""
        if not isinstance(refused.why, Unschedulable):
            return False
        profile = self._profiles.by_name[refused.queued.info.pod.spec.scheduler_name]
        grounds = lasting_grounds(refused.cycle, profile, refused.why)
        return grounds is not None and set(grounds.signing_plugins) <= {NAME} and _is_plain(profile)

    def _in_common(self, group: Group, members: list[QueuedPod]) -> Hashable | None:
        """A key that is equal for groups with the same result; None if that is not certain."""
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
    """Whether scores and preemption depend only on specs, labels and the cache.

    They do not with percentageOfNodesToScore: each attempt begins where the last one ended.
    """
    if profile.percentage_of_nodes_to_score is not None:
        return False
    asked = (*(entry.plugin for entry in profile.score), *(each for _, each in profile.post_filter))
    return all(
        type(plugin).__module__.startswith(_OWN_PLUGINS) or _promises(plugin) for plugin in asked
    )


def _promises(plugin: object) -> bool:
    return bool(getattr(plugin, "same_for_equal_pods", False))
