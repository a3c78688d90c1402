"""An extender to test with: a web server on a thread of its own, whose verbs are functions."""

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Raw = dict[str, Any]
Verb = Callable[[Any], Any]

POLL_SECONDS = 0.005
"""How soon `serve_forever` sees that it is to end; half a second is its default."""


class FakeExtender:
    """Answers each verb by a function from what was asked to what is to be answered.

    `asked` holds every request; `delay` is waited before each answer, `status` is answered with.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, **verbs: Verb) -> None:
        self.verbs = verbs
        self.asked: list[tuple[str, Any]] = []
        self.delay = 0.0
        self.status = 200
        self.stopped = threading.Event()
        self._connections: list[socket.socket] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.scheme = "http" if tls is None else "https"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_SECONDS,), daemon=True
        )

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self._server.server_address[1]}/v1"

    def config(self, **more: Any) -> Raw:
        """This extender in a KubeSchedulerConfiguration, with a verb for each function."""
        verbs = {f"{verb}Verb": verb for verb in self.verbs}
        weight = {"weight": 1} if "prioritize" in self.verbs else {}
        return {"urlPrefix": self.url, "nodeCacheCapable": True, **verbs, **weight, **more}

    def requests(self, verb: str) -> list[Any]:
        return [body for asked, body in self.asked if asked == verb]

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Answer nobody any more; asked twice, do nothing."""
        if self.stopped.is_set():
            return
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                fake._connections.append(self.connection)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                verb = self.path.rsplit("/", 1)[-1]
                fake.asked.append((verb, body))
                fake.stopped.wait(fake.delay)
                answer = json.dumps(fake.verbs[verb](body)).encode()
                self.send_response(fake.status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        return Handler


@contextlib.contextmanager
def extender(tls: ssl.SSLContext | None = None, **verbs: Verb) -> Iterator[FakeExtender]:
    """An extender that listens."""
    fake = FakeExtender(tls, **verbs)
    fake.start()
    try:
        yield fake
    finally:
        fake.stop()


def only(*names: str, why: str = "not by this extender") -> Verb:
    """A filter that lets these nodes pass, of those it is asked about."""

    def answer(asked: Raw) -> Raw:
        given = asked["NodeNames"]
        refused = [name for name in given if name not in names]
        kept = [name for name in given if name in names]
        return {"NodeNames": kept, "FailedNodes": dict.fromkeys(refused, why)}

    return answer


def scores(**by_node: int) -> Verb:
    """A prioritize that gives these nodes these scores."""
    return lambda asked: [
        {"Host": name, "Score": by_node.get(name, 0)} for name in asked["NodeNames"]
    ]
