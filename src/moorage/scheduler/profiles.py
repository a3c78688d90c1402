"""The profiles in force, by schedulerName, and which version of one decides for a pod."""

from collections.abc import Iterator, Mapping

from moorage.api.pod import Pod
from moorage.cycle.profile import Profile
from moorage.rollout.canary import Canary


class Profiles:
    """What one configuration brought: its generation, its digest, its profiles and canaries.

    `profiles` is one mapping for as long as the scheduler lives; who holds it sees every change.
    """

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self.generation = 1
        self.digest = ""
        self.profiles = dict(profiles)
        self.canaries: dict[str, Canary] = {}

    def of(self, pod: Pod) -> Profile:
        """The profile that decides for a pod."""
        name = pod.spec.scheduler_name
        if self.canaries:
            canary = self.canaries.get(name)
            if canary is not None and canary.takes(pod):
                return canary.profile
        return self.profiles[name]

    def __iter__(self) -> Iterator[Profile]:
        """Every profile that decides for some pod."""
        yield from self.profiles.values()
        for canary in self.canaries.values():
            if not canary.given_up:
                yield canary.profile
