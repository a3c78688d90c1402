"""SchedulingPolicy documents, wherever they were read, become arguments of SchedulingPolicies."""

from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.config import decoding
from moorage.config.policy import SchedulingPolicy
from moorage.config.types import PluginConfig, Profile, SchedulerConfiguration
from moorage.policies.scheduling_policies import SchedulingPolicies


def adopt(
    configuration: SchedulerConfiguration, policies: Iterable[SchedulingPolicy]
) -> SchedulerConfiguration:
    """A loaded configuration in which every profile that runs the plugin has these policies too.

    Where a profile's own arguments have one of the same name, that one stays.
    """
    given = list(policies)
    profiles = tuple(adopt_into(profile, given) for profile in configuration.profiles)
    return msgspec.structs.replace(configuration, profiles=profiles)


def adopt_into(profile: Profile, policies: Iterable[SchedulingPolicy]) -> Profile:
    """One profile with these policies, if it runs the plugin."""
    documents = [decoding.encode(policy) for policy in policies]
    configs = tuple(_config(config, documents) for config in profile.plugin_config)
    return msgspec.structs.replace(profile, plugin_config=configs)


def _config(config: PluginConfig, documents: list[dict[str, Any]]) -> PluginConfig:
    if config.name != SchedulingPolicies.plugin_name():
        return config
    own = config.args.get("policies", [])
    known = {_name(document) for document in own}
    added = [document for document in documents if _name(document) not in known]
    return PluginConfig(config.name, {**config.args, "policies": [*own, *added]})


def is_adopted_by(configuration: SchedulerConfiguration) -> bool:
    """Whether any profile runs the plugin that applies policies."""
    wanted = SchedulingPolicies.plugin_name()
    return any(
        config.name == wanted for each in configuration.profiles for config in each.plugin_config
    )


def _name(document: dict[str, Any]) -> str:
    return str(document["metadata"]["name"])
