"""The HTTP routes that a stock kube-scheduler calls as an extender.

| path | answers |
|---|---|
| POST /filter /prioritize /preempt /bind | as k8s.io/kube-scheduler/extender/v1 has it |
| GET /healthz /livez | `ok` while the process answers |
| GET /readyz | `ok` once the cluster, if one is followed, is known |
| GET /metrics | Prometheus' text |

Errors of filter and bind are in the `Error` of the answer. The other verbs have no such field: they
answer 400 if the request is at fault, and 500 if a plugin is.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import choose_encoder

from moorage.extender import protocol
from moorage.extender.bind_handler import BindHandler
from moorage.extender.protocol import WireDecodeError
from moorage.extender.verb_handler import VerbHandler
from moorage.framework.verdicts import SchedulingError
from moorage.observe.logs import say

MOST_BYTES: Final = 64 << 20
"""The largest request: it may contain thousands of whole nodes."""
SMALL_BYTES: Final = 256 << 10
"""Up to this size requests are read side by side, larger ones one at a time: with as many
connections as are accepted at most, that bounds what is held in memory."""
READ_SECONDS: Final = 10.0
"""A body that takes longer is not waited for; kube-scheduler gives up after 5 s by default."""
TOO_LARGE: Final = f"the request has more than {MOST_BYTES >> 20} MiB: set nodeCacheCapable"
TOO_SLOW: Final = f"the request was not sent within {READ_SECONDS:g} s"
BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5)

HEALTH: Final = ("/healthz", "/livez", "/readyz")

Verb = Callable[[bytes], Awaitable[Any]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ExtenderServer:
    """Answers requests, one after the other. `unready` says why it cannot answer yet.

    With `certified`, all but the health endpoints require a client certificate. Connections whose
    request has been read are in `busy` until it is answered.
    """

    def __init__(
        self,
        answering: VerbHandler,
        *,
        binding: BindHandler | None = None,
        unready: Callable[[], str | None] = lambda: None,
        certified: bool = False,
        busy: set[asyncio.Transport] | None = None,
    ) -> None:
        self._answering = answering
        self._certified = certified
        self._binding = binding
        self._busy = set[asyncio.Transport]() if busy is None else busy
        self._large = asyncio.Lock()
        self._unready = unready
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "moorage_extender_requests",
            "Requests of kube-scheduler, by verb and result.",
            ("verb", "result"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "moorage_extender_request_duration_seconds",
            "Seconds a request took to answer.",
            ("verb",),
            buckets=BUCKETS,
            registry=self.registry,
        )

    def application(self) -> web.Application:
        """The routes; verbs that are not served answer 404."""
        middlewares = [_certified_only] if self._certified else []
        app = web.Application(client_max_size=MOST_BYTES, middlewares=middlewares)
        verbs: dict[str, Verb] = {
            "filter": self._filter,
            "prioritize": self._prioritize,
            "preempt": self._preempt,
        }
        if self._binding is not None:
            verbs["bind"] = self._bind
        for verb, answer in verbs.items():
            app.router.add_post(f"/{verb}", self._handler(verb, answer))
        for path in HEALTH:
            app.router.add_get(path, self._ready if path == "/readyz" else self._healthy)
        app.router.add_get("/metrics", self._metrics)
        return app

    def _handler(self, verb: str, answer: Verb) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            length = request.content_length
            if length is not None and length > MOST_BYTES:
                return web.Response(status=413, text=TOO_LARGE)
            if length is not None and length <= SMALL_BYTES:
                return await read_and_answer(request)
            async with self._large:
                return await read_and_answer(request)

        async def read_and_answer(request: web.Request) -> web.Response:
            body = await _read(request)
            began = time.perf_counter()
            found, why, status = None, "", 200
            transport = request.transport
            try:
                if transport is not None:
                    self._busy.add(transport)
                found = await answer(body)
                why = getattr(found, "error", "")
            except WireDecodeError as error:
                why, status = f"the request cannot be read: {error}", 400
            except SchedulingError as error:
                why, status = str(error), 500
            finally:
                if transport is not None:
                    self._busy.discard(transport)
            if why:
                say(logging.WARNING, "Request failed", verb=verb, err=why)
            self._requests.labels(verb, "error" if why else "success").inc()
            self._seconds.labels(verb).observe(time.perf_counter() - began)
            return _respond(verb, found, why, status)

        return handle

    async def _filter(self, body: bytes) -> protocol.ExtenderFilterResult:
        unready = self._unready()
        if unready is not None:
            return protocol.ExtenderFilterResult(error=unready)
        return self._answering.filter(protocol.decode_wire(body, protocol.ExtenderArgs))

    async def _prioritize(self, body: bytes) -> list[protocol.HostPriority]:
        return self._answering.prioritize(protocol.decode_wire(body, protocol.ExtenderArgs))

    async def _preempt(self, body: bytes) -> protocol.ExtenderPreemptionResult:
        return self._answering.preempt(protocol.decode_wire(body, protocol.ExtenderPreemptionArgs))

    async def _bind(self, body: bytes) -> protocol.ExtenderBindingResult:
        if self._binding is None:
            return protocol.ExtenderBindingResult(error="this extender does not bind")
        return await self._binding.bind(protocol.decode_wire(body, protocol.ExtenderBindingArgs))

    async def _healthy(self, request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _ready(self, request: web.Request) -> web.Response:
        why = self._unready()
        return web.Response(text="ok") if why is None else web.Response(status=503, text=why)

    async def _metrics(self, request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self.registry), headers={"Content-Type": content_type})


async def _read(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout(text=TOO_SLOW) from None


@web.middleware
async def _certified_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    shown = request.get_extra_info("peercert")
    if not shown and request.path not in HEALTH:
        return web.Response(status=403, text="show a certificate of --client-ca-file")
    return await handler(request)


def _respond(verb: str, found: Any, why: str, status: int) -> web.Response:
    """The answer; if there is none, the error in the verb's `Error` field or as the status."""
    if found is None and verb in _WITH_ERROR and status != 400:
        found, status = _WITH_ERROR[verb](error=why), 200
    if found is None:
        return web.Response(status=status, text=why)
    return web.Response(body=msgspec.json.encode(found), content_type="application/json")


_WITH_ERROR: Final[dict[str, Callable[..., Any]]] = {
    "filter": protocol.ExtenderFilterResult,
    "bind": protocol.ExtenderBindingResult,
}
