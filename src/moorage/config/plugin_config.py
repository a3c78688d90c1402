"""A profile's pluginConfig: arguments decoded, completed with defaults, and validated."""

from collections.abc import Iterable
from typing import Any, Final

from moorage.config import (
    default_plugins,
    field_errors,
    plugin_args,
    plugin_args_validation,
    strict_decoder,
)
from moorage.config.conversion import OLDER
from moorage.config.field_errors import Path, Report, duplicate, invalid, required, unsupported
from moorage.config.plugin_catalogue import PluginCatalogue
from moorage.config.plugin_validator import PluginValidator
from moorage.config.types import API_VERSION, MULTI_POINT, POINTS, PluginConfig, Plugins, Profile

_VERSIONS: Final = (API_VERSION, *OLDER)


def complete_plugin_config(
    profile: Profile, plugins: Plugins, screen: PluginValidator, path: Path
) -> list[PluginConfig]:
    """Return the arguments given, then those of the other enabled plugins, all completed.

    `plugins` are the profile's merged with the defaults; `path` leads to its `pluginConfig`.
    """
    out: dict[str, PluginConfig] = {}
    used = _enabled(plugins)
    for i, config in enumerate(profile.plugin_config):
        at = (*path, i)
        if _is_to_be_read(config, used, out, screen, at):
            args = _arguments(config, screen.catalogue, screen.report, (*at, "args"))
            out[config.name] = PluginConfig(config.name, args)
    for name in sorted(used - out.keys()):
        args = _default_arguments(name, screen.catalogue, screen.report, path)
        if args:
            out[name] = PluginConfig(name, args)
    return list(out.values())


def _enabled(plugins: Plugins) -> set[str]:
    return {ref.name for at in (MULTI_POINT, *POINTS) for ref in plugins.at(at).enabled}


def _is_to_be_read(
    config: PluginConfig, used: set[str], seen: Iterable[str], screen: PluginValidator, path: Path
) -> bool:
    name, report = config.name, screen.report
    if not name:
        report.problem((*path, "name"), required())
    elif screen.removed(name, path):
        pass
    elif name in seen:
        report.problem(path, duplicate(name))
    elif name not in screen.catalogue and not screen.catalogue.is_open:
        report.warn(path, f'ignored: plugin "{name}" is not known')
    else:
        if name not in used and name not in default_plugins.POINTS_OF:
            report.warn(path, f'has no effect: plugin "{name}" is not enabled')
        return True
    return False


def _arguments(
    config: PluginConfig, catalogue: PluginCatalogue, report: Report, path: Path
) -> dict[str, Any]:
    args = _without_type(config, report, path)
    if config.name in plugin_args.ARGS:
        return _own_arguments(config.name, args, report, path)
    wanted = catalogue.args(config.name)
    if wanted is not None:
        decoded = strict_decoder.decode(args, wanted, report, path, any_acronyms=True)
        if decoded is None:
            return args
        args = strict_decoder.encode(decoded)
        _check(wanted, args, report, path)
        return args
    if args and config.name in catalogue:
        report.warn(path, f'ignored: plugin "{config.name}" takes no arguments')
        return {}
    return args


def _check(wanted: Any, args: dict[str, Any], report: Report, path: Path) -> None:
    """Report what the plugin's own `check` finds wrong with arguments: `place: message` each."""
    check = getattr(wanted, "check", None)
    for fault in check(args) if callable(check) else ():
        place, colon, message = fault.partition(": ")
        if colon and " " not in place:
            report.problem((*path, *field_errors.parse_path(place)), message)
        else:
            report.problem(path, fault)


def _own_arguments(name: str, args: dict[str, Any], report: Report, path: Path) -> dict[str, Any]:
    decoded = strict_decoder.decode(args, plugin_args.ARGS[name], report, path)
    if decoded is None:
        return args
    completed = plugin_args.complete_args(decoded)
    plugin_args_validation.validate_plugin_args(completed, report, path)
    plain: dict[str, Any] = _without_null(strict_decoder.encode(completed))
    return plain


def _default_arguments(
    name: str, catalogue: PluginCatalogue, report: Report, path: Path
) -> dict[str, Any]:
    if name in plugin_args.ARGS:
        return _own_arguments(name, {}, report, path)
    wanted = catalogue.args(name)
    if wanted is None:
        return {}
    own = Report()
    decoded = strict_decoder.decode({}, wanted, own)
    args = {} if decoded is None else strict_decoder.encode(decoded)
    if decoded is not None:
        _check(wanted, args, own, ())
    if own.problems:
        needed = ", ".join(str(problem) for problem in own.problems)
        report.problem(path, f'plugin "{name}" needs arguments: {needed}')
    return args


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items() if inner is not None}
    return [_without_null(inner) for inner in value] if isinstance(value, list) else value


def _without_type(config: PluginConfig, report: Report, path: Path) -> dict[str, Any]:
    """Take the type of arguments, which is optional, out of them.

    A plugin that is not kube-scheduler's own may mean something else by `kind`.
    """
    args, own = dict(config.args), f"{config.name}Args"
    if config.name not in plugin_args.ARGS and args.get("kind") != own:
        return args
    kind, version = args.pop("kind", own), args.pop("apiVersion", API_VERSION)
    if kind != own:
        detail = f"args for plugin {config.name} were not of type {own}"
        report.problem((*path, "kind"), invalid(kind, detail))
    if version not in _VERSIONS:
        report.problem((*path, "apiVersion"), unsupported(version, _VERSIONS))
    return args
