"""How an extender is trusted, and how it can trust us: `enableHTTPS` and `tlsConfig`."""

import ssl
import tempfile
from pathlib import Path

from moorage.config.types import Extender, ExtenderTLSConfig


class TlsError(Exception):
    """A `tlsConfig` that cannot be used."""


def context(extender: Extender) -> ssl.SSLContext | None:
    """What to connect with; None: as the system trusts.

    As in kube-scheduler, `enableHTTPS` without a CA trusts whoever answers.
    """
    given = extender.tls_config or ExtenderTLSConfig()
    has_ca = bool(given.ca_file or given.ca_data)
    if extender.tls_config is None and not extender.enable_https:
        return None
    if given.insecure and has_ca:
        raise TlsError("tlsConfig: a CA is of no use with insecure: leave out one of them")
    try:
        made = ssl.create_default_context(
            cafile=given.ca_file if not given.ca_data and has_ca else None,
            cadata=given.ca_data.decode() or None,
        )
        _identify(made, given)
    except (OSError, ValueError, ssl.SSLError) as error:
        raise TlsError(f"tlsConfig: {error}") from error
    if given.insecure or (extender.enable_https and not has_ca):
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made


def _identify(made: ssl.SSLContext, given: ExtenderTLSConfig) -> None:
    """Show a certificate of our own, if there is one; data takes precedence over files."""
    if not (given.cert_data or given.cert_file):
        return
    with tempfile.TemporaryDirectory() as scratch:
        cert, key = Path(scratch, "cert"), Path(scratch, "key")
        cert.write_bytes(given.cert_data or Path(given.cert_file).read_bytes())
        key.touch(mode=0o600)
        key.write_bytes(given.key_data or Path(given.key_file).read_bytes())
        made.load_cert_chain(cert, key)
