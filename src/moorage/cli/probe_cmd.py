"""`moorage probe`: measure latencies to other nodes, for NetworkLatencyPlugin."""

import asyncio
import logging
import random
import sys
import time
from typing import Any, Literal

import click
import msgspec

from moorage.api.node import ZONE_LABEL
from moorage.app import inputs
from moorage.cli.common import exit_on_bad_input
from moorage.cli.standard_streams import echo
from moorage.clock import SystemClock
from moorage.config.durations import Duration
from moorage.config.field_errors import InputError
from moorage.feeds import latency_prober
from moorage.feeds.latency_prober import ProbePlan, Prober
from moorage.feeds.readings import FeedError
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import KubeconfigError
from moorage.observe import logs
from moorage.observe.logs import say
from moorage.policies.network_latency import CONFIG_MAP

KUBELET_PORT = 10250


class ProbeOptions(msgspec.Struct, frozen=True):
    """The options of the command."""

    node: str
    config_map: str
    between: Literal["zones", "nodes"]
    topology_label: str
    per_zone: int
    tries: int
    port: int
    seconds: float
    interval: str
    once: bool
    dry_run: bool
    kubeconfig: str
    context: str


@click.command("probe", short_help="Measure latencies from this node to others.")
@click.option(
    "--node",
    required=True,
    envvar="NODE_NAME",
    metavar="NAME",
    help="The node this runs on. [default: $NODE_NAME]",
)
@click.option(
    "--config-map",
    default=CONFIG_MAP,
    show_default=True,
    metavar="NAMESPACE/NAME",
    help="Where to write what was measured; it must exist.",
)
@click.option(
    "--between",
    type=click.Choice(["zones", "nodes"]),
    default="zones",
    show_default=True,
    help="Write one latency for each zone, or for each node.",
)
@click.option(
    "--topology-label",
    default=ZONE_LABEL,
    show_default=True,
    metavar="LABEL",
    help="The label of nodes that says which zone they are in.",
)
@click.option(
    "--per-zone",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="To how many nodes of each zone to measure, others each time.",
)
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="How often to measure to each of them; the median counts.",
)
@click.option(
    "--port",
    type=click.IntRange(min=1, max=65535),
    default=KUBELET_PORT,
    show_default=True,
    help="The TCP port to connect to: the kubelet's, or any other; it may refuse.",
)
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0.01),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for an answer.",
)
@click.option(
    "--interval",
    default="5m",
    show_default=True,
    metavar="DURATION",
    help="How often to measure: measurementInterval of NetworkLatencyPlugin.",
)
@click.option("--once", is_flag=True, help="Measure once and end.")
@click.option("--dry-run", is_flag=True, help="Measure once, print it, and write nothing.")
@click.option("--kubeconfig", default="", metavar="FILE", help="As for `moorage run`.")
@click.option("--context", default="", metavar="NAME", help="The context of the kubeconfig to use.")
@exit_on_bad_input
def probe_command(**given: Any) -> None:
    """Measure how long it takes from this node to others, and write it where policies read it.

    A round trip is the time it takes to open a TCP connection, to a few ready nodes of every zone.
    What was measured goes under this node's name in a ConfigMap; NetworkLatencyPlugin takes the
    median of all probers of a zone. `deploy/components/latencies` runs this on every node.

    \b
    Examples:
      moorage probe --node node-1 --dry-run
      moorage probe --node node-1 --between nodes --interval 1m
    """
    options = ProbeOptions(**given)
    log = logs.configure(0, "text")
    try:
        pause = Duration.parse(options.interval).seconds
        code = asyncio.run(_probe(options, pause))
    except (KubeconfigError, ValueError) as error:
        raise InputError([str(error)]) from None
    finally:
        log.close()
    sys.exit(code)


async def _probe(options: ProbeOptions, pause: float) -> int:
    server = KubeApiServer(inputs.select_context(options.kubeconfig, options.context))
    round_trip = latency_prober.tcp_round_trip(options.port, options.seconds, time.perf_counter)
    prober = Prober(server, _plan(options), round_trip, SystemClock(), random.Random())
    try:
        while True:
            code = await _round(prober, options)
            if options.once or options.dry_run:
                return code
            await asyncio.sleep(pause * random.uniform(0.9, 1.1))
    finally:
        await server.close()


async def _round(prober: Prober, options: ProbeOptions) -> int:
    try:
        document = await prober.measure()
        if options.dry_run:
            echo(msgspec.json.encode(document).decode())
        else:
            await prober.publish(document)
            say(logging.INFO, "measured", latencies=document.latencies)
    except FeedError as error:
        say(logging.ERROR, "not measured", err=str(error))
        return 1
    return 0


def _plan(options: ProbeOptions) -> ProbePlan:
    namespace, _, name = options.config_map.partition("/")
    if not name:
        raise ValueError(f"--config-map: NAMESPACE/NAME, not {options.config_map!r}")
    return ProbePlan(
        options.node,
        namespace,
        name,
        options.between,
        options.topology_label,
        options.per_zone,
        options.tries,
    )
