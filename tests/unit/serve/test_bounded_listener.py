"""Sockets to listen on: what may be shared."""

import socket

import pytest

from moorage.serve.bounded_listener import bound_socket


def test_an_address_may_always_be_taken_again() -> None:
    """As in Go: who restarts does not wait for old connections to be forgotten."""
    with bound_socket("127.0.0.1", 0) as listening:
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)


def test_a_port_is_shared_by_those_who_say_so() -> None:
    with bound_socket("127.0.0.1", 0, share_port=True) as one:
        port = one.getsockname()[1]
        with bound_socket("127.0.0.1", port, share_port=True) as two:
            assert two.getsockname()[1] == port


def test_a_port_is_not_shared_otherwise() -> None:
    with bound_socket("127.0.0.1", 0) as one, pytest.raises(OSError, match="in use"):
        bound_socket("127.0.0.1", one.getsockname()[1], share_port=True)
