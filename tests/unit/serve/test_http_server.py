"""What is served, to whom, over TLS and on loopback."""

import asyncio
import io
import re
import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import aiohttp
import pytest
from yarl import URL

from moorage.dashboard.dashboard import Dashboard
from moorage.observe import logs
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.prometheus_metrics import Metrics
from moorage.serve import request_authorizer as authz
from moorage.serve.bounded_listener import MOST_CONNECTIONS
from moorage.serve.callers import Caller
from moorage.serve.decisions import MOST_STREAMS
from moorage.serve.gate import FOREIGN_HOST, FOREIGN_PAGE, Gate
from moorage.serve.health import Check, Health
from moorage.serve.http_server import Server
from moorage.serve.open_listener import OpenListener
from moorage.serve.questions import MOST_BYTES, Question
from moorage.serve.request_authorizer import Authorizer
from moorage.serve.secure_serving import Certificates, Listener, ListenerError
from moorage.watch.api_resources import Resource
from tests.unit.dashboard.shown import finished

T = TypeVar("T")
PLAIN = Listener("127.0.0.1", 0, None)
TLS = Listener("127.0.0.1", 0, Certificates())
VERBOSITY = "/debug/flags/v"
PAGE_FILES = {"/dashboard", "/dashboard/", "/dashboard/page/app.js"}
OPEN = {"/livez", "/readyz", "/healthz", *PAGE_FILES}
UNSYNCED = Check("sched-handler-sync", lambda: "not listed yet: pods")
needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl is not installed"
)


