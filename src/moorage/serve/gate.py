"""Who gets through to a handler: authorization on the secure port, this machine on loopback.

Every path asks the API server but those that `open_paths` names, and the files of the dashboard's
page, which hold no data. Loopback shows everything to
everybody on the machine, and so nothing can be changed there, and a page of another site that a
browser was led here from is turned away by its Host header.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from aiohttp import web

from moorage.serve.callers import HEALTH_PATHS, Callers
from moorage.serve.client_certificates import ClientCertificates
from moorage.serve.request_authorizer import Authorizer, Denied
from moorage.serve.secure_serving import is_loopback

NO_AUTHORIZER: Final = "Forbidden: nobody can be asked who may see this\n"
FOREIGN_HOST: Final = "Forbidden: this port answers to localhost only\n"
READ_ONLY: Final = "Method not allowed: nothing can be changed over plain HTTP\n"
CALLER: Final = web.RequestKey("caller", str)
"""Under which a request has the name of who asks."""
WHOLE_TREES: Final = ("/dashboard/",)
"""What is one right, whichever path below it is asked for: named by pods and nodes, they have no
end."""
PAGE_ROUTES: Final = frozenset({"/dashboard", "/dashboard/", "/dashboard/page/{file}"})
"""The files of the dashboard's page, the same for everybody: they hold no data, but a field for the
token that data is asked for with."""
SAFE: Final = frozenset({"GET", "HEAD"})
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def refusal(status: int, text: str) -> web.Response:
    """A plain answer that browsers neither guess at nor keep."""
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
        """Whether anybody may ask for a path."""
        whole = f"/{path.strip('/')}"
        return whole in self._open or path.startswith(self._prefixes)

    @web.middleware
    async def authorize(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let through who may; there is nobody to ask about a path that is not served."""
        if request.match_info.http_exception is not None or self.is_open(request.path):
            return await handler(request)
        if _route(request) in PAGE_ROUTES:
            return await handler(request)
        if self._authorizer is None:
            return refusal(403, NO_AUTHORIZER)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        try:
            user = await self._authorizer.check(
                bearer,
                request.method.lower(),
                reviewed_path(request.path),
                address=request.remote or "",
                user=self.certificates.user_of(request),
            )
        except Denied as denied:
            return refusal(denied.status, str(denied))
        request[CALLER] = user.get("username", "")
        return await handler(request)

    @web.middleware
    async def loopback(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let through who is on this machine and only looks."""
        if not is_loopback(_host(request.headers.get("Host", ""))):
            return refusal(403, FOREIGN_HOST)
        if request.method not in SAFE:
            return refusal(405, READ_ONLY)
        return await handler(request)


def reviewed_path(path: str) -> str:
    """The path that a caller needs the right to: itself, or the tree that it is part of."""
    return next((tree for tree in WHOLE_TREES if f"{path}/".startswith(tree)), path)


def busy_while_answering(
    busy: set[asyncio.Transport],
) -> Callable[..., Awaitable[web.StreamResponse]]:
    """A middleware that marks connections whose request is being answered."""

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
    """The pattern that a path was matched by: no spelling of another path leads to it."""
    resource = request.match_info.route.resource
    return "" if resource is None else resource.canonical


def _host(header: str) -> str:
    """The name in a Host header, without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if header.count(":") == 1 else header
