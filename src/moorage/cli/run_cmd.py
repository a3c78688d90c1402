"""`moorage run`: the scheduler against a real API server."""

import asyncio
import logging
import os
import sys
from pathlib import Path

import click

from moorage.cli import plugin_loading, run_log
from moorage.cli.configuration import configuration
from moorage.cli.failing import failing_clearly
from moorage.cli.run_log import LogFormat, Narrator, say
from moorage.cli.run_process import Process
from moorage.config.types import SchedulerConfiguration
from moorage.kube import incluster, kubeconfig
from moorage.kube.kubeconfig import KubeconfigError, Selected
from moorage.simulate.manifests import InputError

DEFAULT_SCHEDULER = "default-scheduler"
KUBE_LEASE = "kube-scheduler"


@click.command("run")
@click.option(
    "--config",
    "config",
    required=True,
    metavar="FILE",
    help="A KubeSchedulerConfiguration: the profiles to run, the lease to hold, the pace to keep.",
)
@click.option(
    "--kubeconfig",
    "kubeconfig_file",
    metavar="FILE",
    help="Where the API server is and who we are. [default: clientConnection.kubeconfig of the "
    "configuration; inside a pod, its service account; $KUBECONFIG; ~/.kube/config]",
)
@click.option("--context", default="", metavar="NAME", help="The context of the kubeconfig to use.")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE.py|MODULE:CLASS",
    help="A plugin to know besides the installed ones; may be repeated.",
)
@click.option(
    "--seed", type=int, help="Break ties by this seed, the same each time. [default: random]"
)
@click.option(
    "--request-timeout",
    "request_seconds",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long one request may take.",
)
@click.option(
    "-v",
    "--v",
    "verbosity",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="How much to say: 0 what matters, 2 every decision, 4 everything.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Lines to read, or JSON to collect.",
)
@failing_clearly
def run_command(
    config: str,
    kubeconfig_file: str | None,
    context: str,
    plugins: tuple[str, ...],
    seed: int | None,
    request_seconds: float,
    verbosity: int,
    log_format: LogFormat,
) -> None:
    """Schedule the pods of a cluster.

    Pods whose spec.schedulerName is that of a profile in the configuration are ours; all others are
    counted where they run and left alone, so this runs beside kube-scheduler as it is. Several
    replicas agree on a leader by a Lease; the others keep their caches warm and take over.

    \b
    A configuration to begin with:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: KubeSchedulerConfiguration
      profiles:
      - schedulerName: moorage
      leaderElection:
        leaderElect: true
        resourceName: moorage
      clientConnection:
        qps: 1000
        burst: 2000

    \b
    Examples:
      moorage config check scheduler.yaml
      moorage run --config scheduler.yaml --kubeconfig ~/.kube/config --context staging
      moorage run --config scheduler.yaml --plugin rules.py -v 2 --log-format json

    \b
    Signals:
      SIGTERM, SIGINT   finish what is being bound, release the lease, end with 0
      SIGUSR2           say what is believed, and how it differs from the API server

    The exit code is 2 where the input is at fault, and 1 where the lease was lost or something
    broke.
    """
    run_log.configure(verbosity, log_format)
    known = plugin_loading.load(plugins)
    loaded = configuration(config, known).configuration
    _warn(loaded)

    async def main() -> int:
        selected = _selected(kubeconfig_file or loaded.client_connection.kubeconfig, context)
        process = Process(
            loaded,
            known,
            selected,
            observers=(Narrator(verbosity),),
            seed=seed,
            request_seconds=request_seconds,
        )
        names = ", ".join(process.profiles)
        say(logging.INFO, "scheduling", profiles=names, server=process.server.url)
        return await process.run()

    try:
        code = asyncio.run(main())
    except KubeconfigError as error:
        raise InputError([str(error)]) from None
    except Exception:
        logging.getLogger("moorage").exception("the scheduler broke")
        code = 1
    sys.exit(code)


def _selected(file: str, context: str) -> Selected:
    if file:
        return kubeconfig.load([file], context)
    if incluster.is_inside() and not context:
        return incluster.load()
    listed = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = Path.home() / ".kube" / "config"
    found = [path for path in listed or [home] if path.is_file()]
    if not found:
        looked = os.pathsep.join(map(str, listed or [home]))
        raise InputError([f"no kubeconfig at {looked}: name one with --kubeconfig FILE"])
    return kubeconfig.load(found, context)


def _warn(loaded: SchedulerConfiguration) -> None:
    """Two schedulers of one name would bind each other's pods."""
    ours = {profile.scheduler_name for profile in loaded.profiles}
    if DEFAULT_SCHEDULER in ours and loaded.leader_election.resource_name != KUBE_LEASE:
        say(
            logging.WARNING,
            f"a profile is named {DEFAULT_SCHEDULER}: stop kube-scheduler, or share its lease "
            f"(leaderElection.resourceName: {KUBE_LEASE}), or both will schedule the same pods",
        )
