"""SchedulingPolicy documents among manifests: by themselves, or in ConfigMaps."""

from collections.abc import Iterable

from moorage.app import config_bundle
from moorage.config import scheduling_policy
from moorage.config.scheduling_policy import SchedulingPolicy
from moorage.config.types import SchedulerConfiguration
from moorage.simulate.manifest_files import Manifest


def is_policy(manifest: Manifest) -> bool:
    """Whether a manifest is a SchedulingPolicy, which the embedded cluster does not store."""
    return manifest.kind == scheduling_policy.KIND


def manifest_policies(manifests: Iterable[Manifest]) -> list[SchedulingPolicy]:
    """Every policy among the manifests; raises a ConfigError that names the place."""
    return [
        policy
        for manifest in manifests
        if is_policy(manifest) or manifest.kind == "ConfigMap"
        for policy in scheduling_policy.load_policies(manifest.raw, source=manifest.place)
    ]


def apply_policies(
    configuration: SchedulerConfiguration, policies: list[SchedulingPolicy]
) -> tuple[SchedulerConfiguration, list[str]]:
    """The configuration with the policies added, and notes about those it does not apply."""
    if not policies:
        return configuration, []
    names = ", ".join(policy.name for policy in policies)
    if not config_bundle.applies_policies(configuration):
        return configuration, [f"SchedulingPolicy {names}: {config_bundle.UNAPPLIED}"]
    applied = config_bundle.add_policies(configuration, policies)
    return applied, config_bundle.ineffective_policies(applied)
