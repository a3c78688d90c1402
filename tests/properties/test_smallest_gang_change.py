"""The smallest change for a gang, against brute force: cores of small nodes, counted by hand."""

from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.explain.change import Change, Objects
from tests.unit.explain.test_gang_changes import applied, fits, gang, told
from tests.unit.explain.test_sources import node_of, written

Raw = dict[str, Any]
Free = list[int]


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Free, list[int], int, int]:
    """Millicores of nodes, where pods of one core run, and how many of a gang ask for what."""
    nodes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    running = draw(st.lists(st.integers(0, len(nodes) - 1), max_size=3))
    kept = [at for place, at in enumerate(running) if running[: place + 1].count(at) <= nodes[at]]
    return [1000 * each for each in nodes], kept, draw(st.integers(2, 4)), draw(st.integers(1, 4))


def objects_of(nodes: Free, running: list[int], size: int, cores: int) -> list[Raw]:
    made = []
    for number, millis in enumerate(nodes):
        made.append(node_of(f"n{number}"))
        for part in ("capacity", "allocatable"):
            if part in made[-1]["status"]:
                made[-1]["status"][part]["cpu"] = f"{millis}m"
    pods = [written(f"r{place}", nodeName=f"n{at}") for place, at in enumerate(running)]
    for each in pods:
        each["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    return [*made, *pods, *gang(size, str(cores))]


def free(nodes: Free, running: list[int]) -> Free:
    return [millis - 1000 * running.count(at) for at, millis in enumerate(nodes)]


def holds(rooms: Free, size: int, millis: int) -> bool:
    return sum(room // millis for room in rooms) >= size


def check(change: Change, nodes: Free, running: list[int], size: int, cores: int) -> None:
    rooms, asked = free(nodes, running), 1000 * cores
    if change.kind == "request" and not isinstance(change.patch, Objects):
        most = max(m for m in range(1, asked) if holds(rooms, size, m))
        assert f"{_amount(most)} of cpu" in change.summary
    elif change.kind == "node" and isinstance(change.patch, Objects):
        added = [_millis(each["status"]["allocatable"]["cpu"]) for each in change.patch.add]
        assert holds(rooms + added, size, asked)
        assert not holds(rooms + [max(nodes)] * (len(added) - 1), size, asked)
    elif change.kind == "evict" and isinstance(change.patch, Objects):
        fewer = range(len(change.patch.delete))
        stays = (
            [at for place, at in enumerate(running) if place not in gone]
            for count in fewer
            for gone in combinations(range(len(running)), count)
        )
        assert not any(holds(free(nodes, left), size, asked) for left in stays)


def _amount(millis: int) -> str:
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def _millis(amount: str) -> int:
    return int(amount[:-1]) if amount.endswith("m") else 1000 * int(amount)


@given(clusters())
def test_each_change_lets_the_gang_in_and_nothing_less_does(
    drawn: tuple[Free, list[int], int, int],
) -> None:
    nodes, running, size, cores = drawn
    objects = objects_of(nodes, running, size, cores)
    answer = told(*objects)

    assert answer.message.startswith("it fits") == holds(free(nodes, running), size, 1000 * cores)
    if answer.message.startswith("it fits"):
        return
    for change in answer.changes:
        assert fits(applied(objects, change)), change.summary
        if not change.kinds:
            check(change, nodes, running, size, cores)
