"""`--config FILE`, or the default configuration."""

from pathlib import Path

import click

from moorage.config.loading import Loaded, load
from moorage.config.types import API_VERSION, KIND
from moorage.framework.registry import Registry
from moorage.plugins.registry import describe
from moorage.reload import whole
from moorage.reload.texts import Text
from moorage.simulate.manifests import InputError

NOT_HERE = "ProfileCanary documents are left out: only `moorage run` tries versions on some pods"


def configuration(file: str | None, known: Registry) -> Loaded:
    """The configuration in a file, with its warnings said; without a file, kube's default.

    SchedulingPolicy documents in the same file go to the plugin that applies them.
    """
    if file is None:
        return load({"apiVersion": API_VERSION, "kind": KIND}, known=describe(known))
    path = Path(file)
    if not path.is_file():
        raise InputError([f"--config {file}: no such file"])
    found = whole.load([Text(file, path.read_bytes())], known)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if found.canaries:
        click.echo(f"warning: {file}: {NOT_HERE}", err=True)
    return found.loaded
