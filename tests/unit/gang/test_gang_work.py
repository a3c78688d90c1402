"""The work for a group, counted: it grows as the number of its pods does."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from moorage.testing import node
from tests.unit.gang.composite_groups import composite, leaf, workers
from tests.unit.gang.gang_world import GangWorld, group, members


def plain(pods: int) -> list[Any]:
    return [group("g", pods), *members("g", pods, cpu="1m")]


def tree(pods: int) -> list[Any]:
    half = pods // 2
    groups = composite("root", 2), leaf("a", half, "root"), leaf("b", half, "root")
    return [*groups, *workers("a", half, cpu="1m"), *workers("b", half, cpu="1m")]


def calls(objects: list[Any], pods: int) -> int:
    """Python and C calls while all pods of a group arrive and are bound."""
    found = 0

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    world = GangWorld(node("a").offering(cpu="4", pods="1000"), *objects)
    sys.setprofile(count)
    try:
        world.run()
    finally:
        sys.setprofile(None)
    assert len(world.bound()) == pods
    return found


@pytest.mark.parametrize("made", [plain, tree])
def test_twice_as_many_pods_are_no_more_than_twice_the_work(
    made: Callable[[int], list[Any]],
) -> None:
    assert calls(made(200), 200) < 2 * calls(made(100), 100)
