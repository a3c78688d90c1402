"""Feature: what may be added to the scheduler, and when its hooks are called.

A feature overrides the hooks it needs. For each hook, the features that override it are called in
the order in which they were listed; a hook that none overrides costs nothing. A scheduler without
features schedules pods one by one. `moorage.app.assembly` decides which features there are, and
their order.

A change:     adjust -> before -> cache and queue -> after
An attempt:   claims -> profile_for -> foreseen, or the cycle -> nominated, put_back -> refused
Time:         tick before each attempt; sleep until the earliest next_due
A reload:     configure -> reconfigured -> the queue -> let_go -> configured
A preemption: leave_with -> evicting -> (spared) ... (promise_taken_back)
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from moorage.api.pod import Pod
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import Nominated
from moorage.observe.metric_families import Family
from moorage.scheduler.version import Version
from moorage.watch.api_resources import Resource
from moorage.watch.reflector import Change


class Feature:
    """The hooks of a feature; each does nothing unless overridden.

    `hears`: plural names of the resources whose changes are passed to `adjust`, `before` and
    `after`. `optional`: resources to follow if the API server has them, each as a tuple of
    versions, of which the first that is served is used.
    """

    hears: ClassVar[Collection[str]] = ()
    optional: ClassVar[tuple[tuple[Resource, ...], ...]] = ()

    def needs_optional(self) -> bool:
        """Whether no pod may be attempted before the feature's optional resources are known."""
        return False

    def start(self) -> None:
        """Called when the scheduler begins to run: tasks may be started from now on."""

    def adjust(self, change: Change) -> Change:
        """Called first with a change; the result replaces it for everything that comes after."""
        return change

    def before(self, change: Change, resource: Resource) -> None:
        """Called with a change before it is applied to the cache and the queue."""

    def after(self, change: Change, resource: Resource) -> None:
        """Called with a change after it was applied to the cache and the queue."""

    def listed(self, resource: Resource, served: bool) -> None:
        """Called when every object of a resource is known, or it turns out not to be served."""

    def claims(self, queued: QueuedPod) -> bool:
        """Take over the attempt at a pod that was popped; False leaves it to the others.

        A feature that returns True must end the attempt: the queue must get the pod back, or be
        told that it is done.
        """
        return False

    def ranked_as(self, queued: QueuedPod) -> QueuedPod:
        """The pod that QueueSort gets in place of this one."""
        return queued

    def profile_for(self, pod: Pod) -> Profile | None:
        """The profile that decides for a pod; None for the one that its schedulerName names."""
        return None

    def version_of(self, profile: Profile) -> str:
        """The name of this version of a profile; empty if the profile has only one."""
        return ""

    def variants(self) -> Iterable[Profile]:
        """Profiles that decide for some pods, besides those that schedulerNames name."""
        return ()

    def variants_of(self, version: Version) -> Iterable[Profile]:
        """The same, if that version were in force."""
        return ()

    def foreseen(self, queued: QueuedPod, profile: Profile) -> Unschedulable | None:
        """How the attempt at a pod would end, if that is known without a cycle; else None."""
        return None

    def nominated(self, cycle: Cycle, profile: Profile, nominated: Nominated) -> None:
        """Called when a PostFilter plugin has nominated the cycle's pod, or has cleared that."""

    def put_back(self, cycle: Cycle) -> None:
        """Called when the cycle's pod was refused, before it is put back in the queue."""

    def refused(self, cycle: Cycle, profile: Profile, why: Unschedulable) -> None:
        """Called when a pod that was attempted by itself fits nowhere, after it was put back."""

    def tick(self, now: float) -> None:
        """Called before each attempt: do what is due."""

    def next_due(self) -> float | None:
        """When `tick` next has something to do if nothing else happens; None for never."""
        return None

    def configure(
        self, version: Version, profiles: Mapping[str, Profile], changed: frozenset[str]
    ) -> Collection[str]:
        """Called before a version comes into force with these profiles.

        `changed` names the profiles that differ. Return the names of further profiles for whose
        pods something changes.
        """
        return ()

    def reconfigured(self) -> None:
        """Called when other profiles are in force, before the queue is reconfigured with them."""

    def let_go(self, schedulers: Collection[str]) -> None:
        """Called with the scheduler names that no longer have a profile."""

    def configured(self, version: Version) -> None:
        """Called when a version is in force and the pods of its profiles are queued."""

    def families(self) -> Iterable[Family]:
        """The feature's metrics; called at each scrape."""
        return ()

    def leave_with(self, preemptor: Pod, victims: Sequence[Pod]) -> Iterable[Pod]:
        """Further pods that must leave if these victims are evicted."""
        return ()

    def evicting(self, victims: Sequence[Pod]) -> None:
        """Called before pods are evicted."""

    def spared(self, victims: Sequence[Pod]) -> None:
        """Called when pods that were to be evicted stay, as far as is known."""

    def promise_taken_back(self, pod: Pod) -> None:
        """Called when a nomination is withdrawn because the node did not come free."""


