"""docs/configuration.md names every setting, and its examples are true."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from moorage.config import (
    default_plugins,
    moorage_configuration,
    plugin_args,
    scheduling_policy,
    types,
)
from moorage.config.conversion import REMOVED
from moorage.config.loader import load
from moorage.config.plugin_catalogue import PluginInfo
from moorage.config.resolved_profile import resolve

DOC = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")

STRUCTS: list[type[msgspec.Struct]] = [
    types.SchedulerConfiguration,
    types.LeaderElection,
    types.ClientConnection,
    types.Profile,
    types.StandIn,
    types.Plugins,
    types.PluginSet,
    types.PluginRef,
    types.PluginConfig,
    types.Extender,
    types.ExtenderTLSConfig,
    types.ExtenderManagedResource,
    scheduling_policy.PolicySpec,
    moorage_configuration.MoorageConfiguration,
    *plugin_args.ARGS.values(),
    plugin_args.ScoringStrategy,
    plugin_args.ResourceSpec,
    plugin_args.RequestedToCapacityRatioParam,
    plugin_args.UtilizationShapePoint,
]


def settings() -> Iterator[str]:
    for struct in STRUCTS:
        yield from (field.encode_name for field in msgspec.structs.fields(struct))


def is_documented(setting: str) -> bool:
    return re.search(rf"`([\w.]+\.)?{setting}`", DOC) is not None


def test_every_setting_is_documented() -> None:
    names = {*settings()} - {"apiVersion", "kind"}

    assert len(names) > 90
    assert sorted(name for name in names if not is_documented(name)) == []


def test_a_setting_that_is_not_documented_is_noticed() -> None:
    assert is_documented("leaderElect")
    assert not is_documented("leaderElectio")
    assert not is_documented("eaderElect")
    assert not is_documented("noSuchSetting")


def test_every_conversion_is_documented() -> None:
    section = DOC.split("## Conversion")[1]

    assert REMOVED
    assert sorted(name for name in REMOVED if name not in section) == []


def test_the_default_plugins_are_listed_in_order() -> None:
    listed = DOC.split("The default plugins, in order")[1].split("\n\n")[0]

    assert re.findall(r"`(\w+)`", listed) == [ref.name for ref in default_plugins.ENABLED]


def example(after: str) -> str:
    found = re.search(r"```yaml\n(.*?)```", DOC.split(after, 1)[1], re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_precedence_example_runs_what_the_text_says() -> None:
    said = re.findall(r"`(\w+)` (\d+)", DOC.split("disabled:\n      - name: NodeAffinity\n```")[1])
    (profile,) = load(example("<!-- precedence example -->")).configuration.profiles

    score = resolve(profile).points["score"]

    assert [(name, str(weight)) for name, weight in score] == said[: len(score)]
    assert len(score) == 6


def test_the_first_example_loads() -> None:
    known = {"TenantZones": PluginInfo("TenantZones", frozenset({"filter", "score"}))}

    loaded = load(example("# Configuration"), known=known)

    assert resolve(loaded.configuration.profiles[0]).points["score"][-1] == ("TenantZones", 5)


def test_the_policy_example_loads() -> None:
    (batch,) = scheduling_policy.load_policies(example("## Scheduling policies"))

    assert batch.spec.resource_weights == {"cpu": 70, "memory": 30}
