"""`moorage config`: check a configuration without running it."""

import click

from moorage.app import config_bundle, plugin_files
from moorage.app.config_text import ConfigText
from moorage.app.input_files import STDIN, read_input
from moorage.cli.common import exit_on_bad_input
from moorage.cli.standard_streams import echo
from moorage.config import yaml_dump
from moorage.config.lease_config import lease_warnings
from moorage.config.plugin_validator import UnknownPlugins


@click.group("config")
def config_command() -> None:
    """Check configurations and print them in full."""


@config_command.command("check")
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
)
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE.py|MODULE:CLASS",
    help="A plugin to load beside the built-in and installed ones; may be repeated.",
)
@click.option(
    "--unknown-plugins",
    type=click.Choice(["error", "warn"]),
    default="error",
    show_default=True,
    help="What to do about plugins that are not known; `warn` leaves them out.",
)
@exit_on_bad_input
def check_command(
    files: tuple[str, ...], plugins: tuple[str, ...], unknown_plugins: UnknownPlugins
) -> None:
    """Check a configuration and print it with every default filled in.

    FILE is a KubeSchedulerConfiguration (v1, v1beta3 or v1beta2), alone, among other documents or
    inside a ConfigMap; `-` reads standard input. SchedulingPolicy and ProfileCanary documents are
    checked with it, in the same file or in further ones; policies may be checked alone. The
    completed configuration goes to standard output and can be used in FILE's place. Warnings go to
    standard error. If anything is wrong, all of it is listed there, each with its place, and the
    exit code is 2.

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
    texts = [_read(file) for file in files]
    known = plugin_files.load_plugins(plugins)
    alone = config_bundle.has_policies_only(texts)
    given = [config_bundle.POLICIES_APPLIED, *texts] if alone else texts
    found = config_bundle.load_bundle(given, known, unknown_plugins=unknown_plugins)
    for warning in found.warnings:
        echo(f"warning: {warning}", err=True)
    if alone:
        echo(f"warning: {config_bundle.POLICIES_ALONE}", err=True)
        echo(yaml_dump.dump_policies(found.policies), nl=False)
    else:
        for warning in lease_warnings(found.loaded.configuration):
            echo(f"warning: {warning}", err=True)
        echo(yaml_dump.dump_all(found.loaded), nl=False)


def _read(file: str) -> ConfigText:
    return ConfigText("" if file == STDIN else file, read_input(file))
