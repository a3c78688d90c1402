"""What `moorage run` reads its configuration from."""

import logging

import click

from moorage.cli.plugin_loading import Plugins
from moorage.cli.run_options import Options
from moorage.clock import SystemClock
from moorage.config import documents
from moorage.config.types import KIND
from moorage.framework.registry import Registry
from moorage.kube.kubeconfig import Selected
from moorage.kube.server import KubeApiServer
from moorage.observe.logs import say
from moorage.reload import whole
from moorage.reload.config_maps import ConfigMaps, Ref
from moorage.reload.files import Files
from moorage.reload.sources import Sources
from moorage.reload.whole import Whole
from moorage.simulate.manifests import InputError
from moorage.watch.errors import ApiError


def of(options: Options) -> Sources:
    """The files and ConfigMaps that the command line names."""
    if not options.config and not options.config_maps:
        raise InputError(["name a configuration: --config FILE or --config-map NAMESPACE/NAME"])
    plugins = Plugins(options.plugins)
    named = {"--config": [options.config] if options.config else [], "--policies": options.policies}
    return Sources(
        Files(named, beside=plugins.files),
        ConfigMaps(map(Ref.parse, options.config_maps)),
        plugins,
    )


def load(sources: Sources, known: Registry) -> Whole:
    """All of it, with its warnings said."""
    found = whole.load(sources.read(), known)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    return found


def kubeconfig(sources: Sources) -> str:
    """The kubeconfig that a configuration in a file names; nothing where there is none."""
    for text in sources.files.read():
        for found in documents.find(text.content, KIND, text.source):
            connection = found.value.get("clientConnection")
            if isinstance(connection, dict):
                return str(connection.get("kubeconfig") or "")
    return ""


async def fetch(sources: Sources, selected: Selected, request_seconds: float) -> None:
    """Read the ConfigMaps for the first time."""
    server = KubeApiServer(selected, request_seconds=request_seconds)
    try:
        await sources.config_maps.fetch(server, SystemClock(), _failed)
    finally:
        await server.close()


def _failed(what: str, error: ApiError) -> None:
    say(logging.WARNING, "ConfigMap not read yet", config_map=what, err=str(error))
