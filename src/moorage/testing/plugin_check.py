"""Checks a plugin class: its points, its arguments, and a trial run on a small cluster."""

import inspect
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from moorage.config import strict_decoder
from moorage.config.field_errors import ConfigError, Report
from moorage.config.moorage_configuration import DEFAULT_GUARD
from moorage.config.plugin_config import check_args
from moorage.framework.hook_faults import hook_faults, is_written
from moorage.framework.plugin import Plugin
from moorage.framework.points import POINTS, Filter, Score, points_of
from moorage.framework.verdicts import SchedulingError
from moorage.guard.breaker_events import error_text, is_plugins_own_exit
from moorage.guard.load_deadline import MAKE_SECONDS, LoadTimeout, load_deadline
from moorage.testing import node, pod
from moorage.testing.scheduler_run import schedule


class PluginCheck(NamedTuple):
    """The descriptions of some plugins, and their faults."""

    lines: list[str]
    problems: list[str]


def check_plugins(
    plugins: Iterable[type[Plugin]], args: dict[str, Any] | None = None
) -> PluginCheck:
    """Describe each class. Run it with `args`, or with its defaults if it needs no arguments."""
    checked = PluginCheck([], [])
    for plugin in plugins:
        checked.lines.append(f"{plugin.plugin_name()}: {', '.join(_points(plugin))}")
        fields = msgspec.structs.fields(plugin)
        if fields:
            checked.lines.append(f"  arguments: {', '.join(map(_field, fields))}")
        checked.problems.extend(_faults(plugin))
        required = [field.encode_name for field in fields if field.required]
        if required and args is None:
            needed = ", ".join(required)
            checked.lines.append(f"  not tried: it needs {needed}: give them with --args")
        elif not checked.problems:
            checked.problems.extend(_try(plugin, args or {}))
    return checked


def _points(plugin: type[Plugin]) -> list[str]:
    """The extension points in their order; filter and score with the form that is implemented."""
    forms = {"filter": (Filter, "filter_all"), "score": (Score, "score_all")}
    said = []
    for point in POINTS:
        if point in points_of(plugin):
            base, hook = forms.get(point, (None, ""))
            vector = base is not None and getattr(plugin, hook) is not getattr(base, hook)
            said.append(f"{point} ({'vector' if vector else 'scalar'})" if base else point)
    return said


def _field(field: Any) -> str:
    if field.required:
        return f"{field.encode_name} (required)"
    made = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return f"{field.encode_name} = {made!r}"


def _faults(plugin: type[Plugin]) -> list[str]:
    """Likely mistakes of the author: hooks that cannot be called, or never are."""
    problems = hook_faults(plugin)
    for scalar, vector in (("filter", "filter_all"), ("score", "score_all")):
        if all(is_written(plugin, scalar, hook) for hook in (scalar, vector)):
            problems.append(f"{plugin.__name__} has both {scalar} and {vector}: write one of them")
    listed, own = points_of(plugin), _functions(plugin)
    for point, base in POINTS.items():
        unheard = [] if point in listed else sorted(own & _functions(base))
        if unheard:
            problems.append(
                f"{plugin.__name__} has {' and '.join(unheard)}, which nobody calls: list "
                f"{base.__name__} on the class line, or name it otherwise"
            )
    return problems


def _functions(plugin: type[Plugin]) -> set[str]:
    return {name for name, value in vars(plugin).items() if inspect.isfunction(value)}


def _made(plugin: type[Plugin], args: dict[str, Any]) -> Plugin:
    report = Report()
    with load_deadline(MAKE_SECONDS, plugin.__module__):
        made = strict_decoder.decode(args, plugin, report, any_acronyms=True)
        if made is not None:
            check_args(plugin, strict_decoder.encode(made), report, ())
    report.raise_problems()
    assert made is not None
    return made


def _try(plugin: type[Plugin], args: dict[str, Any]) -> list[str]:
    """Create the plugin, and run it on a small cluster so that every hook is called."""
    try:
        made = _made(plugin, args)
    except ConfigError as error:
        return [f"{plugin.__name__}: {problem}" for problem in error.problems]
    except LoadTimeout as error:
        return [f"{plugin.__name__} cannot be made: {error}"]
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        if not (isinstance(error, Exception) or is_plugins_own_exit(error)):
            raise
        return [f"{plugin.__name__} cannot be made: {error_text(error)}"]
    try:
        ran = schedule(
            node("a").in_zone("x"),
            node("b").in_zone("y"),
            pod("old").on("a"),
            pod("web").requesting(cpu="500m"),
            pod("huge").requesting(cpu="99"),
            plugins=[made],
            guard=DEFAULT_GUARD,
        )
    except SchedulingError as error:
        return [str(error)]
    name = plugin.plugin_name()
    return [f"running {point} plugin {name!r}: {said}" for point, said in ran.failures.items()]
