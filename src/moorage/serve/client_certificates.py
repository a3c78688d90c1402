"""Callers with a client certificate, or behind a front proxy with one.

A certificate signed by the client CA names its user (CN) and groups (O). A certificate signed by
the front proxy CA, with an allowed name, may name the user that it speaks for in headers.
"""

import ssl
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from aiohttp import web

AUTHENTICATED_GROUP: Final = "system:authenticated"


class FrontProxy(msgspec.Struct, frozen=True):
    """The proxies that may name users in headers, and the names of the headers."""

    ca: str = ""
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ("x-remote-user",)
    group_headers: tuple[str, ...] = ("x-remote-group",)
    uid_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)


class ClientCertificates:
    """The authorities that callers' certificates are checked against, as PEM."""

    def __init__(self, client_ca: str = "", front_proxy: FrontProxy | None = None) -> None:
        self._clients = _certificates(client_ca)
        self._proxy = FrontProxy() if front_proxy is None else front_proxy
        self._proxies = _certificates(self._proxy.ca)
        self._pem = "\n".join(filter(None, (client_ca, self._proxy.ca)))

    def ask_for(self, context: ssl.SSLContext) -> None:
        """Ask for a client certificate, and verify one that is sent."""
        if self._pem:
            context.load_verify_locations(cadata=self._pem)
            context.verify_mode = ssl.CERT_OPTIONAL

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
        terms, headers = self._proxy, request.headers
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


def _certificates(pem: str) -> frozenset[bytes]:
    """Each certificate of a bundle, in DER."""
    end = "-----END CERTIFICATE-----"
    parts = [part[part.index("-----BEGIN") :] for part in pem.split(end) if "-----BEGIN" in part]
    return frozenset(ssl.PEM_cert_to_DER_cert(f"{part}{end}\n") for part in parts)


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
