"""The `moorage` command."""

import click

from moorage.cli.evaluate_cmd import evaluate_command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Moorage: a Kubernetes scheduler that people extend in Python."""


main.add_command(evaluate_command)
