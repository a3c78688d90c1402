"""The process of `moorage extender serve`: follow a cluster, if any, and answer."""

import asyncio
import contextlib
import logging
import random
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, NamedTuple

from aiohttp import web

from moorage.app import feed_builder, inputs
from moorage.app.assembly import assemble
from moorage.app.extender_profile import ExtenderOptions, ExtenderProfile
from moorage.bind.plugin_client import PluginClient
from moorage.cache.cache import Cache
from moorage.clock import SystemClock
from moorage.extender.bind_handler import BindHandler
from moorage.extender.extender_server import ExtenderServer
from moorage.extender.verb_handler import VerbHandler
from moorage.feeds.feeds import Feeds
from moorage.framework.cycle import Client
from moorage.kube import in_cluster_config
from moorage.kube.kube_api_server import KubeApiServer
from moorage.observe.logs import say
from moorage.serve.bounded_listener import BoundedListener, bound_socket
from moorage.serve.client_certificates import (
    CaBundle,
    ClientCertificates,
    refresh_certificates,
)
from moorage.serve.http_server import REFRESH_SECONDS
from moorage.serve.secure_serving import Certificates, ServerTls, is_loopback

NOBODY: Final = "moorage-extender/nobody"
"""The scheduler name under which a cluster is followed: no pod has it, so none is scheduled."""
NOT_SYNCED: Final = "the cluster has not been read yet"
SHUTDOWN_SECONDS: Final = 5.0
LINGERING_SECONDS: Final = 1.0
"""How long what is left of a request that was refused is read, so that the refusal arrives."""
ANYBODY_BINDS: Final = "whoever can connect could bind any pod to any node"
ANYBODY_ASKS: Final = (
    "whoever can connect would be told the names of nodes and why they refuse a pod: give "
    "--client-ca-file FILE, or --anonymous to answer anybody"
)


class CannotServe(Exception):
    """The address cannot be listened on, or the options contradict each other."""


class Cluster(NamedTuple):
    """The cache of a cluster, and how to reach it."""

    cache: Cache
    server: KubeApiServer | None = None
    client: Client | None = None
    unready: Callable[[], str | None] = lambda: None
    following: "asyncio.Future[None] | None" = None
    feeds: Feeds | None = None


def follows_cluster(options: ExtenderOptions) -> bool:
    """Whether a cluster is followed."""
    given = bool(options.kubeconfig or options.context)
    return given or (in_cluster_config.runs_in_pod() and not options.no_cluster)


async def serve_extender(options: ExtenderOptions, chosen: ExtenderProfile) -> None:
    """Answer until SIGTERM or SIGINT."""
    _refuse_strangers(options)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    busy = set[asyncio.Transport]()
    async with _cluster(options, chosen) as cluster:
        answering = VerbHandler(
            chosen.profile,
            cluster.cache,
            follows=cluster.server is not None,
            now=SystemClock().now,
            client=cluster.client,
        )
        server = ExtenderServer(
            answering,
            binding=_binding(options, answering, cluster),
            unready=cluster.unready,
            certified=bool(options.client_ca_file),
            busy=busy,
        )
        if cluster.feeds is not None:
            server.registry.register(cluster.feeds)
        async with _listening(options, server, busy):
            await _until(stop, cluster.following)
    say(logging.INFO, "stopped")


def _refuse_strangers(options: ExtenderOptions) -> None:
    """Whoever can connect is answered, unless certificates are asked for."""
    if options.client_ca_file:
        return
    if options.serve_bind:
        raise CannotServe(f"--serve-bind: {ANYBODY_BINDS}: give --client-ca-file FILE")
    if not (options.anonymous or is_loopback(options.bind_address)):
        where = options.bind_address or "every address"
        raise CannotServe(f"--bind-address {where}: {ANYBODY_ASKS}")


