"""Plugins that cannot run are refused or left out, and never in silence."""

from typing import Any

import msgspec
import pytest

from moorage.config.durations import Duration
from moorage.config.field_errors import ConfigError
from moorage.config.loader import Loaded, load
from moorage.config.plugin_catalogue import PluginInfo
from moorage.config.plugin_validator import UnknownPlugins
from moorage.config.resolved_profile import resolve


class ZonesArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    zones: tuple[str, ...]
    home_zone: str = ""
    patience: Duration = Duration.of_seconds(5)

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        unknown = [zone for zone in args["zones"] if zone.startswith("?")]
        out = [f"zones[{args['zones'].index(zone)}]: unknown zone" for zone in unknown]
        return [*out, "a plea: no zone at all"] if not args["zones"] else out


class EasyArgs(msgspec.Struct, frozen=True, rename="camel"):
    prices: dict[str, float] = {}
    note: str | None = "?"


class Faulty(msgspec.Struct, frozen=True):
    note: str = ""

    def check(self, args: dict[str, Any]) -> list[str]:
        return []


class Mumbles(msgspec.Struct, frozen=True):
    note: str = ""

    @classmethod
    def check(cls, args: dict[str, Any]) -> Any:
        return "note: too short"


KNOWN = {
    info.name: info
    for info in (
        PluginInfo("TenantZones", frozenset({"filter", "score"}), ZonesArgs),
        PluginInfo("Easy", frozenset({"score"}), EasyArgs),
        PluginInfo("Plain", frozenset({"filter"})),
        PluginInfo("Broken", frozenset({"filter"}), Faulty, faults=("it has no filter",)),
    )
}


def loaded(
    profile: dict[str, Any],
    known: dict[str, PluginInfo] | None = KNOWN,
    unknown: UnknownPlugins = "error",
) -> Loaded:
    head = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    return load({**head, "profiles": [profile]}, known=known, unknown_plugins=unknown)


def problems(profile: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as error:
        loaded(profile)
    return [str(problem) for problem in error.value.problems]


def enabled(point: str, *names: str) -> dict[str, Any]:
    return {"plugins": {point: {"enabled": [{"name": name} for name in names]}}}


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        pytest.param(
            "NodeAffinityPlugin", '; did you mean "NodeAffinity"?', id="a suffix too many"
        ),
        pytest.param("TaintTolerations", '; did you mean "TaintToleration"?', id="a plural"),
        pytest.param("tenantzones", '; did you mean "TenantZones"?', id="the case"),
        pytest.param("NodeResourcesFitPlugin", '; did you mean "NodeResourcesFit"?', id="suffix"),
        pytest.param("Zebra", "", id="nothing like it"),
    ],
)
def test_unknown_plugins_are_refused_with_a_remedy(name: str, suggestion: str) -> None:
    assert problems(enabled("score", "Easy", name)) == [
        f'profiles[0].plugins.score.enabled[1]: plugin "{name}" is not known: load it with '
        f"--plugin file.py or --plugin module:Class, or take it out{suggestion}"
    ]


def test_unknown_plugins_may_be_left_out_with_a_warning() -> None:
    profile = enabled("score", "NodeAffinityPlugin", "Easy")
    profile["pluginConfig"] = [{"name": "NodeAffinityPlugin", "args": {"a": 1}}]

    got = loaded(profile, unknown="warn")

    assert got.warnings == (
        'profiles[0].plugins.score.enabled[0]: plugin "NodeAffinityPlugin" is not known and is '
        'left out; did you mean "NodeAffinity"?',
        'profiles[0].pluginConfig[0]: ignored: plugin "NodeAffinityPlugin" is not known',
    )
    resolved = resolve(got.configuration.profiles[0])
    assert resolved.points["score"][-1] == ("Easy", 1)
    assert "NodeAffinityPlugin" not in resolved.plugins
    assert "NodeAffinityPlugin" not in resolved.args


def test_without_descriptions_any_name_is_accepted_where_it_is_enabled() -> None:
    profile = enabled("score", "Anything")
    profile["pluginConfig"] = [{"name": "Anything", "args": {"a": [1, None]}}]

    got = loaded(profile, known=None)

    resolved = resolve(got.configuration.profiles[0])
    assert got.warnings == ()
    assert resolved.points["score"][-1] == ("Anything", 1)
    assert resolved.args["Anything"] == {"a": [1, None]}


@pytest.mark.parametrize(
    ("point", "name", "where"),
    [
        ("filter", "DefaultPreemption", "preEnqueue, postFilter, podGroupPostFilter"),
        ("preBind", "TenantZones", "filter, score"),
    ],
)
def test_a_plugin_is_ignored_where_it_implements_nothing(point: str, name: str, where: str) -> None:
    got = loaded({**enabled(point, name), "pluginConfig": []})

    kind = point[0].upper() + point[1:]
    assert got.warnings == (
        f'profiles[0].plugins.{point}.enabled[0]: ignored: plugin "{name}" does not extend '
        f"{kind}Plugin plugin, only {where}",
    )
    assert got.configuration == loaded({}).configuration


@pytest.mark.parametrize(("point", "as_what"), [("score", ' as "ScorePlugin"'), ("multiPoint", "")])
def test_a_plugin_is_enabled_once_at_a_point(point: str, as_what: str) -> None:
    assert problems(enabled(point, "ImageLocality", "NodeAffinity", "ImageLocality")) == [
        f'profiles[0].plugins.{point}.enabled[2]: plugin "ImageLocality" already registered'
        f"{as_what}"
    ]


def test_a_plugin_has_a_name() -> None:
    profile = {
        "plugins": {"score": {"enabled": [{"weight": 1}]}},
        "pluginConfig": [{"args": {}}],
    }

    assert problems(profile) == [
        "profiles[0].plugins.score.enabled[0].name: Required value",
        "profiles[0].pluginConfig[0].name: Required value",
    ]


