"""The HTTP proxy for the API server, chosen by Go's rules for proxy variables.

A cluster's `proxy-url` is used if set; else HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY names the
host or the host is this machine.
"""

import ipaddress
import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from moorage.kube.kubeconfig import KubeconfigError

SCHEMES: Final = ("http", "https")


def proxy_for(
    server: str, proxy_url: str = "", environment: Mapping[str, str] = os.environ
) -> str | None:
    """The URL of the proxy to use, or None."""
    if proxy_url:
        return _checked(proxy_url, "proxy-url")
    parts = urlsplit(server)
    name = f"{parts.scheme}_proxy"
    given = environment.get(name.upper()) or environment.get(name) or ""
    if not given or _bypassed(parts.hostname or "", parts.port, environment):
        return None
    return _checked(given if "://" in given else f"http://{given}", name.upper())


def _checked(url: str, place: str) -> str:
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an IPv6 address, a port that is no number
        raise KubeconfigError("", place, "not a URL") from None
    if parts.scheme not in SCHEMES:
        raise KubeconfigError("", place, "only http:// and https:// proxies are supported")
    if not named:
        raise KubeconfigError("", place, "not a URL: it names no host")
    return url


def shown(proxy: str) -> str:
    """A proxy's URL without a password that may stand in it."""
    parts = urlsplit(proxy)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _bypassed(host: str, port: int | None, environment: Mapping[str, str]) -> bool:
    if is_loopback(host):
        return True
    listed = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    return any(_names(part.strip().lower(), host, port) for part in listed.split(","))


def _names(pattern: str, host: str, port: int | None) -> bool:
    if not pattern or pattern == "*":
        return pattern == "*"
    address = _address(host)
    if "/" in pattern:
        try:
            return address is not None and address in ipaddress.ip_network(pattern, strict=False)
        except ValueError:
            return False
    name, _, wanted_port = pattern.partition(":") if pattern.count(":") == 1 else (pattern, "", "")
    if wanted_port and wanted_port != str(port):
        return False
    if address is not None:
        return _address(name) == address
    name = name.removeprefix("*")
    return (
        host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")
    )


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether a host is `localhost` or a loopback address."""
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)
