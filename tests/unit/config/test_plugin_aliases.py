"""A plugin with several names is one plugin, however a configuration calls it."""

from typing import Any

import pytest

from moorage.app import built_in_plugins
from moorage.config.field_errors import ConfigError
from moorage.config.loader import load
from moorage.config.resolved_profile import Enabled, resolve

OWN, OTHER = "GPUPriorityPlugin", "GPUPriority"


def runs(profile: dict[str, Any]) -> dict[str, tuple[Enabled, ...]]:
    """What runs at each point, of these two names."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    loaded = load(document, known=built_in_plugins.describe_installed()).configuration.profiles[0]
    points = resolve(loaded, built_in_plugins.describe_installed()).points
    return {
        at: tuple(e for e in points[at] if e.name in (OWN, OTHER)) for at in ("filter", "score")
    }


def enabled(*names: str) -> dict[str, Any]:
    return {"enabled": [{"name": name} for name in names]}


@pytest.mark.parametrize("name", [OWN, OTHER])
def test_by_either_name_it_runs_under_its_own(name: str) -> None:
    assert runs({"plugins": {"multiPoint": enabled(name)}}) == {
        "filter": (Enabled(OWN, 0),),
        "score": (Enabled(OWN, 1),),
    }


def test_enabled_by_one_name_and_weighed_by_the_other_it_runs_once() -> None:
    plugins = {
        "multiPoint": enabled(OWN),
        "score": {"enabled": [{"name": OTHER, "weight": 7}]},
    }

    assert runs({"plugins": plugins})["score"] == (Enabled(OWN, 7),)


@pytest.mark.parametrize(("on", "off"), [(OWN, OTHER), (OTHER, OWN)])
def test_enabled_by_one_name_it_is_disabled_by_the_other(on: str, off: str) -> None:
    plugins = {"multiPoint": enabled(on), "filter": {"disabled": [{"name": off}]}}

    assert runs({"plugins": plugins}) == {"filter": (), "score": (Enabled(OWN, 1),)}


def test_enabled_by_both_names_in_one_list_it_is_refused_as_enabled_twice() -> None:
    with pytest.raises(ConfigError, match=rf'"{OWN}" already registered \(also known as {OTHER}\)'):
        runs({"plugins": {"multiPoint": enabled(OWN, OTHER)}})


def test_configured_by_both_names_it_is_refused_as_configured_twice() -> None:
    configs = [{"name": name, "args": {}} for name in (OWN, OTHER)]
    with pytest.raises(ConfigError, match=f'Duplicate value: "{OWN}"'):
        runs({"plugins": {"multiPoint": enabled(OWN)}, "pluginConfig": configs})


def test_enabled_by_one_name_it_takes_arguments_given_under_the_other() -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": enabled(OWN)},
                "pluginConfig": [{"name": OTHER, "args": {"gpuWeight": 3}}],
            }
        ],
    }
    loaded = load(document, known=built_in_plugins.describe_installed())

    args = {config.name: config.args for config in loaded.configuration.profiles[0].plugin_config}
    assert args[OWN]["gpuWeight"] == 3
    assert loaded.warnings == ()
