"""HTTP and TLS to one extender: one request within its timeout."""

import asyncio
import socket
import ssl
import tempfile
import time
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

import aiohttp

from moorage.config.types import Extender, ExtenderTLSConfig
from moorage.extender import protocol
from moorage.extender.protocol import WireDecodeError
from moorage.framework.extenders import ExtenderError
from moorage.tls_trust import trusting


class ExtenderTlsError(Exception):
    """A `tlsConfig` that cannot be used."""


def tls_context(extender: Extender) -> ssl.SSLContext | None:
    """The TLS context for an extender; None for the default one.

    As in kube-scheduler, `enableHTTPS` without a CA does not verify the server.
    """
    given = extender.tls_config or ExtenderTLSConfig()
    has_ca = bool(given.ca_file or given.ca_data)
    if extender.tls_config is None and not extender.enable_https:
        return None
    if given.insecure and has_ca:
        raise ExtenderTlsError("tlsConfig: a CA is of no use with insecure: leave out one of them")
    try:
        made = trusting(
            cafile=given.ca_file if not given.ca_data and has_ca else None,
            cadata=given.ca_data.decode() or None,
        )
        _load_client_certificate(made, given)
    except (OSError, ValueError, ssl.SSLError) as error:
        raise ExtenderTlsError(f"tlsConfig: {error}") from error
    if given.insecure or (extender.enable_https and not has_ca):
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made


def _load_client_certificate(made: ssl.SSLContext, given: ExtenderTLSConfig) -> None:
    """Load the client certificate, if there is one; data takes precedence over files."""
    if not (given.cert_data or given.cert_file):
        return
    with tempfile.TemporaryDirectory() as scratch:
        cert, key = Path(scratch, "cert"), Path(scratch, "key")
        cert.write_bytes(given.cert_data or Path(given.cert_file).read_bytes())
        key.touch(mode=0o600)
        key.write_bytes(given.key_data or Path(given.key_file).read_bytes())
        made.load_cert_chain(cert, key)


T = TypeVar("T")

HEADERS: Final = {"Content-Type": "application/json"}
CallObserver = Callable[[str, str, str, float], None]
"""Called with (extender, verb, result, seconds) of each call."""


class ExtenderSender:
    """Connections to one extender; each event loop that asks it has its own."""

    def __init__(self, given: Extender, called: CallObserver) -> None:
        self._name = given.url_prefix
        self._called = called
        self._prefix = given.url_prefix.rstrip("/")
        self._seconds = given.http_timeout.seconds
        self._context = tls_context(given)
        self._server_name = (given.tls_config and given.tls_config.server_name) or None
        self._proxied = not _is_local(urlsplit(given.url_prefix).hostname or "")
        self._once = given.bind_verb
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    async def send(self, verb: str, body: bytes, kind: type[T]) -> T:
        """POST to a verb, and decode the answer; ExtenderError if that fails."""
        url, began = f"{self._prefix}/{verb}", time.perf_counter()
        result = "error"
        try:
            answer = protocol.decode_wire(await self._post(url, verb, body), kind)
            result = "success"
        except TimeoutError:
            result = "timeout"
            detail = f"no answer within {self._seconds:g}s (httpTimeout)"
            raise ExtenderError(f'Post "{url}": {detail}') from None
        except WireDecodeError as error:
            raise ExtenderError(f'Post "{url}": the answer cannot be read: {error}') from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ExtenderError(f'Post "{url}": {_error_text(error)}') from None
        finally:
            self._called(self._name, verb, result, time.perf_counter() - began)
        return answer

    async def _post(self, url: str, verb: str, body: bytes) -> bytes:
        async with asyncio.timeout(self._seconds):
            try:
                return await self._post_once(url, verb, body)
            except aiohttp.ServerDisconnectedError:
                if verb == self._once:
                    raise
                # The server had closed an idle connection meanwhile.
                return await self._post_once(url, verb, body)

    async def _post_once(self, url: str, verb: str, body: bytes) -> bytes:
        session = self._session()
        async with session.post(
            url,
            data=body,
            headers=HEADERS,
            server_hostname=self._server_name,
            allow_redirects=False,
        ) as response:
            if response.status != 200:
                code = response.status
                raise ExtenderError(f"failed {verb} with extender at URL {url}, code {code}")
            return await response.read()

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            context = True if self._context is None else self._context
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=context, limit=0),
                timeout=aiohttp.ClientTimeout(total=None),
                trust_env=self._proxied,
                auto_decompress=True,
            )
        return session

    async def close(self) -> None:
        """Close the connections of this event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _error_text(error: Exception) -> str:
    inner = getattr(error, "os_error", None) or error
    if isinstance(inner, socket.gaierror):
        return f"no such host: {inner.strerror}"
    return getattr(inner, "strerror", None) or str(error) or type(error).__name__
