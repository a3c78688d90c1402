"""`moorage run` that cannot begin: one clear line of why, and then it is quiet."""

import http.server
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from moorage.observe.decision_log import UNREACHABLE
from moorage.serve.secure_serving import write_self_signed
from tests.extending import POLL_SECONDS
from tests.unit.cli.command import ROOT, moorage

WATCHED_SECONDS = 12.0
PATIENCE_SECONDS = 120.0
"""For the first words; a busy machine takes long to start six processes."""
BOUND = 10
"""Lines at most in that time: what is begun, the reason, the lease, the end."""
HELPER = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
CASES = {
    "nobody listens": ": Connection refused",
    "no such host": "no such host: ",
    "a CA that did not sign": "CERTIFICATE_VERIFY_FAILED: ",
    "no such helper": "user 'me': exec.command: no-such-helper: No such file or directory; install",
    "a helper that fails": "helper ended with 1: please log in",
    "an address that never answers": "",
}


class Told(NamedTuple):
    code: int
    lines: list[str]

    def having(self, text: str) -> list[str]:
        return [line for line in self.lines if text in line]


def kubeconfig(file: Path, server: str, user: dict[str, object], authority: str = "") -> Path:
    cluster = {"server": server} | ({"certificate-authority": authority} if authority else {})
    file.write_text(
        yaml.safe_dump(
            {
                "current-context": "here",
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "me", "user": user}],
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "me"}}],
            }
        )
    )
    return file


@pytest.fixture(scope="module")
def tls_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server of TLS that nobody we trust has signed."""
    folder = tmp_path_factory.mktemp("server")
    write_self_signed(folder / "crt", folder / "key", "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "crt", folder / "key")
    served = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), http.server.BaseHTTPRequestHandler, bind_and_activate=True
    )
    served.handle_error = lambda request, client: None  # type: ignore[assignment,method-assign]
    served.socket = context.wrap_socket(served.socket, server_side=True)
    thread = threading.Thread(target=served.serve_forever, args=(POLL_SECONDS,), daemon=True)
    thread.start()
    yield served.server_address[1]
    served.shutdown()
    served.server_close()


@pytest.fixture(scope="module")
def silent_port() -> Iterator[int]:
    """Connections are accepted by the kernel, and nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture(scope="module")
def told(
    tmp_path_factory: pytest.TempPathFactory, tls_port: int, silent_port: int
) -> dict[str, Told]:
    """What each case says in a while, all of them watched at once; each is then asked to end."""
    folder = tmp_path_factory.mktemp("startup")
    write_self_signed(folder / "ca", folder / "ca.key", "")
    (folder / "helper").write_text("#!/bin/sh\necho please log in >&2\nexit 1\n")
    (folder / "helper").chmod(0o755)
    token: dict[str, object] = {"token": "t"}
    refused = "http://127.0.0.1:9"
    given: dict[str, tuple[str, dict[str, object], str]] = {
        "nobody listens": (refused, token, ""),
        "no such host": ("https://no-such-host.invalid:6443", token, ""),
        "a CA that did not sign": (f"https://127.0.0.1:{tls_port}", token, str(folder / "ca")),
        "no such helper": (refused, {"exec": HELPER | {"command": "no-such-helper"}}, ""),
        "a helper that fails": (refused, {"exec": HELPER | {"command": "./helper"}}, ""),
        "an address that never answers": (f"http://127.0.0.1:{silent_port}", token, ""),
    }
    started = {
        name: _started(folder, str(number), kubeconfig(folder / f"k{number}", *each))
        for number, (name, each) in enumerate(given.items())
    }
    for number, name in enumerate(started):
        _wait_for(folder, number, "waiting to lead", *([UNREACHABLE] if CASES[name] else []))
    time.sleep(WATCHED_SECONDS)
    for process in started.values():
        process.send_signal(signal.SIGTERM)
    return {
        name: Told(process.wait(30), (folder / f"{number}.log").read_text().splitlines())
        for number, (name, process) in enumerate(started.items())
    }


def _started(folder: Path, name: str, file: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "moorage", "run", "--kubeconfig", file.name]
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [*command, "--secure-port=0"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stderr=log,
            stdout=subprocess.DEVNULL,
        )


def _wait_for(folder: Path, number: int, *words: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not all(each in _log(folder, number) for each in words):
        assert time.monotonic() < deadline, _log(folder, number)
        time.sleep(0.1)


def _log(folder: Path, number: int) -> str:
    return (folder / f"{number}.log").read_text()


@pytest.mark.long
@pytest.mark.parametrize(("case", "reason"), CASES.items(), ids=list(CASES))
def test_the_reason_is_said_once_and_then_it_is_quiet(
    told: dict[str, Told], case: str, reason: str
) -> None:
    said = told[case]
    warnings = said.having(UNREACHABLE)

    assert len(said.lines) <= BOUND, "\n".join(said.lines)
    assert len(warnings) == (1 if reason else 0), "\n".join(said.lines)
    assert all(reason in line for line in warnings), "\n".join(said.lines)
    assert said.having("Traceback") == []
    assert said.code == 0


@pytest.mark.parametrize("flag", ["--secure-port", "--http-port"])
def test_a_port_in_use_is_said_and_the_process_ends(
    tmp_path: Path, silent_port: int, flag: str
) -> None:
    file = kubeconfig(tmp_path / "k", "http://127.0.0.1:9", {"token": "t"})
    other = "--secure-port=0" if flag == "--http-port" else "--http-port=0"
    bind = ("--bind-address", "127.0.0.1", other, f"{flag}={silent_port}")

    told = moorage("run", "--kubeconfig", file, *bind)

    assert told.returncode == 2
    assert told.stderr.splitlines()[-1] == (
        f"error: cannot listen on 127.0.0.1:{silent_port}: Address already in use: name another, "
        "or stop who has it"
    )
