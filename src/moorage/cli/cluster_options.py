"""Where `explain`, `capacity` and `whatif` take the cluster from: manifests, or a live cluster."""

from typing import Final, NamedTuple

import click

from moorage.app import inputs, plugin_files
from moorage.app.inputs import read_configuration
from moorage.cli.common import PLUGIN, F, with_options
from moorage.clock import SystemClock
from moorage.config.field_errors import InputError
from moorage.config.loader import Loaded
from moorage.explain.sources import Source, as_it_stands, from_simulation
from moorage.framework.plugin_registry import Registry
from moorage.kube.kubeconfig import KubeconfigError, SelectedContext
from moorage.simulate import live_manifests, manifest_files
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.manifest_selection import select_readable
from moorage.simulate.simulation import simulate

CLUSTER_OPTIONS: Final = (
    click.option(
        "--context",
        default="",
        metavar="NAME",
        help="Read a live cluster, by lists alone: this context of the kubeconfig. "
        "[default without a PATH: the current one]",
    ),
    click.option("--kubeconfig", default="", metavar="FILE", help="The kubeconfig to use."),
    click.option(
        "--as-is",
        is_flag=True,
        help="Take manifests as a snapshot: pods without a node are not scheduled first.",
    ),
    click.option("--config", "config", metavar="FILE", help="A KubeSchedulerConfiguration."),
    PLUGIN,
    click.option("--seed", default=0, show_default=True, help="Ties are broken by this seed."),
)


def with_cluster_options(command: F) -> F:
    """A command with the options that say which cluster it is about."""
    return with_options(CLUSTER_OPTIONS, command)


class ClusterChoice(NamedTuple):
    """What was given on the command line."""

    paths: tuple[str, ...]
    context: str = ""
    kubeconfig: str = ""
    as_is: bool = False
    config: str | None = None
    plugins: tuple[str, ...] = ()
    seed: int = 0

    @property
    def is_live(self) -> bool:
        """Whether a cluster is read, and no files."""
        return not self.paths

    def settings(self) -> tuple[Loaded, Registry]:
        """The configuration, and the plugins that it may name."""
        known = plugin_files.load_plugins(self.plugins)
        return read_configuration(self.config, known), known

    def objects(self) -> list[Manifest]:
        """Every object of the cluster, as it is written; what was left out is said."""
        skipped: list[str] = []
        found = self._live(skipped) if self.is_live else self._files(skipped)
        for line in skipped:
            click.echo(f"warning: {line}", err=True)
        return found

    def namespace(self) -> str:
        """The namespace of the context; that of files is the default one."""
        return self._selected().namespace if self.is_live else ""

    def source(self) -> Source:
        """The cluster to ask about: as it stands, or once everything in it was scheduled."""
        loaded, known = self.settings()
        objects = self.objects()
        if self.is_live or self.as_is:
            return as_it_stands(objects, loaded, known, SystemClock().now())
        guard = loaded.moorage.plugin_guard
        return from_simulation(simulate(objects, loaded.configuration, known, self.seed, guard))

    def _files(self, skipped: list[str]) -> list[Manifest]:
        if self.context or self.kubeconfig:
            raise InputError([f"{self.paths[0]}: name files, or a cluster by --context, not both"])
        return select_readable(manifest_files.read_manifests(self.paths, skipped), skipped)

    def _live(self, skipped: list[str]) -> list[Manifest]:
        return live_manifests.read_cluster(self._selected(), skipped)

    def _selected(self) -> SelectedContext:
        try:
            return inputs.select_context(self.kubeconfig, self.context)
        except KubeconfigError as error:
            raise InputError([str(error)]) from None
