"""`--config FILE`, or the default configuration."""

from pathlib import Path

import click
import msgspec

from moorage.config import policy
from moorage.config.loading import Loaded, load
from moorage.config.types import API_VERSION, KIND
from moorage.framework.registry import Registry
from moorage.plugins.registry import describe
from moorage.policies.adopting import adopt
from moorage.simulate.manifests import InputError


def configuration(file: str | None, known: Registry) -> Loaded:
    """The configuration in a file, with its warnings said; without a file, kube's default.

    SchedulingPolicy documents in the same file go to the plugin that applies them.
    """
    described = describe(known)
    if file is None:
        return load({"apiVersion": API_VERSION, "kind": KIND}, known=described)
    path = Path(file)
    if not path.is_file():
        raise InputError([f"--config {file}: no such file"])
    text = path.read_bytes()
    loaded = load(text, known=described, source=file)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    policies = policy.load(text, source=file)
    adopted = adopt(loaded.configuration, policies)
    return msgspec.structs.replace(loaded, configuration=adopted)
