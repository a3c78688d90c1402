"""Custom plugin sets merge into the default ones as in kube-scheduler."""

import pytest

from moorage.config.default_plugins import merge_plugin_set, merge_plugins
from moorage.config.types import PluginRef, Plugins, PluginSet

DEFAULT = PluginSet(enabled=(PluginRef("A", 1), PluginRef("B", 2), PluginRef("C", 3)))


def refs(text: str) -> tuple[PluginRef, ...]:
    """`A:5 B` as references, with and without weight."""
    pairs = (word.partition(":") for word in text.split())
    return tuple(PluginRef(name, int(weight or 0)) for name, _, weight in pairs)


@pytest.mark.parametrize(
    ("enabled", "disabled", "merged"),
    [
        pytest.param("", "", "A:1 B:2 C:3", id="nothing said keeps the defaults"),
        pytest.param("X Y", "", "A:1 B:2 C:3 X Y", id="others follow the defaults"),
        pytest.param("", "B", "A:1 C:3", id="a disabled default is left out"),
        pytest.param("", "*", "", id="a star leaves out all defaults"),
        pytest.param("X A:9", "*", "X A:9", id="after a star, the list is the list"),
        pytest.param("B:9", "", "A:1 B:9 C:3", id="a default enabled again is replaced in place"),
        pytest.param("B", "", "A:1 B C:3", id="its default weight is gone"),
        pytest.param("C:7 X A:8", "", "A:8 B:2 C:7 X", id="replaced ones keep the defaults' order"),
        pytest.param("B:9", "B", "A:1 C:3 B:9", id="disabled and enabled again comes last"),
        pytest.param("X X", "", "A:1 B:2 C:3 X X", id="duplicates stay, to be refused later"),
        pytest.param("B:8 B:9", "", "A:1 B:9 C:3 B:8", id="of duplicates the last replaces"),
        pytest.param("", "Z", "A:1 B:2 C:3", id="disabling what is not there does nothing"),
    ],
)
def test_enabled(enabled: str, disabled: str, merged: str) -> None:
    got = merge_plugin_set(DEFAULT, PluginSet(refs(enabled), refs(disabled)))

    assert got.enabled == refs(merged)


def test_what_is_disabled_is_remembered_without_weight() -> None:
    got = merge_plugin_set(
        PluginSet(disabled=refs("D")), PluginSet(disabled=(PluginRef("A", 5), PluginRef("*")))
    )

    assert got.disabled == refs("A * D")


def test_each_point_is_merged_with_its_own_defaults() -> None:
    default = Plugins(multi_point=DEFAULT)
    custom = Plugins(filter=PluginSet(refs("X")), multi_point=PluginSet(refs("Y"), refs("A")))

    got = merge_plugins(default, custom)

    assert got.filter == PluginSet(refs("X"))
    assert got.multi_point == PluginSet(refs("B:2 C:3 Y"), refs("A"))
    assert got.score == PluginSet()
