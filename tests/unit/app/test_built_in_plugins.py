"""The table of built-in plugins is checked once; each caller may add to a copy."""

import pytest

from moorage import Cycle, Filter, Node, Pod
from moorage.app.built_in_plugins import BUILT_IN, built_in
from moorage.framework.plugin_registry import Registry


class Added(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        return None


def test_every_built_in_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built_in()
    checked: list[str] = []
    add = Registry.add

    def count(self: Registry, plugin: type[Filter]) -> None:
        checked.append(plugin.__name__)
        add(self, plugin)

    monkeypatch.setattr(Registry, "add", count)
    Registry(BUILT_IN)
    assert len(checked) == len(BUILT_IN)
    assert set(BUILT_IN) <= set(built_in().values())

    assert len(checked) == len(BUILT_IN)


def test_who_adds_to_the_table_adds_to_none_of_the_others() -> None:
    mine = built_in()
    mine.add(Added)

    assert "Added" in mine
    assert "Added" not in built_in()