async def reviews(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Whoever holds `good` may do anything."""
    if resource is authz.TOKEN_REVIEWS:
        valid = obj["spec"]["token"] == "good"
        return {"status": {"authenticated": valid, "user": {"username": "prometheus"}}}
    return {"status": {"allowed": obj["spec"]["user"] == "prometheus"}}


def server(*listeners: Listener, **more: Any) -> Server:
    given: dict[str, Any] = {
        "health": Health(),
        "metrics": Metrics(),
        "configz": lambda: {"componentconfig": {}},
    }
    return Server(listeners, **{**given, **more})


class Client:
    """Asks a server that is running."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def get(self, path: str, token: str = "") -> tuple[int, str]:
        return await self.ask("GET", path, token)

    async def ask(
        self, method: str, path: str, token: str = "", body: Any = None
    ) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = URL(self._url + path, encoded=True)
        async with self._session.request(
            method, url, headers=headers, data=body, ssl=False
        ) as answer:
            return answer.status, await answer.text()

    async def leave(self, path: str) -> None:
        """Ask, and go before the answer ends."""
        async with self._session.get(self._url + path) as answer:
            assert answer.status == 200


def asking(server: Server, scheme: str, ask: Callable[[Client], Awaitable[T]]) -> T:
    async def main() -> T:
        async with server.serving(), aiohttp.ClientSession() as session:
            return await ask(Client(session, f"{scheme}://127.0.0.1:{server.ports[0]}"))

    return asyncio.run(main())


def get(server: Server, path: str, *, scheme: str = "http", token: str = "") -> tuple[int, str]:
    return asking(server, scheme, lambda client: client.get(path, token))


def test_health_in_one_word() -> None:
    assert get(server(PLAIN), "/livez") == (200, "ok")


def test_health_check_by_check() -> None:
    status, text = get(server(PLAIN, health=Health(ready=[UNSYNCED])), "/readyz?verbose")

    assert status == 500
    assert "[-]sched-handler-sync failed: reason withheld\n" in text


def test_a_check_may_be_left_out() -> None:
    unsynced = server(PLAIN, health=Health(ready=[UNSYNCED]))

    assert get(unsynced, "/readyz?exclude=sched-handler-sync") == (200, "ok")


def test_one_check_tells_its_reason() -> None:
    unsynced = server(PLAIN, health=Health(ready=[UNSYNCED]))

    assert get(unsynced, "/readyz/sched-handler-sync") == (
        500,
        "internal server error: not listed yet: pods\n",
    )


@pytest.mark.parametrize(
    ("path", "part"),
    [
        pytest.param("/metrics", "# TYPE moorage_config_generation gauge", id="metrics"),
        pytest.param("/configz", '{"componentconfig":{}}', id="the configuration"),
        pytest.param("/debug/strategies", "{}", id="strategies"),
        pytest.param("/debug/decisions", '{"items":[],"continue":""}', id="decisions"),
        pytest.param("/debug/stacks", "thread MainThread", id="stacks"),
        pytest.param("/debug/profile?seconds=0", "", id="a profile"),
    ],
)
def test_loopback_is_shown_everything(path: str, part: str) -> None:
    status, text = get(server(PLAIN), path)

    assert status == 200
    assert part in text


@needs_openssl
@pytest.mark.parametrize(
    ("path", "token", "want"),
    [
        pytest.param("/livez", "", 200, id="health is open to all"),
        pytest.param("/readyz?verbose", "", 200, id="with every check by name"),
        pytest.param("/readyz/ping", "", 403, id="reasons are not"),
        pytest.param("/metrics", "", 403, id="metrics are not shown to anybody"),
        pytest.param("/metrics", "forged", 401, id="nor to those with a bad token"),
        pytest.param("/metrics", "good", 200, id="but to those who may see them"),
        pytest.param("/debug/stacks", "", 403, id="nor are stacks shown to anybody"),
        pytest.param("/debug/decisions", "", 403, id="nor decisions to anybody"),
        pytest.param("/debug/decisions", "good", 200, id="but to those who may see them too"),
        pytest.param("/configz", "good", 200, id="nor the configuration, but to those"),
    ],
)
def test_tls_asks_who_may_look(path: str, token: str, want: int) -> None:
    serving = server(TLS, gate=Gate(Authorizer(reviews)))

    assert get(serving, path, scheme="https", token=token)[0] == want


@needs_openssl
@pytest.mark.parametrize(
    ("enabled", "token", "want"),
    [
        pytest.param(True, "", 403, id="questions are not answered to anybody"),
        pytest.param(True, "good", 200, id="but to those who may ask"),
        pytest.param(False, "good", 404, id="and to nobody unless they are enabled"),
    ],
)
def test_questions_are_for_those_who_may_ask(enabled: bool, token: str, want: int) -> None:
    async def answer(body: dict[str, Any], caller: Caller) -> dict[str, Any]:
        return body

    async def ask(client: Client) -> int:
        return (await client.ask("POST", "/debug/explain", token, "{}"))[0]

    questions = {"/debug/explain": Question(answer)} if enabled else {}
    serving = server(TLS, gate=Gate(Authorizer(reviews)), questions=questions)

    assert asking(serving, "https", ask) == want


@needs_openssl
@pytest.mark.parametrize(
    ("size", "want"),
    [
        pytest.param(3 << 20, 200, id="more than aiohttp takes by itself"),
        pytest.param(MOST_BYTES, 413, id="more than is documented"),
    ],
)
@pytest.mark.parametrize("chunked", [False, True], ids=["of known length", "in chunks"])
def test_a_question_may_have_four_mebibytes(size: int, want: int, chunked: bool) -> None:
    data = b'{"a":"%s"}' % (b"x" * size)

    async def answer(body: dict[str, Any], caller: Caller) -> int:
        return len(body["a"])

    async def chunks() -> AsyncIterator[bytes]:
        yield data

    async def ask(client: Client) -> int:
        body = chunks() if chunked else io.BytesIO(data)
        return (await client.ask("POST", "/debug/explain", "good", body))[0]

    questions = {"/debug/explain": Question(answer)}
    serving = server(TLS, gate=Gate(Authorizer(reviews)), questions=questions)

    assert asking(serving, "https", ask) == want


@needs_openssl
def test_where_nobody_can_be_asked_nothing_but_health_is_shown() -> None:
    async def ask(client: Client) -> list[int]:
        return [(await client.get(path, "good"))[0] for path in ("/livez", "/metrics")]

    assert asking(server(TLS), "https", ask) == [200, 403]


@pytest.mark.parametrize("asked", ["long", "nan"])
def test_a_profile_asked_for_badly_is_refused(asked: str) -> None:
    assert get(server(PLAIN), f"/debug/profile?seconds={asked}") == (
        400,
        f"seconds={asked}: not a number\n",
    )


def test_profiling_can_be_switched_off() -> None:
    assert get(server(PLAIN, profiling=False), "/debug/stacks")[0] == 404


@needs_openssl
def test_the_log_says_more_from_now_on() -> None:
    log = logs.configure(0, "text", io.StringIO())
    try:
        serving = server(TLS, logs=log, gate=Gate(Authorizer(reviews)))
        put = asking(serving, "https", lambda client: client.ask("PUT", VERBOSITY, "good", "5"))

        assert put == (200, "successfully set the verbosity to 5\n")
        assert log.verbosity == 5
    finally:
        log.close()


@needs_openssl
@pytest.mark.parametrize("body", ["", "-1", "much"])
def test_a_verbosity_that_is_no_number_is_refused(body: str) -> None:
    def ask(client: Client) -> Awaitable[tuple[int, str]]:
        return client.ask("PUT", VERBOSITY, "good", body)

    status, text = asking(server(TLS, gate=Gate(Authorizer(reviews))), "https", ask)

    assert status == 400
    assert "PUT a number, 0 or more" in text


def test_a_port_that_is_taken_is_named() -> None:
    async def main() -> None:
        first = server(PLAIN)
        async with first.serving():
            taken = Listener("127.0.0.1", first.ports[0], None)
            async with server(taken).serving():
                pass

    with pytest.raises(ListenerError, match=r"cannot listen on 127\.0\.0\.1:\d+: "):
        asyncio.run(main())


def test_a_host_that_nobody_knows_is_told_to_be_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: object, **__: object) -> socket.socket:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("socket.create_server", nowhere)
    listener = Listener("localhost", 1, None)

    with pytest.raises(ListenerError, match="localhost:1: Name or service not known"):
        OpenListener(listener)


