"""A canary: a new version of a profile that decides for a part of its pods.

Which pods, a hash of their name tells, or of their owner's: a pod keeps its version over all its
attempts, and so do the pods of an owner. Pods of a group are left to the stable version: a group is
placed by one profile.
"""

import hashlib
from typing import Any

from moorage.api.pod import Pod
from moorage.config.canary import STABLE, ProfileCanary
from moorage.cycle.profile import Profile
from moorage.policies.gang import membership
from moorage.scheduler.canary_results import Results, verdict


class Canary:
    """One canary, with what became of its pods and of those of the stable version."""

    def __init__(self, given: ProfileCanary, profile: Profile) -> None:
        self.given = given
        self.profile = profile
        profile.version = given.name
        self.given_up = ""
        """Why it has been given up; nothing while it runs."""
        window = given.spec.rollback.window
        self.results = {STABLE: Results(window), given.name: Results(window)}

    @property
    def scheduler_name(self) -> str:
        return self.given.spec.scheduler_name

    @property
    def percent(self) -> float:
        """The share of pods it decides for now."""
        return 0.0 if self.given_up else self.given.spec.percent

    def takes(self, pod: Pod) -> bool:
        """Whether a pod is the canary's."""
        if not self.percent or membership.names(pod):
            return False
        return share(f"{self.given.name}/{self._whose(pod)}") < self.percent

    def judge(self) -> str:
        """Why it is to be given up; nothing where it may go on."""
        if self.given_up:
            return ""
        name, limits = self.given.name, self.given.spec.rollback
        return verdict(self.results[name], self.results[STABLE], limits)

    def shown(self) -> dict[str, Any]:
        """What `/configz` tells of it."""
        return {
            "name": self.given.name,
            "schedulerName": self.scheduler_name,
            "percent": self.percent,
            "state": "RolledBack" if self.given_up else "Running",
            "reason": self.given_up,
            "versions": {name: found.shown() for name, found in self.results.items()},
        }

    def _whose(self, pod: Pod) -> str:
        if self.given.spec.hash_by == "owner":
            for owner in pod.metadata.owner_references:
                if owner.controller:
                    return f"{pod.namespace}/{owner.kind}/{owner.name}"
        return pod.key


def share(text: str) -> float:
    """A number from 0 to below 100, the same for the same text wherever it is asked for."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64 * 100
