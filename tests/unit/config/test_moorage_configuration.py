"""MoorageConfiguration: the settings that kube-scheduler does not have."""

import pytest

from moorage.app import built_in_plugins
from moorage.config import yaml_dump
from moorage.config.durations import Duration
from moorage.config.field_errors import ConfigError
from moorage.config.loader import load
from moorage.config.moorage_configuration import DEFAULT_MOORAGE, PluginGuard, WhenOpen

KUBE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""
OURS = """\
---
apiVersion: moorage/v1
kind: MoorageConfiguration
pluginGuard:
  deadline: 200ms
  plugins:
  - name: LoadBalancing
    whenOpen: Fallback
    fallbackScore: 40
"""


def guard(text: str) -> PluginGuard:
    return load(
        text, known=built_in_plugins.describe_installed(), source="s.yaml"
    ).moorage.plugin_guard


def test_without_one_the_defaults_hold() -> None:
    assert guard(KUBE) == DEFAULT_MOORAGE.plugin_guard


def test_what_holds_for_all_holds_for_one_that_says_nothing_else() -> None:
    terms = guard(KUBE + OURS).of(("LoadBalancingPlugin", "LoadBalancing"))

    assert (terms.deadline, terms.when_open) == (Duration.parse("200ms"), WhenOpen.FALLBACK)
    assert (terms.fallback_score, terms.failure_threshold) == (40, 5)
    assert guard(KUBE + OURS).of(("Other",)).when_open is WhenOpen.FAIL


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        pytest.param(
            "deadline: 200ms",
            "deadline: -1s",
            's.yaml:7: pluginGuard.deadline: Invalid value: "-1s": must not be negative; 0s is no',
            id="a deadline in the past",
        ),
        pytest.param(
            "pluginGuard:",
            "nodeCooldown: -1s\npluginGuard:",
            's.yaml:6: nodeCooldown: Invalid value: "-1s": must not be negative; 0s is off',
            id="a cooldown in the past",
        ),
        pytest.param(
            "deadline: 200ms",
            "dedline: 200ms",
            's.yaml:7: pluginGuard.dedline: unknown field; did you mean "deadline"?',
            id="a field that is none",
        ),
        pytest.param(
            "whenOpen: Fallback",
            "whenOpen: Never",
            's.yaml:10: pluginGuard.plugins[0].whenOpen: Unsupported value: "Never": supported ',
            id="a fate that is none",
        ),
        pytest.param(
            "fallbackScore: 40",
            "fallbackScore: 400",
            "s.yaml:11: pluginGuard.plugins[0].fallbackScore: expected an integer <= 100",
            id="a score above 100",
        ),
        pytest.param(
            "moorage/v1",
            "moorage/v9",
            's.yaml:4: apiVersion: Unsupported value: "moorage/v9": supported values: "moorage/v1"',
            id="another version",
        ),
        pytest.param(
            "  plugins:",
            "  cooldown: 0s\n  plugins:",
            's.yaml:8: pluginGuard.cooldown: Invalid value: "0s": must be greater than zero',
            id="no time to cool down",
        ),
        pytest.param(
            "    whenOpen",
            "  - name: LoadBalancing\n    whenOpen",
            's.yaml:10: pluginGuard.plugins[1].name: Duplicate value: "LoadBalancing"',
            id="the same plugin twice",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(old: str, new: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        guard(KUBE + OURS.replace(old, new, 1))

    assert complaint in str(raised.value)


def test_two_of_them_are_one_too_many() -> None:
    with pytest.raises(ConfigError, match="2 documents of kind MoorageConfiguration"):
        guard(KUBE + OURS + OURS)


def test_a_plugin_that_is_not_known_is_warned_of() -> None:
    text = KUBE + OURS.replace("LoadBalancing", "LoadBalncing")
    (warning,) = load(text, known=built_in_plugins.describe_installed(), source="s.yaml").warnings

    assert 's.yaml: pluginGuard.plugins: plugin "LoadBalncing" is not known; did' in warning


def test_what_is_printed_loads_again_as_the_same() -> None:
    loaded = load(KUBE + OURS, known=built_in_plugins.describe_installed())

    again = load(yaml_dump.dump_all(loaded), known=built_in_plugins.describe_installed())

    assert again.moorage == loaded.moorage
    assert "MoorageConfiguration" not in yaml_dump.dump_all(
        load(KUBE, known=built_in_plugins.describe_installed())
    )
