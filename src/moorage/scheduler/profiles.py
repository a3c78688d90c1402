"""The profiles in force, by schedulerName, and which version of one decides for a pod."""

from collections.abc import Iterator, Mapping

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.cycle.profile import Profile
from moorage.queue.backoff import Backoff
from moorage.scheduler.feature import Features
from moorage.scheduler.version import Version


class Profiles:
    """The configuration in force: its generation, digest, profiles and backoff.

    `by_name` is the same mapping for as long as the scheduler lives: its holders see every change.
    """

    def __init__(
        self, profiles: Mapping[str, Profile], backoff: Backoff, features: Features
    ) -> None:
        self.generation = 1
        self.digest = ""
        self.by_name = dict(profiles)
        self.backoff = backoff
        self.about: KubeObject | None = None
        """The object that events about the configuration refer to."""
        self._features = features

    def of(self, pod: Pod) -> Profile:
        """The profile that decides for a pod."""
        for profile_for in self._features.profile_for:
            found: Profile | None = profile_for(pod)
            if found is not None:
                return found
        return self.by_name[pod.spec.scheduler_name]

    def version_of(self, profile: Profile) -> str:
        """The name of this version of a profile; empty if the profile has only one."""
        for version_of in self._features.version_of:
            found: str = version_of(profile)
            if found:
                return found
        return ""

    @property
    def controller(self) -> str:
        """The reporting controller of events that concern no pod: the first scheduler name."""
        return next(iter(self.by_name))

    def __contains__(self, scheduler_name: object) -> bool:
        return scheduler_name in self.by_name

    def __iter__(self) -> Iterator[Profile]:
        """Every profile that decides for some pod."""
        yield from self.by_name.values()
        for variants in self._features.variants:
            yield from variants()

    def replace(self, version: Version, profiles: Mapping[str, Profile]) -> None:
        """Put another configuration in force; `profiles` are used in place of the version's own."""
        self.by_name.clear()
        self.by_name.update(profiles)
        self.generation, self.digest = version.generation, version.digest
        self.backoff = version.backoff
        if version.about is not None:
            self.about = version.about

    def refer_to(self, about: KubeObject) -> None:
        """Let events about the configuration refer to this object."""
        self.about = about

    def add(self, name: str, profile: Profile) -> None:
        """Let a profile decide for the pods of one more scheduler."""
        self.by_name[name] = profile

    def remove(self, name: str) -> None:
        """Remove the profile of a scheduler name."""
        del self.by_name[name]
