"""Which cluster `simulate`, `explain`, `capacity` and `whatif` read: files, or a live one."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import click
import msgspec

from moorage.app import inputs, plugin_files
from moorage.app.inputs import read_configuration
from moorage.cli import no_effect
from moorage.cli.common import PLUGIN, F, warn, with_options
from moorage.clock import SystemClock
from moorage.config.field_errors import InputError
from moorage.config.loader import Loaded
from moorage.config.scheduling_policy import SchedulingPolicy
from moorage.explain.sources import Source, as_it_stands, from_simulation
from moorage.framework.plugin_registry import Registry
from moorage.kube.kubeconfig import KubeconfigError, SelectedContext
from moorage.scheduler.attempt import TapOf
from moorage.simulate import live_manifests, live_overlay, manifest_files, manifest_policies
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.manifest_selection import select_readable
from moorage.simulate.simulation import Progress, Simulation, simulate

VALIDATE: Final = click.option(
    "--validate/--no-validate",
    default=True,
    show_default=True,
    help="Refuse what an API server refuses; also as --validate=false.",
)
CLUSTER_OPTIONS: Final = (
    click.option(
        "--context",
        default="",
        metavar="NAME",
        help="Read a live cluster, with lists only: this context of the kubeconfig. "
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
    VALIDATE,
)


def with_cluster_options(command: F) -> F:
    """A command with the options that choose a cluster."""
    return with_options(CLUSTER_OPTIONS, command)


class ManifestCommand(click.Command):
    """A command that accepts `--validate=false`, as kubectl does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [_AS_KUBECTL.get(each, each) for each in args])


_AS_KUBECTL: Final = {
    "--validate=false": "--no-validate",
    "--validate=ignore": "--no-validate",
    "--validate=true": "--validate",
    "--validate=strict": "--validate",
}


class Given(NamedTuple):
    """The objects of a cluster, and the configuration, with the policies among the objects."""

    objects: list[Manifest]
    loaded: Loaded
    known: Registry
    policies: list[SchedulingPolicy]

    def with_policies(self, loaded: Loaded) -> Loaded:
        """Another configuration, with the same policies applied."""
        return _with_policies(loaded, self.policies)


class ClusterChoice(NamedTuple):
    """The options that choose a cluster."""

    paths: tuple[str, ...]
    context: str = ""
    kubeconfig: str = ""
    as_is: bool = False
    config: str | None = None
    plugins: tuple[str, ...] = ()
    seed: int = 0
    validate: bool = True
    strict: bool = False

    @property
    def is_live(self) -> bool:
        """Whether a live cluster is read, with or without files."""
        return bool(not self.paths or self.context or self.kubeconfig)

    def read(self) -> Given:
        """Read everything given; warns of what was left out or has no effect."""
        known = plugin_files.load_plugins(self.plugins)
        loaded = read_configuration(self.config, known)
        warn(no_effect.unused_plugins(self.plugins, loaded.configuration))
        skipped: list[str] = []
        found = self._found(skipped)
        policies = manifest_policies.manifest_policies(found)
        objects = (each for each in found if not manifest_policies.is_policy(each))
        kept = select_readable(objects, skipped, strict=self.strict)
        warn([*skipped, *no_effect.unread_quotas(kept, loaded.configuration)])
        return Given(kept, _with_policies(loaded, policies), known, policies)

    def objects(self) -> list[Manifest]:
        """Every object of the cluster, as written; warns of what was left out."""
        skipped: list[str] = []
        found = select_readable(self._found(skipped), skipped)
        warn(skipped)
        return found

    def namespace(self) -> str:
        """The namespace of the context; for files, the default one."""
        return self._selected().namespace if self.is_live else ""

    def simulated(
        self,
        given: Given,
        progress: Progress | None = None,
        observers: Sequence[Any] = (),
        tap_of: TapOf | None = None,
    ) -> Simulation:
        """The cluster after everything in it was scheduled."""
        guard = given.loaded.moorage.plugin_guard
        settings = given.loaded.configuration, given.known, self.seed, guard
        return simulate(
            given.objects,
            *settings,
            validate=self.validate,
            progress=progress,
            observers=observers,
            tap_of=tap_of,
        )

    def source(self) -> Source:
        """The cluster to ask about: as it is, or after everything in it was scheduled.

        Warns of what is odd about it, and of what went wrong.
        """
        given = self.read()
        if not self.paths or self.as_is:
            now, said = SystemClock().now(), list[str]()
            source = as_it_stands(*given[:3], now, validate=self.validate, warnings=said)
            warn(said)
            return source
        ran = self.simulated(given)
        say_of_run(ran)
        return from_simulation(ran)

    def _found(self, skipped: list[str]) -> list[Manifest]:
        live = live_manifests.read_cluster(self._selected(), skipped) if self.is_live else []
        given = manifest_files.read_manifests(self.paths, skipped, may_be_empty=bool(live))
        return live_overlay.put_over(live, given, skipped)

    def _selected(self) -> SelectedContext:
        try:
            return inputs.select_context(self.kubeconfig, self.context)
        except KubeconfigError as error:
            raise InputError([str(error)]) from None


def say_of_run(ran: Simulation) -> None:
    """Warn of odd manifests, and of what went wrong while they were scheduled."""
    refused = (f"{whose}: {why}" for whose, why in ran.refused)
    warn([*ran.warnings, *refused, *ran.notes, *dict.fromkeys(ran.errors)])


def _with_policies(loaded: Loaded, policies: list[SchedulingPolicy]) -> Loaded:
    configuration, said = manifest_policies.apply_policies(loaded.configuration, policies)
    warn(said)
    return msgspec.structs.replace(loaded, configuration=configuration)
