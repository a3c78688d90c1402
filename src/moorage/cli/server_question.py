"""Asks a running Moorage a question over HTTPS, with a token that the API server knows."""

import asyncio
import ssl
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import aiohttp
import click
import msgspec

from moorage.cli.common import F, with_options
from moorage.config.field_errors import InputError

T = TypeVar("T")
SECONDS: Final = 330.0
"""A little longer than the longest question may take there."""
_SWITCHES: Final = {"/debug/explain": "--enable-explain", "/debug/whatif": "--enable-whatif"}
SERVER_OPTIONS: Final = (
    click.option("--server", default="", metavar="URL", help="Ask a running Moorage, over HTTPS."),
    click.option("--token-file", default="", metavar="FILE", help="The token to show to --server."),
    click.option(
        "--certificate-authority",
        "authority",
        default="",
        metavar="FILE",
        help="Whom to trust there.",
    ),
    click.option("--insecure-skip-tls-verify", "insecure", is_flag=True, help="Trust anybody."),
)


def with_server_options(command: F) -> F:
    """A command with the options that name a running Moorage."""
    return with_options(SERVER_OPTIONS, command)


class RunningServer(NamedTuple):
    """Where a scheduler serves, what to show there, and whom to trust."""

    url: str
    token_file: str = ""
    authority: str = ""
    insecure: bool = False

    def ask(self, path: str, body: dict[str, Any], answer: type[T]) -> T:
        """POST a question; an InputError says why there is no answer."""
        try:
            status, text = asyncio.run(self._post(path, body, self._headers()))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise InputError([f"{self.url}: {error}"]) from None
        if status == 404 and not text.startswith("pods"):
            raise InputError([f"{self.url}{path}: not served: start it with {_SWITCHES[path]}"])
        if status != 200:
            raise InputError([f"{self.url}{path}: {status}: {text.strip()}"])
        return msgspec.json.decode(text, type=answer)

    def _headers(self) -> dict[str, str]:
        if not self.token_file:
            return {}
        return {"Authorization": f"Bearer {Path(self.token_file).read_text().strip()}"}

    async def _post(
        self, path: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, str]:
        limit = aiohttp.ClientTimeout(total=SECONDS)
        async with aiohttp.ClientSession(timeout=limit) as session:
            url = self.url.rstrip("/") + path
            async with session.post(url, json=body, headers=headers, ssl=self._trust()) as answer:
                return answer.status, await answer.text()

    def _trust(self) -> ssl.SSLContext | bool:
        if self.insecure:
            return False
        return ssl.create_default_context(cafile=self.authority) if self.authority else True
