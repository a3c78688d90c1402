"""Certificates are checked as Go checks them, whichever default Python has."""

import ssl
from typing import Any

import pytest

from moorage.tls_trust import trusting


@pytest.mark.parametrize("purpose", [ssl.Purpose.SERVER_AUTH, ssl.Purpose.CLIENT_AUTH])
def test_authorities_without_extensions_are_trusted(
    monkeypatch: pytest.MonkeyPatch, purpose: ssl.Purpose
) -> None:
    """From Python 3.13 on a default context refuses them."""
    made = ssl.create_default_context

    def strict(*args: Any, **kwargs: Any) -> ssl.SSLContext:
        context = made(*args, **kwargs)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)

    assert not trusting(purpose).verify_flags & ssl.VERIFY_X509_STRICT


def test_servers_are_still_verified() -> None:
    context = trusting()

    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
