"""URLs as Go reads them: absolute ones, and paths that begin with a slash."""

import re
from collections.abc import Callable
from typing import Any, ClassVar, Final
from urllib.parse import quote, unquote_to_bytes

import msgspec

from moorage.devices.cel.network import parses
from moorage.devices.cel.values import CelError, no_overload

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_NO_SCHEME: Final = re.compile(r"[A-Za-z0-9+.-]*[^A-Za-z0-9+.:-]|[0-9+.-]|[A-Za-z0-9+.-]*$")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"\x80-\U0010ffff]|%[89A-Fa-f].)*")
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_SAFE_PATH: Final = "-._~!$&'()*+,;=:@/[]"
_SAFE_AGAIN: Final = "-._~$&+=:@/"


class URL(msgspec.Struct, frozen=True):
    """The parts that selectors may ask for."""

    cel_type: ClassVar[str] = "kubernetes.URL"

    text: str
    scheme: str
    host: str
    path: str
    query: str


def parse_url(text: Any) -> URL:
    if not isinstance(text, str):
        raise no_overload(text)
    try:
        _split(text)
        return msgspec.structs.replace(_split(text.partition("#")[0]), text=text)
    except ValueError as error:
        problem = f"URL parse error during conversion from string: parse {text!r}: {error}"
        raise CelError(problem) from None


def _split(text: str) -> URL:
    if not text:
        raise ValueError("empty url")
    if _CONTROL.search(text):
        raise ValueError("invalid control character in URL")
    scheme, rest = _scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if not scheme and rest != "*":
            raise ValueError("invalid URI for request")
        return URL(text, scheme, "", "" if scheme else rest, query)
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        host, rest = _host(authority), slash + rest
    if _BAD_ESCAPE.search(rest):
        raise ValueError("invalid URL escape")
    return URL(text, scheme, host, rest, query)


def _scheme(text: str) -> tuple[str, str]:
    found = _SCHEME.match(text)
    if found:
        return found[1].lower(), text[found.end() :]
    if text.startswith(":") or not _NO_SCHEME.match(text):
        raise ValueError("missing protocol scheme")
    return "", text


def _host(authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at and not _USER.fullmatch(user):
        raise ValueError("net/url: invalid userinfo")
    if host.startswith("["):
        inside, bracket, port = host.rpartition("]")
        if not bracket:
            raise ValueError("missing ']' in host")
    else:
        inside, port = host, ":" + host.partition(":")[2] if ":" in host else ""
        if host.count(":") > 1:
            port = host[host.rindex(":") :]
    if not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {port!r} after host")
    if not _HOST.fullmatch(inside) or _BAD_ESCAPE.search(inside):
        raise ValueError("invalid character in host name")
    return unquote_to_bytes(host).decode(errors="replace") if "%" in host else host


def _url(value: Any) -> URL:
    if not isinstance(value, URL):
        raise no_overload(value)
    return value


def _hostname(value: Any) -> str:
    host = _url(value).host
    if "]" in host:
        return host[1 : host.rindex("]")]
    return host.rpartition(":")[0] if ":" in host else host


def _port(value: Any) -> str:
    host = _url(value).host
    return host.rpartition("]")[2].rpartition(":")[2] if ":" in host.rpartition("]")[2] else ""


def _escaped_path(value: Any) -> str:
    """The path as it was written, where that is a valid encoding of it."""
    path = _url(value).path
    if path == "*" or quote(path, safe=_SAFE_PATH + "%") == path:
        return path
    return quote(unquote_to_bytes(path), safe=_SAFE_AGAIN)


def _query(value: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in _url(value).query.split("&"):
        if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
            continue
        key, _, item = pair.replace("+", " ").partition("=")
        texts = (unquote_to_bytes(part).decode(errors="replace") for part in (key, item))
        found.setdefault(next(texts), []).append(next(texts))
    return found


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "url": parse_url,
    "isURL": lambda text: parses(parse_url, text),
    "getScheme": lambda value: _url(value).scheme,
    "getHost": lambda value: _url(value).host,
    "getHostname": _hostname,
    "getPort": _port,
    "getEscapedPath": _escaped_path,
    "getQuery": _query,
}
