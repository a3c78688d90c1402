"""Loads a KubeSchedulerConfiguration: from a document to a completed, checked configuration.

1. find the configuration in the text, inside a ConfigMap too   yaml_documents
2. convert it to v1                                             conversion
3. decode it                                                    strict_decoder
4. fill in defaults                                             config_defaults
5. for each profile: call plugins by their own names, check     plugin_catalogue,
   them, merge them with the defaults, complete and check       plugin_validator,
   their arguments                                              default_plugins, plugin_config
6. check the whole                                              validation
7. write out what runs at each extension point                  resolved_profile

Every step reports all problems it finds; they are raised only at the end.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.config import (
    config_defaults,
    conversion,
    default_plugins,
    plugin_catalogue,
    required_points,
    resolved_profile,
    strict_decoder,
    validation,
    yaml_documents,
)
from moorage.config import moorage_configuration as moorage_documents
from moorage.config.field_errors import ConfigError, Path, Report, required
from moorage.config.moorage_configuration import DEFAULT_MOORAGE as MOORAGE
from moorage.config.moorage_configuration import MoorageConfiguration
from moorage.config.plugin_catalogue import PluginCatalogue, PluginInfo, did_you_mean
from moorage.config.plugin_config import complete_plugin_config
from moorage.config.plugin_validator import PluginValidator, UnknownPlugins
from moorage.config.required_points import UnpreparedPlugins
from moorage.config.types import API_VERSION, KIND, Profile, SchedulerConfiguration


class Loaded(msgspec.Struct, frozen=True):
    """A completed configuration, with its warnings."""

    configuration: SchedulerConfiguration
    warnings: tuple[str, ...] = ()
    moorage: MoorageConfiguration = MOORAGE


def load(
    document: str | bytes | Mapping[str, Any],
    *,
    known: Mapping[str, PluginInfo] | None = None,
    source: str = "",
    unknown_plugins: UnknownPlugins = "error",
    unprepared_plugins: UnpreparedPlugins | None = None,
) -> Loaded:
    """Load a KubeSchedulerConfiguration; raise ConfigError with everything that is wrong.

    `known` describes the plugins that may be named besides kube-scheduler's own. Without it any
    name is accepted. With `unknown_plugins="warn"` an unknown plugin is left out.
    `unprepared_plugins` overrides the MoorageConfiguration. `source` is the document's name in
    messages.
    """
    found = yaml_documents.find_only_document(document, KIND, source)
    report = Report(source, found.places, found.within)
    given = strict_decoder.decode(
        conversion.convert(found.value, report), SchedulerConfiguration, report
    )
    if given is None:
        raise ConfigError(report.problems)
    _warn_of_null_items(found.value, report)
    _refuse_empty_names(found.value, report)
    converted = found.value.get("apiVersion") in conversion.OLDER
    screen = PluginValidator(PluginCatalogue(known), unknown_plugins, report, converted=converted)
    configuration = _with_profiles(config_defaults.complete_configuration(given), screen)
    validation.validate_configuration(configuration, report)
    own = _moorage(document, screen.catalogue, report)
    report.raise_problems()
    if unprepared_plugins is not None:
        own = msgspec.structs.replace(own, unprepared_plugins=unprepared_plugins)
    configuration = _with_final_points(
        configuration, screen.catalogue, report, own.unprepared_plugins
    )
    report.raise_problems()
    return Loaded(configuration, tuple(report.warnings), own)


def _moorage(
    document: str | bytes | Mapping[str, Any], catalogue: PluginCatalogue, report: Report
) -> MoorageConfiguration:
    """The MoorageConfiguration in the same text."""
    try:
        own = moorage_documents.load_moorage_configuration(document, source=report.source)
    except ConfigError as error:
        report.problems += error.problems
        return MOORAGE
    for terms in own.plugin_guard.plugins:
        if terms.name not in catalogue and not catalogue.is_open:
            where = f"{report.source}: " if report.source else ""
            similar = did_you_mean(catalogue.similar(terms.name))
            detail = f'pluginGuard.plugins: plugin "{terms.name}" is not known{similar}'
            report.warnings.append(f"{where}{detail}")
    return own


def default_configuration(known: Mapping[str, PluginInfo] | None = None) -> SchedulerConfiguration:
    """Return the configuration that is used if none is given."""
    return load({"apiVersion": API_VERSION, "kind": KIND}, known=known).configuration


def complete_profile(
    given: Profile,
    configuration: SchedulerConfiguration,
    path: Path,
    report: Report,
    *,
    known: Mapping[str, PluginInfo] | None = None,
    unknown_plugins: UnknownPlugins = "error",
    unprepared_plugins: UnpreparedPlugins = UnpreparedPlugins.IGNORE,
) -> Profile:
    """Complete and check a profile that stands outside of its configuration, at `path`."""
    screen = PluginValidator(PluginCatalogue(known), unknown_plugins, report, converted=False)
    profile = _profile(
        given, config_defaults.ignored_resources(configuration.extenders), screen, path
    )
    validation.validate_percentage(profile.percentage_of_nodes_to_score, report, path)
    if report.problems:
        return profile
    return _with_points(profile, screen.catalogue, report, path, unprepared_plugins)


def _with_profiles(
    configuration: SchedulerConfiguration, screen: PluginValidator
) -> SchedulerConfiguration:
    ignored = config_defaults.ignored_resources(configuration.extenders)
    profiles = tuple(
        _profile(profile, ignored, screen, ("profiles", i))
        for i, profile in enumerate(configuration.profiles)
    )
    return msgspec.structs.replace(configuration, profiles=profiles)


def _profile(profile: Profile, ignored: list[str], screen: PluginValidator, path: Path) -> Profile:
    profile = plugin_catalogue.with_own_plugin_names(profile, screen.catalogue)
    if screen.converted:
        profile = conversion.adopt_strategy(profile, screen.report, path)
    named = screen.plugins(profile.plugins, (*path, "plugins"))
    plugins = default_plugins.merge_plugins(default_plugins.PLUGINS, named)
    configs = complete_plugin_config(profile, plugins, screen, (*path, "pluginConfig"))
    configs = config_defaults.ignore_resources(configs, ignored)
    return msgspec.structs.replace(profile, plugins=plugins, plugin_config=tuple(configs))


def _with_final_points(
    configuration: SchedulerConfiguration,
    catalogue: PluginCatalogue,
    report: Report,
    unprepared: UnpreparedPlugins,
) -> SchedulerConfiguration:
    profiles = tuple(
        _with_points(profile, catalogue, report, ("profiles", i), unprepared)
        for i, profile in enumerate(configuration.profiles)
    )
    return msgspec.structs.replace(configuration, profiles=profiles)


def _with_points(
    profile: Profile,
    catalogue: PluginCatalogue,
    report: Report,
    path: Path,
    unprepared: UnpreparedPlugins,
) -> Profile:
    points = resolved_profile.expand_multi_point(profile.plugins, catalogue)
    points = required_points.leave_out_unprepared(points, catalogue, report, path, unprepared)
    validation.validate_points(profile, points, report, path)
    mystery = [r.name for r in profile.plugins.multi_point.enabled if r.name not in catalogue]
    if not mystery:
        return config_defaults.write_out_points(profile, points)
    detail = f"nothing is known of {', '.join(mystery)}, so it runs at no point yet"
    report.warn((*path, "plugins", "multiPoint", "enabled"), detail)
    return profile


def _warn_of_null_items(value: dict[str, Any], report: Report) -> None:
    """Warn of an empty list item, which is accepted as in kube-scheduler, but likely a mistake."""
    for field in ("profiles", "extenders"):
        listed = value.get(field)
        for index, item in enumerate(listed if isinstance(listed, list) else ()):
            if item is None:
                report.warn((field, index), "is empty, and all defaults: fill it in, or remove it")


def _refuse_empty_names(value: dict[str, Any], report: Report) -> None:
    """Refuse an empty schedulerName; a single profile may leave the field out."""
    profiles = value.get("profiles")
    for i, profile in enumerate(profiles if isinstance(profiles, list) else []):
        if isinstance(profile, dict) and profile.get("schedulerName") == "":
            report.problem(("profiles", i, "schedulerName"), required())
