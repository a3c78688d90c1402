"""Feature: what may be added to the scheduler, and where it is asked.

A feature overrides the hooks it needs; for each hook only those that override it are called, in the
order in which they were listed, so that what nobody implements costs nothing. A scheduler with no
feature schedules pods one by one. Which there are, and in which order, is `moorage.app.assembly`'s.

How a change passes:     adjust -> before -> cache and queue -> after
How an attempt passes:   claims -> profile_for -> foreseen, or the cycle -> nominated, put_back
                         -> refused
How time passes:         tick before each attempt; sleep until the earliest next_due
How a reload passes:     configure -> reconfigured -> the queue -> let_go -> configured
How a preemption passes: leave_with -> evicting -> (spared) ... (promise_taken_back)
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
    """Hooks, none of which does anything.

    `hears` are the resources, by plural name, whose changes `adjust`, `before` and `after` are
    called with. `optional` are resources that are followed for it where the API server has them:
    each in the first of its versions that is served.
    """

    hears: ClassVar[Collection[str]] = ()
    optional: ClassVar[tuple[tuple[Resource, ...], ...]] = ()

    def needs_optional(self) -> bool:
        """Whether no pod may be attempted before its optional resources are known."""
        return False

    def start(self) -> None:
        """The scheduler runs: tasks may be started from now on."""

    def adjust(self, change: Change) -> Change:
        """A change as it is to be believed, by everyone that comes after."""
        return change

    def before(self, change: Change, resource: Resource) -> None:
        """A change is about to reach the cache and the queue."""

    def after(self, change: Change, resource: Resource) -> None:
        """Cache and queue know of a change."""

    def listed(self, resource: Resource, served: bool) -> None:
        """Every object of a resource is known; or there can be none, for it is not served."""

    def claims(self, queued: QueuedPod) -> bool:
        """Try a pod that was popped; False leaves it to others. True: it was handed on, and the
        queue is told what became of it."""
        return False

    def ranked_as(self, queued: QueuedPod) -> QueuedPod:
        """The pod that QueueSort is shown in place of this one."""
        return queued

    def profile_for(self, pod: Pod) -> Profile | None:
        """Which profile decides for a pod, if not the one that is named like its scheduler."""
        return None

    def version_of(self, profile: Profile) -> str:
        """Which of several versions of a profile this is; nothing where there is only one."""
        return ""

    def variants(self) -> Iterable[Profile]:
        """Profiles that decide for some pods, beside those that schedulerNames name."""
        return ()

    def variants_of(self, version: Version) -> Iterable[Profile]:
        """The same, if that version were in force."""
        return ()

    def foreseen(self, queued: QueuedPod, profile: Profile) -> Unschedulable | None:
        """How the attempt at a pod would end, where that is known without a cycle."""
        return None

    def nominated(self, cycle: Cycle, profile: Profile, nominated: Nominated) -> None:
        """A PostFilter plugin has found a node where room can be made for the cycle's pod."""

    def put_back(self, cycle: Cycle) -> None:
        """The cycle's pod fits nowhere and is about to go back to the queue."""

    def refused(self, cycle: Cycle, profile: Profile, why: Unschedulable) -> None:
        """The cycle's pod, which was tried by itself, fits nowhere and is back in the queue."""

    def tick(self, now: float) -> None:
        """Called before each attempt: do what is due."""

    def next_due(self) -> float | None:
        """When `tick` has something to do, if nothing happens before."""
        return None

    def configure(
        self, version: Version, profiles: Mapping[str, Profile], changed: frozenset[str]
    ) -> Collection[str]:
        """A version is about to be in force, with these profiles, of which some have changed; the
        names of others for whose pods something changes, too."""
        return ()

    def reconfigured(self) -> None:
        """Other profiles are in force: look at them. The queue goes by them right after."""

    def let_go(self, schedulers: Collection[str]) -> None:
        """Nobody decides for the pods of these schedulers any more."""

    def configured(self, version: Version) -> None:
        """A version is in force, and its pods are queued."""

    def families(self) -> Iterable[Family]:
        """Metrics, read off when somebody looks."""
        return ()

    def leave_with(self, preemptor: Pod, victims: Sequence[Pod]) -> Iterable[Pod]:
        """Pods that have to leave, too, if these are evicted."""
        return ()

    def evicting(self, victims: Sequence[Pod]) -> None:
        """Pods are about to be evicted."""

    def spared(self, victims: Sequence[Pod]) -> None:
        """Pods that were to be evicted stay, as far as is known."""

    def promise_taken_back(self, pod: Pod) -> None:
        """A node that was promised to a pod did not come free, and is promised no longer."""


Hook = tuple[Callable[..., Any], ...]
F = TypeVar("F", bound=Feature)


class Features:
    """The features in their order; each attribute has those that override the hook of its name."""

    def __init__(self) -> None:
        self._listed: tuple[Feature, ...] = ()
        self._bind()

    def join(self, features: Iterable[Feature]) -> None:
        """Once, when all are made: call these from now on."""
        self._listed = tuple(features)
        self._bind()

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._listed)

    def find(self, kind: type[F]) -> F | None:
        """The feature of a kind; None where it was left out."""
        return next((each for each in self._listed if isinstance(each, kind)), None)

    @property
    def optional(self) -> list[tuple[Resource, ...]]:
        """The resources that features want followed where they are served."""
        return [versions for feature in self._listed for versions in feature.optional]

    def needs(self, versions: tuple[Resource, ...]) -> bool:
        """Whether a feature cannot do without knowing an optional resource."""
        wanting = (feature for feature in self._listed if versions in feature.optional)
        return any(feature.needs_optional() for feature in wanting)

    def adjust(self, plural: str) -> Hook:
        return self._hearing("adjust", plural)

    def before(self, plural: str) -> Hook:
        return self._hearing("before", plural)

    def after(self, plural: str) -> Hook:
        return self._hearing("after", plural)

    def rank(self, queued: QueuedPod) -> QueuedPod:
        """The pod that QueueSort is shown."""
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