def test_disabling_an_unknown_plugin_is_warned_of() -> None:
    got = loaded({"plugins": {"score": {"disabled": [{"name": "ImageLocalty"}, {"name": "Easy"}]}}})

    assert got.warnings == (
        'profiles[0].plugins.score.disabled[0]: plugin "ImageLocalty" is not known; '
        'did you mean "ImageLocality"?',
    )


def test_a_negative_weight_is_warned_of() -> None:
    got = loaded({"plugins": {"score": {"enabled": [{"name": "ImageLocality", "weight": -1}]}}})

    assert got.warnings == (
        "profiles[0].plugins.score.enabled[0].weight: is negative, which kube-scheduler mostly "
        "refuses: what scores high is avoided",
    )
    assert resolve(got.configuration.profiles[0]).points["score"][0] == ("ImageLocality", -1)


def test_multi_point_brings_a_described_plugin_to_its_points() -> None:
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": "TenantZones", "weight": 4}]}},
        "pluginConfig": [{"name": "TenantZones", "args": {"zones": ["a"]}}],
    }

    resolved = resolve(loaded(profile).configuration.profiles[0])

    assert resolved.points["filter"][-1] == ("TenantZones", 0)
    assert resolved.points["score"][-1] == ("TenantZones", 4)
    assert resolved.args["TenantZones"] == {"zones": ["a"], "homeZone": "", "patience": "5s"}


@pytest.mark.parametrize(
    ("args", "wrong"),
    [
        pytest.param(
            {"zones": ["a", 1], "homezone": "a", "patience": "soon"},
            [
                'homezone: unknown field; did you mean "homeZone"?',
                "zones[1]: expected text, got an integer",
                'patience: time: invalid duration "soon"',
            ],
            id="everything that does not decode",
        ),
        pytest.param({}, ["zones: Required value"], id="what is missing"),
        pytest.param({"zones": ["a", "?b"]}, ["zones[1]: unknown zone"], id="what the plugin says"),
        pytest.param(
            {"kind": "x", "zones": ["a"]}, ["kind: unknown field"], id="no kind by chance"
        ),
    ],
)
def test_arguments_are_checked_by_what_the_plugin_is(
    args: dict[str, Any], wrong: list[str]
) -> None:
    profile = enabled("filter", "TenantZones")
    profile["pluginConfig"] = [{"name": "Plain"}, {"name": "TenantZones", "args": args}]

    assert problems(profile) == [f"profiles[0].pluginConfig[1].args.{line}" for line in wrong]


def test_what_a_plugin_says_without_a_place_is_placed_at_its_arguments() -> None:
    profile = enabled("filter", "TenantZones")
    profile["pluginConfig"] = [{"name": "TenantZones", "args": {"zones": []}}]

    assert problems(profile) == ["profiles[0].pluginConfig[0].args: a plea: no zone at all"]


def test_a_plugin_that_needs_arguments_and_has_none_is_refused() -> None:
    assert problems(enabled("filter", "TenantZones")) == [
        'profiles[0].pluginConfig: plugin "TenantZones" needs arguments: zones: Required value'
    ]


def test_arguments_of_a_described_plugin_are_completed_with_its_defaults() -> None:
    profile = enabled("score", "Easy")

    assert resolve(loaded(profile).configuration.profiles[0]).args["Easy"] == {
        "prices": {},
        "note": "?",
    }

    profile["pluginConfig"] = [{"name": "Easy", "args": {"prices": {"cpu": 1}, "note": None}}]

    assert resolve(loaded(profile).configuration.profiles[0]).args["Easy"] == {
        "prices": {"cpu": 1.0},
        "note": None,
    }


@pytest.mark.parametrize(
    ("config", "warning"),
    [
        pytest.param(
            {"name": "Easy", "args": {}},
            'profiles[0].pluginConfig[0]: has no effect: plugin "Easy" is not enabled',
            id="of a plugin that does not run",
        ),
        pytest.param(
            {"name": "NodeName", "args": {"a": 1}},
            'profiles[0].pluginConfig[0].args: ignored: plugin "NodeName" takes no arguments',
            id="of a plugin that takes none",
        ),
    ],
)
def test_arguments_without_effect_are_warned_of(config: dict[str, Any], warning: str) -> None:
    assert loaded({"pluginConfig": [config]}).warnings == (warning,)


def test_a_plugin_is_configured_once() -> None:
    profile = {"pluginConfig": [{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]}

    assert problems(profile) == ['profiles[0].pluginConfig[1]: Duplicate value: "NodeAffinity"']


def test_a_described_plugin_may_have_the_name_of_a_removed_one() -> None:
    known = {"NodeLabel": PluginInfo("NodeLabel", frozenset({"filter"}))}

    got = loaded(enabled("filter", "NodeLabel"), known=known)

    assert resolve(got.configuration.profiles[0]).points["filter"][-1] == ("NodeLabel", 0)


def test_a_plugin_that_cannot_run_is_refused_where_it_is_enabled() -> None:
    assert problems(enabled("multiPoint", "Broken")) == [
        'profiles[0].plugins.multiPoint.enabled[0]: plugin "Broken" cannot run: it has no filter'
    ]


def test_a_check_that_does_not_answer_a_list_is_told() -> None:
    known = {"Mumbles": PluginInfo("Mumbles", frozenset({"filter"}), Mumbles)}
    given = {**enabled("filter", "Mumbles"), "pluginConfig": [{"name": "Mumbles", "args": {}}]}

    with pytest.raises(ConfigError, match=r"Mumbles\.check answered 'note: too short': answer a"):
        loaded(given, known)
