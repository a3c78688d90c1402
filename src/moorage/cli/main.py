"""The `moorage` command."""

import os
import platform
from importlib import import_module
from typing import Final

import click

from moorage import __version__
from moorage.cli.command_errors import RootGroup
from moorage.cli.lazy_group import LazyCommand
from moorage.cli.standard_streams import echo

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""numpy would start a thread for each core at import, which spins for work that none of our
commands has."""


def _command(name: str, short_help: str) -> LazyCommand:
    return LazyCommand(f"moorage.cli.{name}_cmd", f"{name}_command", short_help)


COMMANDS: Final = {
    "bench": _command("bench", "Measure the scheduling decision."),
    "capacity": _command("capacity", "Count how many more pods of a shape fit."),
    "compare": _command("compare", "Compare configurations on one scenario."),
    "config": _command("config", "Check configurations and print them in full."),
    "defragment": _command("defragment", "Propose moves that make room on GPUs."),
    "evaluate": _command("evaluate", "Decide cases, read as JSON lines."),
    "explain": _command("explain", "Say why a pod waits or is where it is."),
    "extender": _command("extender", "Let a stock kube-scheduler ask Moorage's plugins."),
    "plugin": _command("plugin", "Write, list and check plugins."),
    "probe": _command("probe", "Measure latencies from this node to others."),
    "record": _command("record", "Cut recordings, or make them anonymous."),
    "replay": _command("replay", "Play a recording back, decision by decision."),
    "run": _command("run", "Schedule the pods of a cluster."),
    "shadow": _command("shadow", "Compare with another scheduler, read-only."),
    "simulate": _command("simulate", "Schedule manifests on an embedded cluster."),
    "snapshot": _command("snapshot", "Save a live cluster as manifests."),
    "tune": _command("tune", "Search weights and arguments for a scenario."),
    "whatif": _command("whatif", "Say what happens if a cluster changes."),
}


def _show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked:
        return
    echo(f"moorage, version {__version__}")
    if ctx.params["verbose"]:
        numpy, kernels = import_module("numpy"), import_module("moorage.kernels")
        echo(f"Python {platform.python_version()}, numpy {numpy.__version__}")
        echo(f"kernels: {kernels.described()}")
    ctx.exit()


@click.group(
    cls=RootGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit; with -v also Python's, numpy's, and if kernels are compiled.",
)
@click.option("-v", "--verbose", is_flag=True, is_eager=True, hidden=True)
def main(verbose: bool) -> None:
    """Moorage: a Kubernetes scheduler that people extend in Python.

    \b
    Try it, with nothing but this machine:
      moorage simulate examples/demo/cluster examples/demo/workloads
    Write a rule:
      moorage plugin new TenantZones
    Ask why a pod of your cluster waits:
      moorage explain --context staging team-a/web-0
    Schedule the pods of a cluster:
      moorage run --config scheduler.yaml
    """
    if verbose:
        raise click.UsageError(
            "-v goes with --version here; of a command it is an option of its own"
        )


def kubectl_plugin() -> None:
    """The same, found by kubectl: `kubectl moorage explain pod/web-0`."""
    main(prog_name="kubectl moorage")


if __name__ == "__main__":
    main()
