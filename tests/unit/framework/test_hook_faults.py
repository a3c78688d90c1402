"""Hooks that are not written, or not as they are called, are told with what to write."""

from typing import Any

import pytest

from moorage import Bind, Cycle, Filter, Node, Pod, PreFilter, QueueSort, Reserve, Score
from moorage.framework.hook_faults import hook_faults
from moorage.framework.plugin import Plugin


class Misspelt(Filter, Score, frozen=True):
    def filters(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        return None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 0


class Unordered(QueueSort, frozen=True):
    pass


class Unbound(Bind, Reserve, frozen=True):
    pass


class Unexplained(Filter, frozen=True):
    def filter_all(self, cycle: Any, pod: Any, nodes: Any, out: Any) -> None:
        out[:] = 1


class TakesTooLittle(Filter, frozen=True):
    def filter(self, pod: Pod, node: Node) -> None:  # type: ignore[override]
        return None


class AsksForMore(PreFilter, frozen=True):
    def pre_filter(self, cycle: Cycle, pod: Pod, why: str) -> None:  # type: ignore[override]
        return None


class ChecksItself(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        return None

    def check(self, args: dict[str, Any]) -> list[str]:  # type: ignore[override]
        return []


class StaysStatic(Filter, frozen=True):
    @staticmethod
    def filter(cycle: Cycle, pod: Pod, node: Node) -> None:
        return None

    @classmethod
    def events(cls) -> Any:
        return ()


class TakesMoreIfGiven(Filter, Reserve, frozen=True):
    def filter(self, *args: Any, extra: int = 0) -> None:
        return None


@pytest.mark.parametrize(
    ("plugin", "want"),
    [
        pytest.param(
            Misspelt,
            "Misspelt has neither filter nor filter_all: write one; is filters meant to be it?",
            id="a hook that is misspelt",
        ),
        pytest.param(
            Unordered, "Unordered has no sort_key: write one", id="a hook that is missing"
        ),
        pytest.param(Unbound, "Unbound has no bind: write one", id="Reserve alone needs no hook"),
        pytest.param(
            Unexplained,
            "Unexplained has filter_all and no rejection to explain its codes",
            id="codes that nothing explains",
        ),
        pytest.param(
            TakesTooLittle,
            "takes (self, pod, node), and is called with (self, cycle, pod, node)",
            id="a hook that takes too little",
        ),
        pytest.param(
            AsksForMore,
            "takes (self, cycle, pod, why), and is called with (self, cycle, pod)",
            id="a hook that asks for more",
        ),
        pytest.param(ChecksItself, "is not a @classmethod", id="a check that needs a plugin"),
    ],
)
def test_a_fault_is_told(plugin: type[Plugin], want: str) -> None:
    (fault,) = hook_faults(plugin)

    assert want in fault


def test_a_fault_of_a_hook_names_its_line() -> None:
    (fault,) = hook_faults(TakesTooLittle)

    line = TakesTooLittle.filter.__code__.co_firstlineno
    assert fault.startswith(f"TakesTooLittle.filter (line {line}) takes ")


@pytest.mark.parametrize("plugin", [StaysStatic, TakesMoreIfGiven])
def test_whatever_can_be_called_is_in_order(plugin: type[Plugin]) -> None:
    assert hook_faults(plugin) == []
