"""Asks a running Moorage a question over HTTPS, with a token that the API server accepts."""

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar

import aiohttp
import click
import msgspec

from moorage.app import input_files
from moorage.cli.common import F, given_options, is_url, with_options
from moorage.config.field_errors import InputError
from moorage.kube.tls import CA_BUT_INSECURE
from moorage.tls_trust import trusting

T = TypeVar("T")
SECONDS: Final = 40.0
"""A little longer than the server's limit for a question."""
_FLAGS: Final = ("--insecure-skip-tls-verify",)
SERVER_OPTIONS: Final = (
    click.option("--server", default="", metavar="URL", help="Ask a running Moorage, over HTTPS."),
    click.option("--token-file", default="", metavar="FILE", help="The token to show to --server."),
    click.option(
        "--certificate-authority",
        "authority",
        default="",
        metavar="FILE",
        help="The CA that signed the certificate of --server.",
    ),
    click.option(
        "--insecure-skip-tls-verify",
        "insecure",
        is_flag=True,
        help="Do not verify the certificate of --server.",
    ),
)

_OF_A_SERVER: Final = frozenset({"token_file", "authority", "insecure"})
_OF_A_CLUSTER: Final = frozenset({"context", "kubeconfig", "as_is", "config", "plugins", "seed"})
"""Parameters for a cluster that this process reads itself."""
_NOT_ANSWERED: Final = (
    "{0}: a running Moorage does not answer this: `moorage {1} --context CONTEXT` reads the "
    "cluster with your own rights"
)
_IN_CLEAR_TEXT: Final = "--server http:// would be sent the token in clear text: write https://"
_ITS_OWN: Final = "--server asks about a cluster and a configuration of its own: leave out one"


def with_server_options(command: F) -> F:
    """A command with the options that choose a running Moorage."""
    return with_options(SERVER_OPTIONS, command)


def without_server(command: F) -> F:
    """A command that no running Moorage answers; given --server, it says what does."""

    def refuse(ctx: click.Context, option: click.Parameter, value: Any) -> None:
        if value:
            raise click.UsageError(_NOT_ANSWERED.format(option.opts[0], ctx.command.name))

    hidden = [
        click.option(each, is_flag=each in _FLAGS, hidden=True, expose_value=False, callback=refuse)
        for each in ("--server", "--token-file", "--certificate-authority", *_FLAGS)
    ]
    return with_options(hidden, command)


class RunningServer(NamedTuple):
    """The address of a running scheduler, the token to send, and the CA to trust."""

    url: str
    token_file: str = ""
    authority: str = ""
    insecure: bool = False

    def ask(self, path: str, body: dict[str, Any], answer: type[T]) -> T:
        """POST a question; raises an InputError if there is no answer."""
        headers, trust = self._headers(), self._trust()
        try:
            status, text = asyncio.run(self._post(path, body, headers, trust))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise InputError([f"{self.url}: {error}"]) from None
        if status == 404 and not text.startswith("pods"):
            raise InputError([f"{self.url}{path}: not served: start it with --enable-explain"])
        if status != 200:
            raise InputError([f"{self.url}{path}: {status}: {text.strip()}"])
        return msgspec.json.decode(text, type=answer)

    def _headers(self) -> dict[str, str]:
        if not self.token_file:
            return {}
        token = input_files.read_input(self.token_file, "--token-file").strip()
        if not token.isascii() or len(token.split()) != 1:
            raise InputError([f"--token-file {self.token_file}: not a token: one word is expected"])
        return {"Authorization": f"Bearer {token.decode()}"}

    async def _post(
        self,
        path: str,
        body: dict[str, Any],
        headers: dict[str, str],
        trust: ssl.SSLContext | bool,
    ) -> tuple[int, str]:
        limit = aiohttp.ClientTimeout(total=SECONDS)
        async with aiohttp.ClientSession(timeout=limit) as session:
            url = self.url.rstrip("/") + path
            async with session.post(url, json=body, headers=headers, ssl=trust) as answer:
                return answer.status, await answer.text()

    def _trust(self) -> ssl.SSLContext | bool:
        if self.insecure:
            return False
        if not self.authority:
            return True
        content = input_files.read_input(self.authority, "--certificate-authority")
        try:
            return trusting(cadata=content.decode("ascii", "ignore"))
        except ssl.SSLError:
            said = "not a certificate: a file in PEM is expected"
            raise InputError([f"--certificate-authority {self.authority}: {said}"]) from None


def asked_server(
    paths: Sequence[str], url: str, token_file: str, authority: str, insecure: bool
) -> RunningServer | None:
    """The running Moorage to ask, None without --server; refuses options without effect."""
    if not url:
        given = given_options(_OF_A_SERVER).values()
        problems = [f"{option}: it goes with --server URL" for option in given]
    else:
        given = given_options(_OF_A_CLUSTER).values()
        problems = [f"{each}: {_ITS_OWN}" for each in (*paths, *given)]
        if authority and insecure:
            problems.append(f"--certificate-authority: {CA_BUT_INSECURE}")
        if token_file and url.lower().startswith("http:"):
            problems.append(f"--token-file: {_IN_CLEAR_TEXT}")
        if not is_url(url):
            problems.append(f"--server {url}: not a URL: write https://HOST:PORT")
    if problems:
        raise InputError(problems)
    return RunningServer(url, token_file, authority, insecure) if url else None
