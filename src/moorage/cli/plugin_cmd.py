"""`moorage plugin`: create one, list those that are found, check one before it is used."""

import importlib.util
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import click
from rich.table import Table

from moorage import scaffold
from moorage.app import built_in_plugins, input_files, plugin_files
from moorage.cli import standard_streams
from moorage.cli.common import exit_on_bad_input
from moorage.cli.standard_streams import echo
from moorage.cli.terminal import Terminal
from moorage.config import yaml_documents
from moorage.config.field_errors import InputError
from moorage.framework.points import points_of
from moorage.scaffold.hook_samples import SAMPLES
from moorage.scaffold.plugin_project import Names
from moorage.testing import plugin_check

_UNFOLDED: Final = 1000
"""Columns of a table that goes to no terminal, so that paths are not folded."""


@click.group("plugin", short_help="Write, list and check plugins.")
def plugin_command() -> None:
    """Plugins: begin one, see which are found, check one before it is used.

    `moorage plugin new TenantZones` begins one, and says what to type next.
    """


@plugin_command.command("new", short_help="Write a plugin, its test and its configuration.")
@click.argument("name")
@click.option(
    "--point",
    "points",
    default="filter,score",
    show_default=True,
    metavar="POINT,...",
    help=f"The extension points: {', '.join(SAMPLES)}.",
)
@click.option("--dir", "folder", metavar="DIR", help="Where to write; by default the name.")
@click.option("--package", is_flag=True, help="A package to install, found by its entry point.")
@exit_on_bad_input
def new_command(name: str, points: str, folder: str | None, package: bool) -> None:
    """Write a plugin, its test, its configuration and a cluster to try it on.

    All of it runs at once. NAME is that of the class: TenantZones, or tenant-zones. Nothing that is
    there is overwritten.

    \b
    Examples:
      moorage plugin new TenantZones
      moorage plugin new QuietHours --point pre_enqueue
      moorage plugin new TenantZones --package --dir acme/tenant-zones
    """
    try:
        names = Names.of(name)
    except ValueError as error:
        raise InputError([str(error)]) from None
    _refuse_known(names)
    files = scaffold.make(names, _points(points), package=package)
    target = Path(folder or names.package)
    _write(target, files)
    for file in files:
        echo(target / file)
    echo(_next_steps(target, names, package))


def _refuse_known(names: Names) -> None:
    found = built_in_plugins.installed().get(names.cls)
    if found is not None:
        source = plugin_files.describe_source(found)
        raise InputError([f"{names.cls} is the name of a plugin ({source}): choose another"])


def _points(given: str) -> list[str]:
    points = [point.strip() for point in given.split(",") if point.strip()]
    unknown = [point for point in points if point not in SAMPLES]
    if unknown or not points:
        wrong = ", ".join(unknown) or "nothing"
        raise InputError([f"--point {wrong}: choose of {', '.join(SAMPLES)}"])
    return list(dict.fromkeys(points))


def _write(target: Path, files: dict[str, str]) -> None:
    try:
        there = [str(target / file) for file in files if (target / file).exists()]
        if there:
            raise InputError([f"{file} is there already; give another --dir" for file in there])
        for file, text in files.items():
            path = target / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    except OSError as error:
        place = error.filename or target
        said = (error.strerror or str(error)).lower()
        raise InputError([f"{place}: {said}: give another --dir, one to write in"]) from None


def _next_steps(target: Path, names: Names, package: bool) -> str:
    """What to type in this shell, with the Python that Moorage runs in."""
    python = _typed("python") or shlex.quote(sys.executable)
    moorage = _typed("moorage") or f"{python} -m moorage"
    steps = [f"cd {shlex.quote(str(target))}"]
    if importlib.util.find_spec("pytest") is None:
        steps.append(f"{python} -m pip install pytest")
    steps.append(f"{python} -m pytest")
    if package:
        steps.append(f"{python} -m pip install .   # from then on it is found by its name")
    plugin = "" if package else f" --plugin {names.module}.py"
    steps.append(f"{moorage} simulate example.yaml --config scheduler.yaml{plugin}")
    return "\nNext:\n" + "\n".join(f"  {step}" for step in steps)


def _typed(program: str) -> str:
    """A program beside this Python: by its name where the shell finds it, else by its path."""
    beside = Path(sys.executable).parent / program
    found = shutil.which(program)
    if found and Path(found).absolute() == beside:
        return program
    return shlex.quote(str(beside)) if beside.exists() else ""


@plugin_command.command("list", short_help="Show every plugin, and where it was found.")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE.py|MODULE:CLASS",
    help="A plugin to load beside the built-in and installed ones; may be repeated.",
)
@exit_on_bad_input
def list_command(plugins: tuple[str, ...]) -> None:
    """Show every plugin that a configuration may name, and where it was found.

    Built-in plugins, Moorage's own policies, those that installed packages bring (entry point group
    `moorage.plugins`), and those given with --plugin.
    """
    known = plugin_files.load_plugins(plugins)
    table = Table(box=None, header_style="bold")
    for column in ("plugin", "also known as", "extension points", "from"):
        table.add_column(column, overflow="fold")
    for plugin in sorted(set(known.values()), key=lambda found: found.plugin_name()):
        aliases, points = ", ".join(plugin.aliases), ", ".join(sorted(points_of(plugin)))
        table.add_row(plugin.plugin_name(), aliases, points, plugin_files.describe_source(plugin))
    Terminal(width=None if Terminal().is_terminal else _UNFOLDED).print(table)


@plugin_command.command("check", short_help="Try a plugin before it is used.")
@click.argument("plugin", metavar="FILE.py|MODULE:CLASS")
@click.option(
    "--args",
    "args",
    metavar="FILE|{...}",
    help="The plugin's arguments, as in pluginConfig: a file, or YAML in braces.",
)
@exit_on_bad_input
def check_command(plugin: str, args: str | None) -> None:
    """Check a plugin: that it loads, what it extends, and that every hook answers sensibly.

    Each class is made of --args, or of its defaults, and takes part in scheduling a small cluster,
    with the deadlines of a real one, until every hook had its turn. The exit code is 2 if anything
    is wrong.

    \b
    Example:
      $ moorage plugin check tenant_zones.py
      TenantZones: filter (scalar), score (scalar)
        arguments: zones (required), home = "west"
        not tried: it needs zones: give them with --args
      $ moorage plugin check tenant_zones.py --args '{zones: [west]}'
    """
    with standard_streams.stdout_to_stderr():
        found = plugin_check.check_plugins(plugin_files.plugin_classes(plugin), _args(args))
    for line in found.lines:
        echo(line)
    if found.problems:
        raise InputError([f"{plugin}{_given(args)}: {problem}" for problem in found.problems])


def _given(args: str | None) -> str:
    """How a file gives the arguments of a plugin, if it holds them."""
    in_file = args is not None and not args.lstrip().startswith("{")
    return f" with --args {args}" if in_file else ""


def _args(given: str | None) -> dict[str, Any] | None:
    if given is None:
        return None
    inline = given.lstrip().startswith("{")
    source = "--args" if inline else f"--args {input_files.title_of(given)}"
    text = given.encode() if inline else input_files.read_input(given, "--args")
    value = (yaml_documents.read_values(text, source=source) or [None])[0]
    if not isinstance(value, dict):
        raise InputError([f"{source}: not a mapping: write the arguments as in pluginConfig"])
    return value
