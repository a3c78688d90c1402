"""Plain HTTP stays on the machine."""

import pytest

from moorage.serve.secure_serving import Certificates, Listener, ListenerError


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.9", "::1", "localhost"])
def test_plain_http_on_loopback_is_trusted(address: str) -> None:
    assert Listener(address, 10251, None).trusted


@pytest.mark.parametrize("address", ["0.0.0.0", "10.0.0.1", "::", "scheduler.example"])
def test_plain_http_elsewhere_is_refused(address: str) -> None:
    with pytest.raises(ListenerError, match="serve TLS there, or listen on"):
        Listener(address, 10251, None)


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1"])
def test_tls_asks_who_is_there_wherever_it_listens(address: str) -> None:
    assert not Listener(address, 10259, Certificates()).trusted
