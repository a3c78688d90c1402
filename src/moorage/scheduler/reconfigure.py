"""Another configuration takes over, between two attempts, in one call without an `await`.

1. Profiles in which nothing differs stay as they are; the others take over what their predecessors
   had booked.
2. Whoever holds something of the profiles looks at the new ones.
3. The queue goes by their order, gates and hints. Pods of profiles that are gone are let go; those
   of profiles that are new are looked up among all that is known.

What is under way goes on with the profile it began with: a pod that was placed is bound, or undone,
by the plugins that placed it.
"""

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, NamedTuple

from moorage.api.pod import Pod
from moorage.config.profile_canary import STABLE
from moorage.cycle import profile_handover
from moorage.cycle.profile import Profile
from moorage.extender.async_bridge import DecisionThread
from moorage.framework.extenders import Extenders
from moorage.queue.backoff import Backoff
from moorage.rollout.canary import Canary
from moorage.rollout.lease_sight import StandIn
from moorage.scheduler.profile_queue import attach, settings_for
from moorage.watch.api_resources import PODS
from moorage.watch.reflector import Change

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler


class Extending(NamedTuple):
    """Extenders, and how attempts that ask them take turns with everything else."""

    extenders: Extenders
    turns: DecisionThread | None


class Version(NamedTuple):
    """A whole configuration, ready to take over."""

    generation: int
    digest: str
    profiles: Mapping[str, Profile]
    backoff: Backoff
    canaries: Mapping[str, Canary] = {}
    extending: Extending | None = None
    """The extenders, where they are not those of the version before."""
    stand_ins: tuple[StandIn, ...] = ()


def install(desk: "Scheduler", version: Version) -> frozenset[str]:
    """Put a version in force; the names of the profiles that are not what they were."""
    lineup, before = desk.lineup, dict(desk.profiles)
    after = {
        name: profile_handover.replace_profile(before.get(name), made)
        for name, made in version.profiles.items()
    }
    changed = frozenset(name for name, profile in after.items() if before.get(name) is not profile)
    canaries = {
        name: _succeed(lineup.canaries.get(name), canary, unchanged=name not in changed)
        for name, canary in version.canaries.items()
    }
    for name, canary in canaries.items():
        profile_handover.hand_over_state(after[name], canary.profile)
    changed |= _differing(lineup.canaries, canaries)
    if version.extending is not None:
        changed = frozenset(after)
        desk.extenders = version.extending.extenders
        desk.deciding.take_turns(version.extending.turns)
    lineup.profiles.clear()
    lineup.profiles.update(after)
    lineup.canaries = canaries
    lineup.generation, lineup.digest = version.generation, version.digest
    desk.backoff = version.backoff
    rejoin(desk, changed)
    let_go(desk, before.keys() - after.keys())
    look_up(desk, after.keys() - before.keys())
    desk.standing.stand_in(version.stand_ins)
    return changed


def check(desk: "Scheduler", version: Version) -> None:
    """Ask plugins what they will be asked when the version takes over, while nothing depends on
    it; raises what they raise."""
    profiles = [*version.profiles.values(), *(each.profile for each in version.canaries.values())]
    settings = settings_for(profiles, version.backoff, desk.groups)
    sorted(map(settings.sort_key, desk.queue))


def rejoin(desk: "Scheduler", changed: Container[str]) -> None:
    """Let everyone look at the profiles of the lineup; `changed` are those that differ."""
    lineup, now = desk.lineup, desk.clock.now()
    for name, profile in lineup.profiles.items():
        profile.version = STABLE if name in lineup.canaries else ""
    attach(lineup, desk.cache, desk.clock, desk.guard_telling)
    desk.preempting.rejoin()
    desk.ganging.rejoin()
    desk.quoting.rejoin()
    desk.queue.reconfigure(settings_for(lineup, desk.backoff, desk.groups), changed, now)
    desk.wake()


def _succeed(before: Canary | None, after: Canary, *, unchanged: bool) -> Canary:
    """A canary that stays the same stays given up, and beside the same version goes on counting."""
    if before is None or before.given != after.given:
        return after
    if not profile_handover.is_same_profile(before.profile, after.profile):
        return after
    if unchanged:
        return before
    after.given_up = before.given_up
    return after


def _differing(before: Mapping[str, Canary], after: Mapping[str, Canary]) -> frozenset[str]:
    names = {*before, *after}
    return frozenset(name for name in names if before.get(name) is not after.get(name))


def let_go(desk: "Scheduler", gone: Container[str]) -> None:
    """Pods of profiles that are gone wait for nobody of ours."""
    for group in desk.groups:
        left = [pod.uid for pod in group.waiting.values() if pod.spec.scheduler_name in gone]
        for uid in left:
            desk.groups.remove_pod(uid)
        if left:
            desk.ganging.review(group)


def look_up(desk: "Scheduler", new: Container[str]) -> None:
    """Pods that have waited for a profile that there was not."""
    for pod in list(desk.reflectors[PODS.plural].known.values()):
        if not isinstance(pod, Pod) or pod.spec.scheduler_name not in new:
            continue
        if not pod.spec.node_name and not pod.is_terminal and not desk.queue.keep(pod.uid):
            desk.ganging.apply(Change("added", new=pod), PODS)