Hook = tuple[Callable[..., Any], ...]
F = TypeVar("F", bound=Feature)


class Features:
    """The features in order; each attribute holds the overriding methods of the hook it names."""

    def __init__(self) -> None:
        self._listed: tuple[Feature, ...] = ()
        self._bind()

    def join(self, features: Iterable[Feature]) -> None:
        """Use these features from now on; to be called once, when all are made."""
        self._listed = tuple(features)
        self._bind()

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._listed)

    def find(self, kind: type[F]) -> F | None:
        """The feature of a class; None if the scheduler has none."""
        return next((each for each in self._listed if isinstance(each, kind)), None)

    @property
    def optional(self) -> list[tuple[Resource, ...]]:
        """The versions of each resource that features want followed if it is served."""
        return [versions for feature in self._listed for versions in feature.optional]

    def needs(self, versions: tuple[Resource, ...]) -> bool:
        """Whether a feature needs an optional resource to be known before any attempt."""
        wanting = (feature for feature in self._listed if versions in feature.optional)
        return any(feature.needs_optional() for feature in wanting)

    def adjust(self, plural: str) -> Hook:
        return self._hearing("adjust", plural)

    def before(self, plural: str) -> Hook:
        return self._hearing("before", plural)

    def after(self, plural: str) -> Hook:
        return self._hearing("after", plural)

    def rank(self, queued: QueuedPod) -> QueuedPod:
        """The pod that QueueSort gets in place of this one."""
        for ranked_as in self.ranked_as:
            queued = ranked_as(queued)
        return queued

    def _hearing(self, hook: str, plural: str) -> Hook:
        return self._bound(hook, [each for each in self._listed if plural in each.hears])

    def _bind(self) -> None:
        bound = self._bound
        self.start, self.listed, self.claims = bound("start"), bound("listed"), bound("claims")
        self.ranked_as, self.profile_for = bound("ranked_as"), bound("profile_for")
        self.version_of = bound("version_of")
        self.variants, self.variants_of = bound("variants"), bound("variants_of")
        self.nominated, self.put_back = bound("nominated"), bound("put_back")
        self.foreseen, self.refused = bound("foreseen"), bound("refused")
        self.tick, self.next_due = bound("tick"), bound("next_due")
        self.configure, self.reconfigured = bound("configure"), bound("reconfigured")
        self.let_go, self.configured = bound("let_go"), bound("configured")
        self.leave_with, self.evicting = bound("leave_with"), bound("evicting")
        self.spared, self.families = bound("spared"), bound("families")
        self.promise_taken_back = bound("promise_taken_back")

    def _bound(self, hook: str, features: Iterable[Feature] | None = None) -> Hook:
        listed = self._listed if features is None else features
        own = (each for each in listed if getattr(type(each), hook) is not getattr(Feature, hook))
        return tuple(getattr(each, hook) for each in own)
