"""`moorage config`: look at a configuration without running it."""

import importlib
from collections.abc import Mapping

import click

from moorage.config import dumping
from moorage.config.known import PluginInfo
from moorage.config.loading import load
from moorage.config.problems import ConfigError
from moorage.config.screening import UnknownPlugins

_INVALID = 2


@click.group("config")
def config_command() -> None:
    """Look at scheduler configurations."""


@config_command.command("check")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--unknown-plugins",
    type=click.Choice(["error", "warn"]),
    default="error",
    show_default=True,
    help="What to do about plugins that are not known; `warn` leaves them out.",
)
def check_command(file: str, unknown_plugins: UnknownPlugins) -> None:
    """Check a configuration and print it with every default filled in.

    FILE is a KubeSchedulerConfiguration (v1, v1beta3 or v1beta2), alone, among other documents or
    inside a ConfigMap; `-` reads standard input. The completed configuration goes to standard
    output and can be used in FILE's place. Warnings go to standard error. If anything is wrong,
    all of it is listed there, each with its place, and the exit code is 2.

    \b
    Example:
      $ cat binpack.yaml
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: KubeSchedulerConfiguration
      profiles:
      - schedulerName: binpack
        pluginConfig:
        - name: NodeResourcesFit
          args:
            scoringStrategy:
              type: MostAlocated
      $ moorage config check binpack.yaml
      error: binpack.yaml:9: profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported
      value: "MostAlocated": supported values: "LeastAllocated", "MostAllocated", ...
    """
    with click.open_file(file, "rb") as stream:
        text = stream.read()
    source = "" if file == "-" else file
    try:
        loaded = load(text, known=_known(), source=source, unknown_plugins=unknown_plugins)
    except ConfigError as error:
        for problem in error.problems:
            click.echo(f"error: {problem}", err=True)
        raise click.exceptions.Exit(_INVALID) from None
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo(dumping.dump(loaded.configuration), nl=False)


def _known() -> Mapping[str, PluginInfo] | None:
    """Describe the plugins that are installed; without a registry any name is accepted."""
    try:
        registry = importlib.import_module("moorage.plugins.registry")
    except ModuleNotFoundError:
        return None
    known: Mapping[str, PluginInfo] = registry.known()
    return known
