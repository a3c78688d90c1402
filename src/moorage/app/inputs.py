"""What a process starts from: its configuration, its plugins, the API server it talks to."""

import logging
import os
from pathlib import Path
from typing import Final

import click
import msgspec

from moorage.api.outside_text import printable
from moorage.app import config_bundle, input_files
from moorage.app.built_in_plugins import describe_plugins
from moorage.app.config_bundle import ConfigBundle
from moorage.app.config_sources import ConfigFiles, ConfigMapRef, ConfigMaps, ConfigSources
from moorage.app.config_text import ConfigText
from moorage.app.kube_flags import ConfigFlags, at_master
from moorage.app.plugin_files import PluginSet
from moorage.app.serving_flags import ServingFlags
from moorage.clock import SystemClock
from moorage.config import yaml_documents
from moorage.config.durations import Duration
from moorage.config.field_errors import InputError
from moorage.config.loader import Loaded, load
from moorage.config.types import API_VERSION, KIND
from moorage.framework.plugin_registry import Registry
from moorage.kube import in_cluster_config, kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import KubeconfigError, SelectedContext
from moorage.observe.log_formats import Format
from moorage.observe.logs import say
from moorage.observe.metric_filter import MetricFilter, filter_of
from moorage.watch.api_errors import ApiError

CANARIES_LEFT_OUT = (
    "ProfileCanary documents are left out: only `moorage run` tries versions on some pods"
)


FIVE_MINUTES: Final = Duration.of_seconds(300)


class MetricFlags(msgspec.Struct, frozen=True):
    """kube-scheduler's flags about metrics."""

    disabled_metrics: tuple[str, ...] = ()
    allow_metric_labels: tuple[str, ...] = ()
    allow_metric_labels_manifest: str = ""

    def filter(self) -> MetricFilter:
        """The filter of metrics that these flags make."""
        try:
            return filter_of(
                self.disabled_metrics, self.allow_metric_labels, self.allow_metric_labels_manifest
            )
        except ValueError as error:
            raise InputError([str(error)]) from None


class RunOptions(msgspec.Struct, frozen=True):
    """The options of the command line."""

    config: str = ""
    config_maps: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    reload_interval: float = 1.0
    kubeconfig: str = ""
    context: str = ""
    plugins: tuple[str, ...] = ()
    seed: int | None = None
    request_seconds: float = 30.0
    bind_address: str = "0.0.0.0"
    secure_port: int = 10259
    http_port: int = 0
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    cert_dir: str = ""
    verbosity: int = 0
    log_format: Format = "text"
    master: str = ""
    write_config_to: str = ""
    otlp_endpoint: str = ""
    dashboard: bool = False
    enable_explain: bool = False
    record: str = ""
    record_keep: str = ""
    anonymize: bool = False
    pod_max_in_unschedulable_pods_duration: Duration = FIVE_MINUTES
    flags: ConfigFlags = ConfigFlags()
    serving: ServingFlags = ServingFlags()
    metrics: MetricFlags = MetricFlags()

    @property
    def configured(self) -> bool:
        """Whether the command line names a configuration."""
        return bool(self.config or self.config_maps)


def read_configuration(file: str | None, known: Registry, option: str = "--config") -> Loaded:
    """The configuration in a file; without a file, kube's default. Prints its warnings.

    `option` is the option that named the file. SchedulingPolicy documents in the same file are
    passed to the plugin that applies them.
    """
    if file is None:
        return load({"apiVersion": API_VERSION, "kind": KIND}, known=describe_plugins(known))
    text = ConfigText(input_files.title_of(file), input_files.read_input(file, option))
    found = config_bundle.load_bundle([text], known)
    for warning in found.warnings:
        _warn(warning)
    if found.canaries:
        _warn(f"{file}: {CANARIES_LEFT_OUT}")
    return found.loaded


def _warn(warning: str) -> None:
    click.echo(f"warning: {printable(warning)}", err=True)


def select_context(file: str, context: str, master: str = "") -> SelectedContext:
    """The named context; else the service account if in a pod; else that of the usual files.

    `master` replaces the address of the API server; without a kubeconfig no credentials are used.
    """
    if master:
        named = kubeconfig.load_kubeconfig([file], context) if file else None
        return at_master(named, master)
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
    """The files and ConfigMaps that the command line names; else kube-scheduler's default."""
    plugins = PluginSet(options.plugins)
    named = {"--config": [options.config] if options.config else [], "--policies": options.policies}
    return ConfigSources(
        ConfigFiles(named, beside=plugins.files),
        ConfigMaps(map(ConfigMapRef.parse, options.config_maps)),
        plugins,
        () if options.configured else (options.flags.default_text(),),
        lambda given: options.flags.override(given, file=options.configured),
    )


def load_sources(sources: ConfigSources, known: Registry) -> ConfigBundle:
    """Load everything, and print its warnings."""
    found = sources.load(sources.read(), known)
    for warning in found.warnings:
        _warn(warning)
    return found


def kubeconfig_named_in(sources: ConfigSources) -> str:
    """The kubeconfig that a configuration file names; empty if none does."""
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
