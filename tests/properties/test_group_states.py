"""The states of a group: whatever is asked of it, the table is kept, and nothing illegal leaves a
trace."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decode import decode_as
from moorage.api.podgroup import PodGroup
from moorage.gang import group_states
from moorage.gang.group import Group
from moorage.gang.group_states import TABLE, GroupError, GroupState, GroupTrigger
from tests.support.profiles import at_least
from tests.unit.gang.gang_world import group as raw_group
from tests.unit.gang.gang_world import member

STEPS = {
    "add": None,
    "remove": None,
    "fail": GroupTrigger.FAIL,
    "complete_backoff": GroupTrigger.BACKOFF_COMPLETE,
    "evict": GroupTrigger.EVICT,
    "victim_left": None,
    "end_eviction": None,
    "settle": None,
}


def whole(minimum: int = 2) -> Group:
    """A group that waits with as many pods as it needs."""
    made = Group("default/train")
    obj = decode_as({**raw_group("train", minimum), "status": {}}, PodGroup)
    made.put_object(obj, has_run=False)
    for index in range(minimum):
        made.add(member(f"p{index}", "train").build(), 1.0)
    return made


def snapshot(group: Group) -> dict[str, Any]:
    return {name: copy.copy(getattr(group, name)) for name in Group.__slots__}


def take(group: Group, step: str) -> None:
    match step:
        case "add":
            group.add(member("p0", "train").build(), 1.0)
        case "remove":
            group.remove(member("p0", "train").build().uid)
        case "evict":
            group.evict(["x", "y"])
        case "victim_left":
            group.victim_left("x" if "x" in group.leaving else "y")
        case _:
            getattr(group, step)()


@at_least(100)  # the last states are four right steps of eight away
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=30))
def test_a_group_is_sound_whatever_happens_to_it(steps: list[str]) -> None:
    """And an illegal step raises, and changes nothing."""
    group = whole()
    for step in steps:
        before, trigger = snapshot(group), STEPS[step]
        legal = trigger is None or trigger in TABLE[group.state]
        try:
            take(group, step)
        except GroupError:
            assert not legal
            assert snapshot(group) == before
        else:
            assert legal
            assert trigger is None or group.state is TABLE[before["state"]][trigger]
        group.settle()
        group.validate()


@pytest.mark.parametrize("state", GroupState)
@pytest.mark.parametrize("trigger", GroupTrigger)
def test_the_table_is_what_a_group_goes_by(state: GroupState, trigger: GroupTrigger) -> None:
    if trigger in TABLE[state]:
        assert group_states.target("g", state, trigger) in GroupState
        return
    with pytest.raises(GroupError, match=f"group g is {state.value}: {trigger.value} is not legal"):
        group_states.target("g", state, trigger)


def test_every_state_is_reached_and_left() -> None:
    reached = {target for targets in TABLE.values() for target in targets.values()}

    assert reached == set(GroupState)
    assert all(TABLE.values())


def test_the_diagram_shows_every_transition() -> None:
    arrows = group_states.diagram().splitlines()[2:]

    assert len(arrows) == sum(map(len, TABLE.values()))


def test_a_contradiction_is_noticed() -> None:
    group = whole()
    group.settle()
    group.leaving = {"x"}

    with pytest.raises(AssertionError, match="default/train"):
        group.validate()


def test_the_page_about_gangs_shows_the_diagram() -> None:
    page = Path(__file__).parents[2] / "docs" / "gangs.md"

    assert f"```mermaid\n{group_states.diagram()}\n```" in page.read_text()