@needs_openssl
def test_loopback_and_tls_side_by_side() -> None:
    async def main() -> list[int]:
        serving = server(TLS, PLAIN)
        async with serving.serving(), aiohttp.ClientSession() as session:
            secure = Client(session, f"https://127.0.0.1:{serving.ports[0]}")
            plain = Client(session, f"http://127.0.0.1:{serving.ports[1]}")
            return [(await client.get("/metrics"))[0] for client in (secure, plain)]

    assert asyncio.run(main()) == [403, 200]


def test_serving_ends_by_cancellation() -> None:
    async def main() -> bool:
        plain = server(PLAIN)
        serving = asyncio.ensure_future(plain.run())
        for _ in range(100):
            await asyncio.sleep(0)
        assert plain.ports
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        return serving.cancelled()

    assert asyncio.run(main())


def routes(of: Server) -> list[tuple[str, str]]:
    """Every method and path that is served."""
    found = of._application(False).router.routes()
    return sorted({(route.method, route.resource.canonical) for route in found if route.resource})


@needs_openssl
@pytest.mark.parametrize(("token", "want"), [("", 403), ("forged", 401)])
def test_every_endpoint_beyond_health_needs_authorization(token: str, want: int) -> None:
    """A new endpoint that is open to all has to be added to OPEN, and to docs/security.md."""
    pages = Dashboard(finished(seconds=0).sources)
    serving = server(TLS, gate=Gate(Authorizer(reviews, lambda: 0.0)), pages=pages)
    listed = routes(serving)
    assert ("GET", "/dashboard/api/stream") in listed

    async def ask(client: Client) -> dict[str, int]:
        named = [(method, path.replace("{file}", "app.js")) for method, path in listed]
        paths = [(method, re.sub(r"{\w+}", "ping", path)) for method, path in named]
        return {
            path: (await client.ask(method, path, token))[0]
            for method, path in paths
            if method != "HEAD"
        }

    answers = asking(serving, "https", ask)

    assert {path for path, status in answers.items() if status == 200} == OPEN
    guarded = answers.keys() - OPEN
    assert {path for path in guarded if path.startswith("/dashboard/api/")}
    assert {answers[path] for path in guarded} <= {want, 429}


