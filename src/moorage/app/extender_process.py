"""The process of `moorage extender serve`: follow a cluster, if any, and answer."""

import asyncio
import contextlib
import logging
import random
import signal
import ssl
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
from moorage.serve.client_certificates import (
    CaBundle,
    ClientCertificates,
    refresh_certificates,
)
from moorage.serve.http_server import REFRESH_SECONDS
from moorage.serve.secure_serving import Certificates, ServerTls

NOBODY: Final = "moorage-extender/nobody"
"""The scheduler name under which a cluster is followed: no pod has it, so none is scheduled."""
NOT_SYNCED: Final = "the cluster has not been read yet"
SHUTDOWN_SECONDS: Final = 5.0


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
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
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
        )
        if cluster.feeds is not None:
            server.registry.register(cluster.feeds)
        async with _listening(options, server):
            await _until(stop, cluster.following)
    say(logging.INFO, "stopped")


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
async def _listening(options: ExtenderOptions, server: ExtenderServer) -> AsyncIterator[None]:
    """Listen for as long as the block lasts; renewed certificates are read again."""
    callers = _callers(options)
    tls = _tls(options, callers)
    runner = web.AppRunner(server.application(), shutdown_timeout=SHUTDOWN_SECONDS, access_log=None)
    await runner.setup()
    refreshing = asyncio.ensure_future(_refresh(tls, callers))
    try:
        await _listen(runner, options, None if tls is None else tls.context)
        port = runner.addresses[0][1]
        say(logging.INFO, "Serving", address=options.bind_address, port=port, tls=not options.http)
        yield
    finally:
        refreshing.cancel()
        await runner.cleanup()


async def _listen(
    runner: web.AppRunner, options: ExtenderOptions, context: ssl.SSLContext | None
) -> None:
    site = web.TCPSite(runner, options.bind_address, options.port, ssl_context=context)
    try:
        await site.start()
    except OSError as error:
        where = f"{options.bind_address}:{options.port}"
        raise CannotServe(f"cannot listen on {where}: {error.strerror}") from error


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
