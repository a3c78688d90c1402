"""The configuration in force, for whoever asks."""

from typing import Any

import msgspec

from moorage.app import built_in_plugins
from moorage.config.loader import load
from moorage.config.types import API_VERSION, KIND, SchedulerConfiguration
from moorage.serve import configz
from moorage.serve.configz import ActiveConfiguration


def configuration(**fields: Any) -> SchedulerConfiguration:
    document = {"apiVersion": API_VERSION, "kind": KIND, **fields}
    return load(
        document, known=built_in_plugins.describe_plugins(built_in_plugins.built_in())
    ).configuration


def test_configz_holds_the_completed_configuration_under_kubes_name() -> None:
    shown = ActiveConfiguration(configuration()).configz()

    assert shown["componentconfig"]["kind"] == KIND
    assert shown["componentconfig"]["profiles"][0]["schedulerName"] == "default-scheduler"
    assert shown["moorage"]["generation"] == 1
    assert msgspec.json.encode(shown)


def test_each_configuration_in_force_is_counted_and_shown_with_its_digest() -> None:
    first, second = configuration(), configuration(podMaxBackoffSeconds=20)
    in_force = ActiveConfiguration(first)
    shown = [in_force.configz()["moorage"]]
    for following in (second, first):
        in_force.replace(following)
        shown.append(in_force.configz()["moorage"])

    one, two = configz.configuration_digest(first), configz.configuration_digest(second)
    assert one != two
    assert shown == [
        {"generation": 1, "digest": one},
        {"generation": 2, "digest": two},
        {"generation": 3, "digest": one},
    ]


def test_private_keys_are_not_shown() -> None:
    extender = {
        "urlPrefix": "https://extender.example",
        "filterVerb": "filter",
        "weight": 1,
        "enableHTTPS": True,
        "tlsConfig": {"certData": "YQ==", "keyData": "c2VjcmV0"},
    }
    shown = ActiveConfiguration(configuration(extenders=[extender])).configz()

    assert shown["componentconfig"]["extenders"][0]["tlsConfig"]["keyData"] == "REDACTED"
    assert b"c2VjcmV0" not in msgspec.json.encode(shown)
