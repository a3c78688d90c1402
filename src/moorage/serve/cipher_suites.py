"""TLS versions and cipher suites by Go's names, as in kube-scheduler's flags."""

import ssl
from typing import Final

AUTHENTICATED: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""The default suites of TLS 1.2: forward secrecy, and no CBC."""
_PREFIXES: Final = {
    "TLS_ECDHE_ECDSA_WITH_": "ECDHE-ECDSA-",
    "TLS_ECDHE_RSA_WITH_": "ECDHE-RSA-",
    "TLS_RSA_WITH_": "",
}
_CIPHERS: Final = {
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "CHACHA20_POLY1305": "CHACHA20-POLY1305",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    "AES_128_CBC_SHA": "AES128-SHA",
    "AES_256_CBC_SHA": "AES256-SHA",
    "AES_128_CBC_SHA256": "AES128-SHA256",
}
_TLS13: Final = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)
_VERSIONS: Final = {
    "VersionTLS10": ssl.TLSVersion.TLSv1_2,
    "VersionTLS11": ssl.TLSVersion.TLSv1_2,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}


def min_version(name: str) -> ssl.TLSVersion:
    """The version of that name; TLS 1.0 and 1.1 are never spoken."""
    if not name:
        return ssl.TLSVersion.TLSv1_2
    if name not in _VERSIONS:
        raise ValueError(f"unknown tls version {name!r}: write one of {', '.join(_VERSIONS)}")
    return _VERSIONS[name]


def openssl_ciphers(names: tuple[str, ...]) -> str:
    """OpenSSL's list of these suites; as in Go, those of TLS 1.3 cannot be chosen."""
    found = [_openssl(name) for name in names if name not in _TLS13]
    return ":".join(found) or AUTHENTICATED


def _openssl(name: str) -> str:
    for prefix, start in _PREFIXES.items():
        cipher = _CIPHERS.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if cipher is not None:
            return start + cipher
    raise ValueError(f"cipher suite {name} is not supported, or does not exist")
