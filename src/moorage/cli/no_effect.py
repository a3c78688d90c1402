"""Reports what was given without effect, and what would give it one."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from moorage.app import plugin_files
from moorage.config.types import SchedulerConfiguration
from moorage.simulate.manifest_files import Manifest

_QUOTA_PLUGINS: Final = frozenset(("CapacityScheduling", "FairShare"))


def unused_plugins(given: Iterable[str], configuration: SchedulerConfiguration) -> Iterator[str]:
    """Warnings about plugins that were given with --plugin and are in no profile."""
    named = _enabled(configuration)
    for each in given:
        for plugin in plugin_files.plugin_classes(each):
            if not named & {plugin.plugin_name(), *plugin.aliases}:
                yield (
                    f"--plugin {each}: no profile names {plugin.plugin_name()}, so it has no "
                    "effect: enable it at multiPoint in --config"
                )


def unread_quotas(
    objects: Iterable[Manifest], configuration: SchedulerConfiguration
) -> Iterator[str]:
    """Warnings about ElasticQuotas that no profile reads."""
    quotas = sum(each.kind == "ElasticQuota" for each in objects)
    if quotas and not _enabled(configuration) & _QUOTA_PLUGINS:
        yield (
            f"ElasticQuota: {quotas} given, and no profile reads them, so they have no effect: "
            "enable CapacityScheduling at multiPoint in --config"
        )


def _enabled(configuration: SchedulerConfiguration) -> set[str]:
    return {
        entry.name
        for profile in configuration.profiles
        for entries in _plugin_sets(profile.plugins)
        for entry in entries.enabled
    }


def _plugin_sets(plugins: Any) -> Iterator[Any]:
    return (getattr(plugins, field) for field in plugins.__struct_fields__)
