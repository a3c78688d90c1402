"""Random interleavings of everything that can happen to groups of pods, found by hypothesis."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from moorage.gang.group import Group, Release
from moorage.gang.lifecycle import Lifecycle
from tests.properties.gang_model import GangModel


def explore(examples: int) -> None:
    """Play so many random stories of forty steps."""
    run_state_machine_as_test(
        GangModel,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            phases=(Phase.generate,),
            derandomize=True,
            database=None,
        ),
    )


def test_no_interleaving_leaves_a_group_in_part_or_anything_behind() -> None:
    explore(40)


def _let_nobody_go(self: Lifecycle, group: Group, release: Release, now: float) -> None:
    """Pods of a group that has become ready stay where they are."""


def _one_is_enough(self: Group) -> int:
    """Pods of a group are bound one by one."""
    return min(1, getattr(self.object, "min_count", 0))


@pytest.mark.parametrize(
    ("owner", "name", "mutant"),
    [
        pytest.param(Lifecycle, "_let_go", _let_nobody_go, id="nobody is let go"),
        pytest.param(Group, "minimum", property(_one_is_enough), id="pods go one by one"),
    ],
)
def test_the_model_notices_what_is_broken(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, mutant: object
) -> None:
    monkeypatch.setattr(owner, name, mutant)

    with pytest.raises(AssertionError):
        explore(100)
