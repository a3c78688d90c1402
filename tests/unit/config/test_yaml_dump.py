"""A completed configuration is written out whole, and reads back as itself."""

from typing import Any

import msgspec
import pytest
import yaml

from moorage.config import yaml_dump
from moorage.config.loader import default_configuration, load
from moorage.config.plugin_catalogue import PluginInfo
from moorage.config.resolved_profile import resolve

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class Choosy(msgspec.Struct, frozen=True, rename="camel"):
    colours: tuple[str, ...] = ("red",)
    label: str | None = "colour"


KNOWN = {"Choosy": PluginInfo("Choosy", frozenset({"filter", "score"}), Choosy)}


def test_the_default_configuration_in_kubes_field_order() -> None:
    text = yaml_dump.dump_configuration(default_configuration())

    assert list(yaml.safe_load(text)) == [
        "apiVersion",
        "kind",
        "parallelism",
        "leaderElection",
        "clientConnection",
        "enableProfiling",
        "enableContentionProfiling",
        "percentageOfNodesToScore",
        "podInitialBackoffSeconds",
        "podMaxBackoffSeconds",
        "profiles",
        "delayCacheUntilActive",
    ]
    assert "\n  leaseDuration: 15s\n" in text
    assert "\n      bindingTimeout: 10m0s\n" in text
    assert "null" not in text


def test_parallelism_is_explained() -> None:
    line = "\nparallelism: 16  # no effect: Moorage scores all nodes in one pass\n"

    assert line in yaml_dump.dump_configuration(default_configuration())


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="the defaults"),
        pytest.param(
            {
                "parallelism": 4,
                "percentageOfNodesToScore": 0,
                "leaderElection": {"leaderElect": False},
            },
            id="settings",
        ),
        pytest.param(
            {
                "profiles": [
                    {"schedulerName": "a", "percentageOfNodesToScore": 7},
                    {"schedulerName": "b", "plugins": {"score": {"disabled": [{"name": "*"}]}}},
                ]
            },
            id="several profiles",
        ),
        pytest.param(
            {
                "extenders": [
                    {
                        "urlPrefix": "https://x",
                        "prioritizeVerb": "p",
                        "weight": 3,
                        "enableHTTPS": True,
                        "tlsConfig": {"caData": "Y2VydA==", "insecure": True},
                        "httpTimeout": "1.5s",
                        "managedResources": [{"name": "a.com/x", "ignoredByScheduler": True}],
                    }
                ]
            },
            id="extenders",
        ),
        pytest.param(
            {
                "profiles": [
                    {
                        "plugins": {
                            "multiPoint": {
                                "enabled": [{"name": "Choosy"}, {"name": "NodeAffinity"}],
                                "disabled": [{"name": "ImageLocality"}],
                            },
                            "score": {
                                "enabled": [{"name": "Choosy", "weight": 9}],
                                "disabled": [{"name": "NodeResourcesFit"}],
                            },
                        },
                        "pluginConfig": [
                            {"name": "Choosy", "args": {"colours": [], "label": None}}
                        ],
                    }
                ]
            },
            id="multiPoint, overrides, and arguments that are empty on purpose",
        ),
        pytest.param(
            {"profiles": [{"schedulerName": "中文: [调度器]"}]}, id="names that need quotes"
        ),
    ],
)
def test_what_is_written_reads_back_as_itself(fields: dict[str, Any]) -> None:
    configuration = load({**HEAD, **fields}, known=KNOWN).configuration

    again = load(yaml_dump.dump_configuration(configuration), known=KNOWN)

    assert again.configuration == configuration
    assert again.warnings == ()


def test_the_lists_written_are_those_that_run() -> None:
    configuration = load(
        {
            **HEAD,
            "profiles": [
                {"plugins": {"score": {"enabled": [{"name": "ImageLocality", "weight": 5}]}}}
            ],
        }
    ).configuration

    written = yaml.safe_load(yaml_dump.dump_configuration(configuration))["profiles"][0]["plugins"]

    assert written["score"]["enabled"][0] == {"name": "ImageLocality", "weight": 5}
    assert written["multiPoint"] == {"disabled": [{"name": "*"}]}
    points = resolve(configuration.profiles[0]).points
    for point, enabled in points.items():
        names = [ref["name"] for ref in written.get(point, {}).get("enabled", [])]
        assert names == [name for name, _ in enabled]
