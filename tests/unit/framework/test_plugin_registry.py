"""Classes that cannot serve as plugins are refused when they are loaded, and say why."""

from typing import Any

import pytest

from moorage import Cycle, Filter, Node, Pod, QueuedPod, QueueSort
from moorage.framework.plugin_registry import Registry, RegistryError


class Named(Filter, frozen=True):
    aliases = "Other"  # type: ignore[assignment]

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        return None


class Reads(Filter, frozen=True):
    depends = "NODE"  # type: ignore[assignment]

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        return None


class Resorts(QueueSort, frozen=True):
    resort_seconds = "2s"  # type: ignore[assignment]

    def sort_key(self, queued: QueuedPod) -> int:
        return 0


class Elsewhere(Filter, frozen=True):
    price: "Nowhere" = 0  # type: ignore[name-defined]  # noqa: F821

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        return None


@pytest.mark.parametrize(
    ("plugin", "want"),
    [
        pytest.param(Named, "Named.aliases is 'Other': it should be a tuple", id="aliases"),
        pytest.param(Reads, "Reads.depends is 'NODE': it should be flags", id="depends"),
        pytest.param(Resorts, "Resorts.resort_seconds is '2s': it should be", id="seconds"),
        pytest.param(
            Elsewhere,
            "Elsewhere: the types of its fields cannot be read: NameError: name 'Nowhere' is not",
            id="a type that is not there when the module runs",
        ),
    ],
)
def test_a_class_is_refused(plugin: Any, want: str) -> None:
    with pytest.raises(RegistryError) as raised:
        Registry([plugin])

    assert str(raised.value).startswith(want)
