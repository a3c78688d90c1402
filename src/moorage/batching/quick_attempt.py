"""Attempts at pods by the totals of their class, kept from one attempt to the next.

A quick attempt makes the same choice as a full attempt. If it cannot know that choice, the caller
must attempt the pod in full.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from moorage.batching.class_totals import DEVICES, PREEMPTION, ClassTotals, nodes_version, survey
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.draws import NODE, draw

BUDGET_BYTES: Final = 64 * 1024 * 1024
MAKE_ROOM: Final = frozenset({PREEMPTION, DEVICES})
"""PostFilter plugins that are allowed; DynamicResources' does nothing for pods without claims."""


class QuickAttempts:
    """Decides by free resources; for scenarios of one priority, without nominations.

    `begin` makes the cycle in which plugins are asked about a class.
    """

    def __init__(
        self,
        profile: Profile,
        cache: Cache,
        begin: Callable[[PodInfo], Cycle],
    ) -> None:
        self._profile = profile
        self._cache = cache
        self._begin = begin
        self._is_usable = _asks_no_more(profile)
        self._known: OrderedDict[tuple[str, int], ClassTotals | None] = OrderedDict()
        self._nodes_seen = nodes_version(cache.table)

    def totals(self, info: PodInfo) -> ClassTotals | None:
        """The totals for a pod; None if it must be attempted in full."""
        table = self._cache.table
        if not (self._is_usable and table.is_ordinary and table.rows):
            return None
        version = nodes_version(table)
        if self._nodes_seen != version:
            self._known.clear()
            self._nodes_seen = version
        alike = info.cls.like_spec
        if alike in self._known:
            self._known.move_to_end(alike)
            return self._known[alike]
        found = self._known[alike] = self._survey(info)
        if len(self._known) * table.rows * 4 > BUDGET_BYTES:
            self._known.popitem(last=False)
        return found

    def choose(self, totals: ClassTotals, tie_key: Callable[[], int]) -> str | None:
        """The name of the best node, each of the best equally likely; None if none fits."""
        table = self._cache.table
        total, tied = totals.best(table)
        if total < 0:
            return None
        row = totals.row(total, draw(tie_key(), NODE, tied) if tied > 1 else 0)
        return table.node(row).name

    def _survey(self, info: PodInfo) -> ClassTotals | None:
        if info.cls.ports or not info.cls.is_ordinary:
            return None
        return survey(self._profile, self._begin(info))


def _asks_no_more(profile: Profile) -> bool:
    """Whether a profile decides by filters and scores alone."""
    every = profile.percentage_of_nodes_to_score is None and profile.unscorable is None
    room = {name for name, _ in profile.post_filter} <= MAKE_ROOM
    return every and room and not profile.permit
