"""Who gets through to a handler: authorization on the secure port, this machine on loopback.

On the secure port, the API server is asked about every path, except those in `open_paths` and the
files of the dashboard's page, which hold no data. On loopback, everybody on the machine sees
everything. So nothing can be changed there. A request that a page of another site makes a browser
send is refused: browsers name the site in Sec-Fetch-Site and Origin, and in Host. A link may lead
to the dashboard's page.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final

from aiohttp import web

from moorage.serve.callers import HEALTH_PATHS, Caller, Callers
from moorage.serve.client_certificates import ClientCertificates
from moorage.serve.request_authorizer import Authorizer, Denied
from moorage.serve.secure_serving import is_loopback

NO_AUTHORIZER: Final = "Forbidden: nobody can be asked who may see this\n"
FOREIGN_HOST: Final = "Forbidden: this port answers to localhost only\n"
FOREIGN_PAGE: Final = "Forbidden: this port answers no pages of other sites\n"
READ_ONLY: Final = "Method not allowed: nothing can be changed over plain HTTP\n"
CALLER: Final = web.RequestKey("caller", Caller)
"""The key for the caller in a request."""
WHOLE_TREES: Final = ("/dashboard/",)
"""Each tree is authorized as one path: the paths below it contain names of pods and nodes, so that
there is no end of them."""
PAGE_ROUTES: Final = frozenset({"/dashboard", "/dashboard/", "/dashboard/page/{file}"})
"""The files of the dashboard's page, the same for everybody. They hold no data, only a field for
the token with which data is requested."""
_HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]+))(?::\d+)?")
SAFE: Final = frozenset({"GET", "HEAD"})
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def refusal(status: int, text: str) -> web.Response:
    """A plain-text answer that browsers neither sniff nor cache."""
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache, private"}
    if status == 429:
        headers["Retry-After"] = "1"
    return web.Response(status=status, text=text, headers=headers)


class Gate:
    """The middlewares of a server."""

    def __init__(
        self,
        authorizer: Authorizer | None,
        open_paths: Iterable[str] = HEALTH_PATHS,
        certificates: ClientCertificates | None = None,
    ) -> None:
        self.certificates = ClientCertificates() if certificates is None else certificates
        self._authorizer = authorizer
        self._open = frozenset(path for path in open_paths if not path.endswith("*"))
        self._prefixes = tuple(path[:-1] for path in open_paths if path.endswith("*"))

    @classmethod
    def of(cls, callers: Callers) -> "Gate":
        """A gate for these callers."""
        return cls(callers.authorizer, callers.open_paths, callers.certificates)

    def is_open(self, path: str) -> bool:
        """Whether a path is open to all."""
        whole = f"/{path.strip('/')}"
        return whole in self._open or path.startswith(self._prefixes)

    @web.middleware
    async def authorize(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let authorized callers through. Paths that are not served need no authorization."""
        if request.match_info.http_exception is not None or self.is_open(request.path):
            return await handler(request)
        if _route(request) in PAGE_ROUTES:
            return await handler(request)
        if self._authorizer is None:
            return refusal(403, NO_AUTHORIZER)
        authorizer, address = self._authorizer, request.remote or ""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        try:
            user = await authorizer.check(
                bearer,
                request.method.lower(),
                reviewed_path(request.path),
                address=address,
                user=self.certificates.user_of(request),
            )
        except Denied as denied:
            return refusal(denied.status, str(denied))
        may = partial(authorizer.may, user, address=address)
        request[CALLER] = Caller(user.get("username", ""), may)
        return await handler(request)

    @web.middleware
    async def loopback(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let requests of this machine through if they only read."""
        if not is_loopback(_host(request.headers.get("Host", ""))):
            return refusal(403, FOREIGN_HOST)
        if _is_of_another_site(request):
            return refusal(403, FOREIGN_PAGE)
        if request.method not in SAFE:
            return refusal(405, READ_ONLY)
        return await handler(request)


def reviewed_path(path: str) -> str:
    """The path to authorize: the path itself, or the tree that it belongs to."""
    return next((tree for tree in WHOLE_TREES if f"{path}/".startswith(tree)), path)


def busy_while_answering(
    busy: set[asyncio.Transport],
) -> Callable[..., Awaitable[web.StreamResponse]]:
    """A middleware that marks connections with a request in progress."""

    @web.middleware
    async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        transport = request.transport
        if transport is None:
            return await handler(request)
        busy.add(transport)
        try:
            return await handler(request)
        finally:
            busy.discard(transport)

    return answer


def _route(request: web.Request) -> str:
    """The pattern of the matched route; another spelling of a path cannot imitate it."""
    resource = request.match_info.route.resource
    return "" if resource is None else resource.canonical


def _is_of_another_site(request: web.Request) -> bool:
    """Whether a page of another site has a browser send this; a link to our page is no harm."""
    headers = request.headers
    if headers.get("Origin", own := f"http://{headers.get('Host', '')}") != own:
        return True
    if headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        return False
    follows = headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")
    return follows != ("navigate", "document") or _route(request) not in PAGE_ROUTES


def _host(header: str) -> str:
    """The name in a Host header, without the port; nothing if it is not one."""
    found = _HOST.fullmatch(header)
    return "" if found is None else found[1] or found[2]
