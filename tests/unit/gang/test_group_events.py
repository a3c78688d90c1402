"""What is written about a group, and whom the queue asks about it."""

from typing import Any

import msgspec
import pytest

from moorage.api.podgroup import POD_GROUP_LABEL, PodGroup, PodGroupSpec, PodGroupStatus
from moorage.cache.cache import Cache
from moorage.cache.disruption_budgets import Budgets
from moorage.framework.events import Action, ClusterEvent, Hint, Resource
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.gang.plugin import GangScheduling, after_rewrite
from moorage.gang.victim_search import line_up
from moorage.queue.queueing_hints import PluginHints
from moorage.testing import node, pod

BEFORE = PodGroup(spec=PodGroupSpec(min_member=2))
WRITTEN = ClusterEvent(Resource.POD_GROUP, Action.UPDATE)


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param({"status": PodGroupStatus(phase="Pending")}, Hint.SKIP, id="its status"),
        pytest.param({"spec": PodGroupSpec(min_member=1)}, Hint.QUEUE, id="what it asks for"),
    ],
)
def test_that_only_the_status_of_a_group_has_changed_is_asked_once_and_not_of_each_pod(
    change: dict[str, Any], want: Hint
) -> None:
    hints = [each for each in GangScheduling().events() if each.event.matches(WRITTEN)]

    assert PluginHints.of(tuple(hints)).asks_each is False
    assert [each.class_hint for each in hints if each.per_event] == [after_rewrite]
    after = msgspec.structs.replace(BEFORE, **change)
    assert after_rewrite(pod("p").build(), BEFORE, after) is want


class _Asked(Directory):
    """Counts the questions about pods."""

    count = 0

    def of(self, pod: Any) -> Group | None:
        self.count += 1
        return super().of(pod)


def test_which_pods_leave_together_is_asked_once_for_a_group() -> None:
    groups, cache = _Asked(), Cache()
    cache.put_node(node("a").offering(cpu="200", pods="200").build())
    metadata = pod("train").build().metadata
    groups.put_object(msgspec.structs.replace(BEFORE, metadata=metadata))
    for number in range(40):
        cache.put_pod(pod(f"alone-{number}").on("a").build())
        cache.put_pod(pod(f"p-{number}").labelled({POD_GROUP_LABEL: "train"}).on("a").build())

    units = line_up(cache, groups, Group("default/urgent"), 1, Budgets([]), None)

    assert sorted(len(unit.pods) for unit in units) == [1] * 40 + [40]
    assert groups.count == 1
