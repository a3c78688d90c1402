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
    shown = ActiveConfiguration(configuration(), lambda *_: None).configz()

    assert shown["componentconfig"]["kind"] == KIND
    assert shown["componentconfig"]["profiles"][0]["schedulerName"] == "default-scheduler"
    assert shown["moorage"]["generation"] == 1
    assert msgspec.json.encode(shown)


def test_each_configuration_in_force_is_told_with_its_digest() -> None:
    told: list[tuple[int, str]] = []
    first, second = configuration(), configuration(podMaxBackoffSeconds=20)
    in_force = ActiveConfiguration(
        first, lambda generation, digest: told.append((generation, digest))
    )
    in_force.replace(second)
    in_force.replace(first)

    one, two = configz.configuration_digest(first), configz.configuration_digest(second)
    assert one != two
    assert told == [(1, one), (2, two), (3, one)]
    assert in_force.configz()["moorage"] == {"generation": 3, "digest": one}


def test_private_keys_are_not_shown() -> None:
    extender = {
        "urlPrefix": "https://extender.example",
        "filterVerb": "filter",
        "weight": 1,
        "enableHTTPS": True,
        "tlsConfig": {"certData": "YQ==", "keyData": "c2VjcmV0"},
    }
    shown = ActiveConfiguration(configuration(extenders=[extender]), lambda *_: None).configz()

    assert shown["componentconfig"]["extenders"][0]["tlsConfig"]["keyData"] == "REDACTED"
    assert b"c2VjcmV0" not in msgspec.json.encode(shown)
