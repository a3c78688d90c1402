"""What a process starts from: its configuration, its plugins, the API server it talks to."""

import logging
import os
from pathlib import Path

import click
import msgspec

from moorage.app import config_bundle
from moorage.app.built_in_plugins import describe_plugins
from moorage.app.config_bundle import ConfigBundle
from moorage.app.config_sources import ConfigFiles, ConfigMapRef, ConfigMaps, ConfigSources
from moorage.app.config_text import ConfigText
from moorage.app.plugin_files import PluginSet
from moorage.clock import SystemClock
from moorage.config import yaml_documents
from moorage.config.field_errors import InputError
from moorage.config.loader import Loaded, load
from moorage.config.types import API_VERSION, KIND
from moorage.framework.plugin_registry import Registry
from moorage.kube import in_cluster_config, kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import KubeconfigError, SelectedContext
from moorage.observe.log_formats import Format
from moorage.observe.logs import say
from moorage.watch.api_errors import ApiError

CANARIES_LEFT_OUT = (
    "ProfileCanary documents are left out: only `moorage run` tries versions on some pods"
)


class RunOptions(msgspec.Struct, frozen=True):
    """What was given on the command line."""

    config: str
    config_maps: tuple[str, ...]
    policies: tuple[str, ...]
    reload_interval: float
    kubeconfig: str
    context: str
    plugins: tuple[str, ...]
    seed: int | None
    request_seconds: float
    bind_address: str
    secure_port: int
    http_port: int
    tls_cert_file: str
    tls_private_key_file: str
    cert_dir: str
    verbosity: int
    log_format: Format


def read_configuration(file: str | None, known: Registry) -> Loaded:
    """The configuration in a file, with its warnings said; without a file, kube's default.

    SchedulingPolicy documents in the same file go to the plugin that applies them.
    """
    if file is None:
        return load({"apiVersion": API_VERSION, "kind": KIND}, known=describe_plugins(known))
    path = Path(file)
    if not path.is_file():
        raise InputError([f"--config {file}: no such file"])
    found = config_bundle.load_bundle([ConfigText(file, path.read_bytes())], known)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if found.canaries:
        click.echo(f"warning: {file}: {CANARIES_LEFT_OUT}", err=True)
    return found.loaded


def select_context(file: str, context: str) -> SelectedContext:
    """The context that was asked for; or our own inside a pod; or that of the usual files."""
    if file:
        return kubeconfig.load_kubeconfig([file], context)
    if in_cluster_config.runs_in_pod() and not context:
        return in_cluster_config.load_in_cluster_config()
    listed = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = Path.home() / ".kube" / "config"
    found = [path for path in listed or [home] if path.is_file()]
    if not found:
        looked = os.pathsep.join(map(str, listed or [home]))
        raise KubeconfigError(looked, "", "no such file: name one with --kubeconfig FILE")
    return kubeconfig.load_kubeconfig(found, context)


def sources_of(options: RunOptions) -> ConfigSources:
    """The files and ConfigMaps that the command line names."""
    if not options.config and not options.config_maps:
        raise InputError(["name a configuration: --config FILE or --config-map NAMESPACE/NAME"])
    plugins = PluginSet(options.plugins)
    named = {"--config": [options.config] if options.config else [], "--policies": options.policies}
    return ConfigSources(
        ConfigFiles(named, beside=plugins.files),
        ConfigMaps(map(ConfigMapRef.parse, options.config_maps)),
        plugins,
    )


def load_sources(sources: ConfigSources, known: Registry) -> ConfigBundle:
    """All of it, with its warnings said."""
    found = config_bundle.load_bundle(sources.read(), known)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    return found


def kubeconfig_named_in(sources: ConfigSources) -> str:
    """The kubeconfig that a configuration in a file names; nothing where there is none."""
    for text in sources.files.read():
        for found in yaml_documents.find_documents(text.content, KIND, text.source):
            connection = found.value.get("clientConnection")
            if isinstance(connection, dict):
                return str(connection.get("kubeconfig") or "")
    return ""


async def fetch_config_maps(
    sources: ConfigSources, selected: SelectedContext, request_seconds: float
) -> None:
    """Read the ConfigMaps for the first time."""
    server = KubeApiServer(selected, request_seconds=request_seconds)
    try:
        await sources.config_maps.fetch(server, SystemClock(), _config_map_failed)
    finally:
        await server.close()


def _config_map_failed(what: str, error: ApiError) -> None:
    say(logging.WARNING, "ConfigMap not read yet", config_map=what, err=str(error))
