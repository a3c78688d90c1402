"""The page itself: files of this package, with headers that limit what they may do."""

import hashlib
import mimetypes
from importlib import resources
from typing import Final

from aiohttp import web

from moorage.serve.gate import refusal

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
TYPES: Final = {".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml"}
INDEX: Final = "index.html"
NO_PAGE: Final = "this installation has no page: /dashboard/api/ answers all the same\n"


class PageFile:
    """One file, read once."""

    def __init__(self, name: str, body: bytes) -> None:
        suffix = name[name.rfind(".") :]
        kind = TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        self.body = body
        self.etag = hashlib.sha256(body).hexdigest()[:16]
        text = kind.startswith("text/") or kind == "image/svg+xml"
        self.kind = f"{kind}; charset=utf-8" if text else kind


class PageFiles:
    """Serves the files of the page, and no others."""

    def __init__(self) -> None:
        folder = resources.files("moorage.dashboard") / "page"
        self._files = {
            each.name: PageFile(each.name, each.read_bytes())
            for each in (folder.iterdir() if folder.is_dir() else ())
            if each.is_file() and not each.name.startswith((".", "_"))
        }

    async def get(self, request: web.Request) -> web.Response:
        """A file by its name; without a name, the page."""
        name = request.match_info.get("file", INDEX)
        found = self._files.get(name)
        if found is None:
            return refusal(404, NO_PAGE if name == INDEX else "there is no such file\n")
        headers = {**HEADERS, "ETag": f'"{found.etag}"', "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return web.Response(status=304, headers=headers)
        return web.Response(body=found.body, headers={**headers, "Content-Type": found.kind})


async def to_page(request: web.Request) -> web.Response:
    """Redirects `/dashboard` to `/dashboard/`."""
    return web.Response(status=308, headers={**HEADERS, "Location": "/dashboard/"})