async def _until(stop: asyncio.Event, following: "asyncio.Future[None] | None") -> None:
    """Return when told to stop; raise the error that ended the following of the cluster."""
    stopped: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
    tasks = {stopped} if following is None else {stopped, following}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
    if following is not None and following.done():
        following.result()


def _binding(
    options: ExtenderOptions, answering: VerbHandler, cluster: Cluster
) -> BindHandler | None:
    if not options.serve_bind:
        return None
    if cluster.server is None:
        raise CannotServe("--serve-bind: there is no API server to bind at: give --kubeconfig FILE")
    return BindHandler(answering, cluster.server)


@contextlib.asynccontextmanager
async def _cluster(options: ExtenderOptions, chosen: ExtenderProfile) -> AsyncIterator[Cluster]:
    """The cluster, followed and measured for as long as the block lasts; or an empty cache."""
    if not follows_cluster(options):
        yield Cluster(Cache())
        return
    server = KubeApiServer(inputs.select_context(options.kubeconfig, options.context))
    clock = SystemClock()
    scheduler = assemble(
        server, {NOBODY: chosen.whole}, clock=clock, rng=random.Random(), observers=(_FailureLog(),)
    )
    scheduler.active.clear()
    feeds = feed_builder.build_feeds(scheduler, beside=(chosen.profile,))
    following = asyncio.ensure_future(scheduler.run())
    feeding = asyncio.ensure_future(feed_builder.run_once_synced(scheduler, feeds))

    def unready() -> str | None:
        return None if scheduler.synced else NOT_SYNCED

    try:
        client = PluginClient(server, clock)
        yield Cluster(scheduler.cache, server, client, unready, following, feeds)
    finally:
        for task in (following, feeding):
            task.cancel()
        await asyncio.gather(following, feeding, return_exceptions=True)
        await server.close()


class _FailureLog:
    """Logs errors of following the cluster."""

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        say(logging.WARNING, "Following failed", what=pod, err=str(error))


@contextlib.asynccontextmanager
async def _listening(
    options: ExtenderOptions, server: ExtenderServer, busy: set[asyncio.Transport]
) -> AsyncIterator[None]:
    """Listen for as long as the block lasts; renewed certificates are read again."""
    callers = _callers(options)
    tls = _tls(options, callers)
    try:
        listening = bound_socket(options.bind_address, options.port)
    except OSError as error:
        where = f"{options.bind_address}:{options.port}"
        raise CannotServe(f"cannot listen on {where}: {error.strerror}") from error
    runner = web.AppRunner(
        server.application(),
        shutdown_timeout=SHUTDOWN_SECONDS,
        lingering_time=LINGERING_SECONDS,
        access_log=None,
    )
    await runner.setup()
    assert runner.server is not None
    context = None if tls is None else tls.context
    listener = BoundedListener(listening, runner.server, context, busy=busy)
    refreshing = asyncio.ensure_future(_refresh(tls, callers))
    try:
        address = options.bind_address
        say(logging.INFO, "Serving", address=address, port=listener.port, tls=not options.http)
        yield
    finally:
        refreshing.cancel()
        await listener.close()
        await runner.cleanup()


async def _refresh(tls: ServerTls | None, callers: ClientCertificates) -> None:
    while tls is not None:
        await asyncio.sleep(REFRESH_SECONDS)
        refresh_certificates([tls], callers)


def _callers(options: ExtenderOptions) -> ClientCertificates:
    if options.http and options.client_ca_file:
        raise CannotServe("--client-ca-file: of no use with --http: leave out one of them")
    return ClientCertificates(CaBundle(file=options.client_ca_file))


def _tls(options: ExtenderOptions, callers: ClientCertificates) -> ServerTls | None:
    """The TLS context, None without TLS. Client certificates are optional, because of probes."""
    if options.http:
        return None
    given = Certificates(options.tls_cert_file, options.tls_private_key_file, options.cert_dir)
    tls = ServerTls(given, options.bind_address)
    tls.trust(callers.pem)
    return tls
