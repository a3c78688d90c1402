"""The `moorage` command."""

import click

from moorage import __version__
from moorage.cli.bench_cmd import bench_command
from moorage.cli.config_cmd import config_command
from moorage.cli.evaluate_cmd import evaluate_command
from moorage.cli.extender_cmd import extender_command
from moorage.cli.plugin_cmd import plugin_command
from moorage.cli.probe_cmd import probe_command
from moorage.cli.run_cmd import run_command
from moorage.cli.simulate_cmd import simulate_command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="moorage")
def main() -> None:
    """Moorage: a Kubernetes scheduler that people extend in Python.

    \b
    Try it, with nothing but this machine:
      moorage simulate examples/demo/cluster examples/demo/workloads
    """


main.add_command(bench_command)
main.add_command(config_command)
main.add_command(evaluate_command)
main.add_command(extender_command)
main.add_command(probe_command)
main.add_command(plugin_command)
main.add_command(run_command)
main.add_command(simulate_command)

if __name__ == "__main__":
    main()
