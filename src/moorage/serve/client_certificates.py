"""Callers with a client certificate, or behind a front proxy with one.

A certificate signed by the client CA names its user (CN) and groups (O). A certificate signed by
the front proxy CA, with an allowed name, may name the user that it speaks for in headers.
"""

import logging
import os
import re
import ssl
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from moorage.observe.logs import say
from moorage.serve.secure_serving import CertificateError, ServerTls

if TYPE_CHECKING:
    from aiohttp import web

AUTHENTICATED_GROUP: Final = "system:authenticated"
_BLOCK: Final = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


class FrontProxy(msgspec.Struct, frozen=True):
    """The proxies that may name users in headers, and the names of the headers."""

    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ("x-remote-user",)
    group_headers: tuple[str, ...] = ("x-remote-group",)
    uid_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)


class CaBundle:
    """Certificate authorities in PEM, given or from a file, which is read again when it changes."""

    def __init__(self, pem: str = "", *, file: str = "") -> None:
        self.pem = pem
        self._file = file
        self._read: tuple[int, ...] | None = ()
        self.refresh()

    def refresh(self) -> bool:
        """Read the file if it has changed; whether it had. A broken one is told of once."""
        if not self._file or (found := _stamp(self._file)) == self._read:
            return False
        self._read = found
        try:
            pem = "\n".join(_BLOCK.findall(Path(self._file).read_text()))
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
        except (ssl.SSLError, ValueError):  # a UnicodeDecodeError is a ValueError
            raise CertificateError(f"{self._file}: not a PEM certificate") from None
        except OSError as error:
            raise CertificateError(f"{self._file}: {error.strerror}") from None
        self.pem = pem
        return True


def _stamp(file: str) -> tuple[int, ...] | None:
    """What changes with a file; None where there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


class ClientCertificates:
    """The authorities that callers' certificates are checked against."""

    def __init__(
        self,
        clients: CaBundle | None = None,
        proxies: CaBundle | None = None,
        terms: FrontProxy = FrontProxy(),  # noqa: B008 frozen: sharing it does no harm
    ) -> None:
        self._bundles = (clients or CaBundle(), proxies or CaBundle())
        self._terms = terms
        self._take()

    @property
    def pem(self) -> str:
        """Who may sign a certificate; nobody where it is empty."""
        return "\n".join(filter(None, (bundle.pem for bundle in self._bundles)))

    def refresh(self) -> bool:
        """Read files that have changed; whether one had. A broken one leaves those it had."""
        changed, problems = False, []
        for bundle in self._bundles:
            try:
                changed |= bundle.refresh()
            except CertificateError as error:
                problems.append(str(error))
        self._take()
        if problems:
            raise CertificateError("; ".join(problems))
        return changed

    def _take(self) -> None:
        self._clients, self._proxies = (_certificates(bundle.pem) for bundle in self._bundles)

    def user_of(self, request: "web.Request") -> dict[str, Any] | None:
        """The user of a request; None if no certificate names one."""
        shown = None if request.transport is None else request.transport.get_extra_info("peercert")
        if not shown:
            return None
        root, names = _root(request), _subject(shown)
        if root in self._proxies:
            return self._spoken_for(request, names.get("commonName", [""])[0])
        if root in self._clients and names.get("commonName"):
            groups = [*names.get("organizationName", []), AUTHENTICATED_GROUP]
            return {"username": names["commonName"][0], "groups": groups}
        return None

    def _spoken_for(self, request: "web.Request", proxy: str) -> dict[str, Any] | None:
        terms, headers = self._terms, request.headers
        if terms.allowed_names and proxy not in terms.allowed_names:
            return None
        name = next((headers[each] for each in terms.username_headers if headers.get(each)), "")
        if not name:
            return None
        groups = [value for each in terms.group_headers for value in headers.getall(each, [])]
        uid = next((headers[each] for each in terms.uid_headers if headers.get(each)), "")
        extra: dict[str, list[str]] = {}
        for prefix in terms.extra_prefixes:
            for key, value in headers.items():
                if key.lower().startswith(prefix.lower()):
                    extra.setdefault(key[len(prefix) :].lower(), []).append(value)
        groups = [*groups, AUTHENTICATED_GROUP]
        return {"username": name, "groups": groups, "uid": uid, "extra": extra}


def refresh_certificates(served: Iterable[ServerTls], callers: ClientCertificates) -> None:
    """Read files that have changed, and say what became of it; done every minute."""
    _read_again("Client CA", callers.refresh)
    for tls in served:
        _read_again("Certificate", tls.refresh)
        _read_again("Certificate", partial(tls.trust, callers.pem))


def _read_again(what: str, read: Callable[[], bool | None]) -> None:
    try:
        if read():
            say(logging.INFO, f"{what} read again")
    except CertificateError as error:
        say(logging.WARNING, f"{what} not read again", err=str(error))


def _certificates(pem: str) -> frozenset[bytes]:
    """Each certificate of a bundle, in DER; blocks of other kinds are left out, as Go does."""
    return frozenset(ssl.PEM_cert_to_DER_cert(f"{block}\n") for block in _BLOCK.findall(pem))


def _root(request: "web.Request") -> bytes:
    """The root CA of a verified chain."""
    assert request.transport is not None
    inner = request.transport.get_extra_info("ssl_object")._sslobj
    chain = inner.get_verified_chain() or []
    last = chain[-1] if chain else b""
    return last if isinstance(last, bytes) else ssl.PEM_cert_to_DER_cert(last.public_bytes())


def _subject(shown: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in shown.get("subject", ()):
        for name, value in part:
            found.setdefault(name, []).append(value)
    return found
