"""What each node's filters say of a pod now: only filters run, as in an attempt."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cycle import filtering
from moorage.cycle.filtering import Filtering
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import Rejection

FITS: Final = {"text": "fits", "plugin": "", "nodes": 0}


class Verdicts(NamedTuple):
    """By row an index into `told`; at index 0 the node fits."""

    of_row: NDArray[np.int64]
    told: list[dict[str, object]]


class PodVerdicts:
    """Runs the filters of a pod's profile; `profiles` returns the active ones."""

    def __init__(
        self,
        cache: Cache,
        profiles: Callable[[], Mapping[str, Profile]],
        now: Callable[[], float],
    ) -> None:
        self._cache = cache
        self._profiles = profiles
        self._now = now

    def everywhere(self, pod: Pod) -> Verdicts:
        """What the filters say of every node."""
        profile = self._profile(pod)
        cycle = self._cycle(pod, profile)
        found = filtering.run(profile, cycle)
        diagnosis = filtering.diagnose(profile, cycle, found)
        told: list[dict[str, object]] = [dict(FITS)]
        of_row = np.zeros(self._cache.table.rows, dtype=np.int64)
        if diagnosis.pre_filter is not None:
            of_row[:] = 1
            told.append(_told(diagnosis.pre_filter, len(self._cache.table)))
            return Verdicts(of_row, told)
        pairs = diagnosis.slot.astype(np.int64) << 32 | diagnosis.code
        for pair in np.unique(pairs[diagnosis.slot >= 0]).tolist():
            rows = np.flatnonzero(pairs == pair)
            rejection = diagnosis.rejection(int(rows[0]))
            if rejection is not None:
                of_row[rows] = len(told)
                told.append(_told(rejection, len(rows)))
        told[0]["nodes"] = len(self._cache.table) - sum(int(str(e["nodes"])) for e in told[1:])
        return Verdicts(of_row, told)

    def on(self, pod: Pod, row: int) -> Rejection | None:
        """The first refusal of a pod on one node; None if the node fits."""
        profile = self._profile(pod)
        cycle = self._cycle(pod, profile)
        found = Filtering(cycle)
        filtering.pre_filter(profile, cycle, found)
        if found.diagnosis.pre_filter is not None:
            return found.diagnosis.pre_filter
        if not filtering.searched_rows(cycle, found)[row]:
            return filtering.narrowed_out(found)
        return filtering.refusal_with_nominated_pods(cycle, found.active, row)

    def _profile(self, pod: Pod) -> Profile:
        profiles = self._profiles()
        return profiles.get(pod.spec.scheduler_name) or next(iter(profiles.values()))

    def _cycle(self, pod: Pod, profile: Profile) -> Cycle:
        info = self._cache.info(pod)
        return Cycle(self._cache, info, now=self._now(), shared=profile.shared)


def _told(rejection: Rejection, nodes: int) -> dict[str, object]:
    text = ", ".join(rejection.reasons) or rejection.message
    return {"text": text, "plugin": rejection.plugin, "nodes": nodes}
