"""The cluster that questions are about: a cache, profiles, and attempts that change nothing."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cycle import filtering
from moorage.cycle.filtering import Filtering
from moorage.cycle.profile import FilterEntry, Profile
from moorage.explain.time_slices import Pause, no_pause
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import Rejection
from moorage.gang.plugin import DOMAIN


class World(NamedTuple):
    """The cache of a cluster, and the profile of each schedulerName."""

    cache: Cache
    profiles: Mapping[str, Profile]
    now: float = 0.0
    pause: Pause = no_pause
    """Called where a question may be interrupted; the cache may have changed afterwards."""

    def profile_of(self, pod: Pod) -> Profile:
        """The profile of the pod's schedulerName; the first profile if no profile has that name."""
        named = self.profiles.get(pod.spec.scheduler_name)
        return next(iter(self.profiles.values())) if named is None else named

    def question(self, pod: Pod, nodes: frozenset[str] | None = None) -> "Question":
        """An attempt at a pod, after PreFilter and before Filter.

        `nodes` are the nodes of the domain that its gang is packed in; None means all nodes.
        """
        profile = self.profile_of(pod)
        cycle = Cycle(
            self.cache,
            self.cache.info(pod),
            now=self.now,
            shared=profile.shared,
        )
        if nodes is not None:
            cycle.state[DOMAIN] = nodes
        found = Filtering(cycle)
        filtering.pre_filter(profile, cycle, found)
        return Question(profile, cycle, found)

    def fits(self, pod: Pod) -> bool:
        """Whether any node takes the pod as things stand."""
        return bool(self.question(pod).feasible().any())

    def fits_on(self, pod: Pod, row: int) -> bool:
        """Whether one node takes the pod as things stand."""
        return self.question(pod).refusal(row) is None


class Question(NamedTuple):
    """One pod, and the results of its PreFilter plugins."""

    profile: Profile
    cycle: Cycle
    found: Filtering

    @property
    def refused_outright(self) -> Rejection | None:
        """The PreFilter rejection that refuses the pod on every node, if any."""
        return self.found.diagnosis.pre_filter

    def feasible(self) -> NDArray[np.bool_]:
        """bool (row): the nodes that take the pod."""
        if self.refused_outright is not None:
            return np.zeros(self.cycle.table.rows, dtype=bool)
        self.found.feasible = filtering.feasible_rows(self.profile, self.cycle, self.found)
        return self.found.feasible

    def diagnosis_message(self) -> str:
        """kube's message about a pod that fits nowhere."""
        return filtering.diagnose(self.profile, self.cycle, self.found).message()

    def refusal(self, row: int) -> Rejection | None:
        """The first rejection for one node; None if the node takes the pod."""
        if self.refused_outright is not None:
            return self.refused_outright
        if not self.searched[row]:
            return filtering.narrowed_out(self.found)
        return filtering.refusal_with_nominated_pods(self.cycle, self.found.active, row)

    @property
    def searched(self) -> NDArray[np.bool_]:
        """bool (row): the nodes that PreFilter plugins have left to search."""
        return filtering.searched_rows(self.cycle, self.found)

    @property
    def asked(self) -> Sequence[FilterEntry]:
        """The plugins that can be asked about nodes: none where one refused before Filter, since
        neither it nor those after it are prepared to be asked."""
        return self.found.active if self.refused_outright is None else ()

    def refusing(self, entry: FilterEntry) -> NDArray[np.bool_]:
        """bool (row): the nodes that one plugin refuses, whatever other plugins say."""
        return filtering.refused_by(self.profile, self.cycle, entry)