@needs_openssl
@pytest.mark.parametrize(
    "path",
    ["page/../api/cluster", "page/%2e%2e/api/cluster", "page/..%2Fapi%2Fcluster", "./api/cluster"],
)
def test_no_spelling_of_an_open_path_leads_to_data(path: str) -> None:
    pages = Dashboard(finished(seconds=0).sources)
    serving = server(TLS, gate=Gate(Authorizer(reviews, lambda: 0.0)), pages=pages)

    status, text = asking(serving, "https", lambda client: client.get(f"/dashboard/{path}"))

    assert status in (403, 404)
    assert "nodes" not in text


@needs_openssl
def test_the_dashboard_is_one_right_whatever_pod_or_node_is_asked_for() -> None:
    asked: list[dict[str, Any]] = []

    async def note(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
        asked.append(obj["spec"])
        return await reviews(resource, obj)

    pages = Dashboard(finished(seconds=0).sources)

    async def ask(client: Client) -> list[int]:
        paths = ("", "api/cluster", "api/pod/a/b", "api/node/c", "api/pod/a/../../metrics")
        return [(await client.get(f"/dashboard/{path}", "good"))[0] for path in paths]

    gate = Gate(Authorizer(note))
    answers = asking(server(TLS, gate=gate, pages=pages), "https", ask)
    reviewed = [each["nonResourceAttributes"] for each in asked if "token" not in each]

    assert answers == [200, 200, 404, 404, 404]
    assert reviewed == [{"path": "/dashboard/", "verb": "get"}]


@needs_openssl
def test_paths_may_be_opened_and_health_closed() -> None:
    gate = Gate(Authorizer(reviews), ("/metrics", "/debug/*"))

    async def ask(client: Client) -> list[int]:
        paths = ("/metrics", "/debug/stacks", "/livez")
        return [(await client.get(path))[0] for path in paths]

    assert asking(server(TLS, gate=gate), "https", ask) == [200, 200, 403]


@needs_openssl
def test_nobody_is_asked_about_a_path_that_is_not_served() -> None:
    asked: list[Any] = []

    async def count(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
        asked.append(obj)
        return {}

    serving = server(TLS, gate=Gate(Authorizer(count)))

    assert get(serving, "/nothing/here", scheme="https", token="made-up")[0] == 404
    assert asked == []


@pytest.mark.parametrize(
    ("host", "want"),
    [
        ("localhost", 200),
        ("127.0.0.1:10251", 200),
        ("[::1]:10251", 200),
        ("evil.example", 403),
        ("evil.example:10251", 403),
        ("127.0.0.1.evil.example", 403),
        ("[::1]evil.example", 403),
        ("[::1]evil.example:10251", 403),
        ("::1", 403),
        ("[evil.example]", 403),
    ],
)
def test_loopback_answers_to_its_own_names_only(host: str, want: int) -> None:
    """A page that a browser was led here from by its own name is turned away."""
    status, text = from_a_browser("/configz", Host=host)

    assert (status, text == FOREIGN_HOST) == (want, want == 403)


def from_a_browser(path: str, **headers: str) -> tuple[int, str]:
    plain = server(PLAIN, pages=Dashboard(finished(seconds=1).sources))

    async def main() -> tuple[int, str]:
        async with plain.serving(), aiohttp.ClientSession() as session:
            port = plain.ports[0]
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            sent = {name: value.replace("PORT", str(port)) for name, value in sent.items()}
            async with session.get(f"http://127.0.0.1:{port}{path}", headers=sent) as answer:
                return answer.status, await answer.text()

    return asyncio.run(main())


LINK = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}


@pytest.mark.parametrize("path", ["/configz", "/debug/profile?seconds=0", "/metrics", "/livez"])
@pytest.mark.parametrize(
    ("headers", "want"),
    [
        pytest.param({}, 200, id="no browser"),
        pytest.param({"Sec_Fetch_Site": "none"}, 200, id="an address that was typed"),
        pytest.param({"Sec_Fetch_Site": "same-origin"}, 200, id="its own page"),
        pytest.param({"Origin": "http://127.0.0.1:PORT"}, 200, id="its own origin"),
        pytest.param({"Sec_Fetch_Site": "cross-site"}, 403, id="another site"),
        pytest.param({"Sec_Fetch_Site": "same-site"}, 403, id="another port of this machine"),
        pytest.param({"Origin": "https://evil.example"}, 403, id="another origin"),
        pytest.param({"Origin": "http://127.0.0.1:1"}, 403, id="the origin of another port"),
        pytest.param({"Origin": "null"}, 403, id="an origin that is not said"),
        pytest.param({"Sec_Fetch_Site": "cross-site", **LINK}, 403, id="a link"),
    ],
)
def test_loopback_answers_no_pages_of_other_sites(
    path: str, headers: dict[str, str], want: int
) -> None:
    status, text = from_a_browser(path, **headers)

    assert (status, text == FOREIGN_PAGE) == (want, want == 403)


@pytest.mark.parametrize(
    ("path", "headers", "want"),
    [
        pytest.param("/dashboard/", LINK, 200, id="the page"),
        pytest.param("/dashboard/api/cluster", LINK, 403, id="data"),
        pytest.param("/dashboard/", {**LINK, "Sec_Fetch_Dest": "iframe"}, 403, id="in a frame"),
        pytest.param("/dashboard/", {}, 403, id="as an image"),
    ],
)
def test_a_link_may_lead_to_the_dashboards_page(
    path: str, headers: dict[str, str], want: int
) -> None:
    assert from_a_browser(path, Sec_Fetch_Site="cross-site", **headers)[0] == want


class SlowMetrics(Metrics):
    """Rendering takes a second of a clock that stands still otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 100.0
        self.renderings = 0

    def render(self, accept: str = "") -> tuple[bytes, str]:
        self.time += 1.0
        self.renderings += 1
        return super().render(accept)


def test_whoever_asks_for_metrics_without_end_gets_what_was_rendered_before() -> None:
    slow = SlowMetrics()
    serving = server(PLAIN, metrics=slow, now=lambda: slow.time)

    async def ask(client: Client) -> list[int]:
        rendered = []
        for later in (0.0, 18.9, 0.1, 0.0):
            slow.time += later
            answers = await asyncio.gather(*(client.get("/metrics") for _ in range(5)))
            assert {(status, "moorage_config" in text) for status, text in answers} == {(200, True)}
            rendered.append(slow.renderings)
        return rendered

    assert asking(serving, "http", ask) == [1, 1, 2, 2]


def test_a_stream_ends_with_its_reader_though_nothing_is_written() -> None:
    serving = server(PLAIN, decisions=DecisionRecords())

    async def ask(client: Client) -> int:
        for _ in range(3):
            async with asyncio.TaskGroup() as readers:
                for _ in range(MOST_STREAMS):
                    readers.create_task(client.leave("/debug/decisions?watch=1&pod=no/body"))
            for _ in range(100_000):  # until the server has noticed
                if not serving._decisions._streams:
                    break
                await asyncio.sleep(0)
        return serving._decisions._streams

    assert asking(serving, "http", ask) == 0


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
def test_nothing_can_be_changed_over_plain_http(method: str) -> None:
    log = logs.configure(0, "text", io.StringIO())
    try:
        serving = server(PLAIN, logs=log)
        said = asking(serving, "http", lambda client: client.ask(method, VERBOSITY, body="9"))

        assert (said[0], log.verbosity) == (405, 0)
    finally:
        log.close()


def test_who_only_holds_connections_keeps_nobody_out() -> None:
    async def main() -> tuple[int, int]:
        plain = server(PLAIN)
        async with plain.serving():
            port = plain.ports[0]
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(300)]
            async with aiohttp.ClientSession() as session:
                status, _ = await Client(session, f"http://127.0.0.1:{port}").get("/livez")
            await asyncio.sleep(0.05)
            closed = sum(reader.at_eof() for reader, _ in held)
            for _, writer in held:
                writer.close()
        return status, closed

    status, closed = asyncio.run(main())

    assert status == 200
    assert closed >= 300 - MOST_CONNECTIONS
