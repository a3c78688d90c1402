"""KubeApiServer over real sockets, against a server that answers as told."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from moorage.kube.fence import LeaseFence, LeaseLost
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import Cluster, KubeconfigError, SelectedContext, User
from moorage.watch import api_resources
from moorage.watch.api_errors import (
    Gone,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from moorage.watch.api_resources import EVENTS, LEASES, NODES, PODS
from moorage.watch.api_server import WatchEvent

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
POD_PATH = "/api/v1/namespaces/d/pods/web"


class Asked(msgspec.Struct):
    """One request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class World:
    """An HTTP server that gives its answers in order and notes what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[Asked] = []
        self._answers = iter(answers)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = msgspec.json.decode(raw) if raw else None
        self.asked.append(
            Asked(request.method, request.path, dict(request.query), dict(request.headers), body)
        )
        return await next(self._answers)(request)

    def play(
        self,
        scenario: Callable[[KubeApiServer], Awaitable[None]],
        user: User | None = None,
        through_proxy: bool = False,
        **options: Any,
    ) -> list[Asked]:
        async def main() -> None:
            app = web.Application()
            app.router.add_route("*", "/{tail:.*}", self.handle)
            async with TestServer(app) as http:
                url = str(http.make_url(""))
                cluster = Cluster(server=url)
                if through_proxy:
                    cluster = Cluster(server="http://api.invalid", proxy_url=url)
                selected = SelectedContext("here", "one", "a", cluster, user or User(token="t"), "")
                server = KubeApiServer(selected, qps=0, **options)
                try:
                    await scenario(server)
                finally:
                    await server.close()

        asyncio.run(main())
        return self.asked


def says(body: Any, status: int = 200, **headers: str) -> Answer:
    async def answer(request: web.Request) -> web.Response:
        text = msgspec.json.encode(body)
        return web.Response(
            body=text, status=status, content_type="application/json", headers=headers
        )

    return answer


def refuses(code: int, reason: str = "", **headers: str) -> Answer:
    status = {"kind": "Status", "code": code, "reason": reason, "message": f"no: {reason}"}
    return says(status, code, **headers)


async def hangs_up(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def streams(*chunks: bytes, then: str = "end") -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        assert request.transport is not None
        if then == "abort":
            request.transport.abort()
        elif then == "silence":
            await asyncio.sleep(3600)
        return response

    return answer


def pod(name: str, version: int, node: str = "") -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": "d",
            "uid": f"u-{name}",
            "resourceVersion": str(version),
        },
        "spec": {"nodeName": node} if node else {},
    }


def line(kind: str, obj: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"


async def watched(server: KubeApiServer, **options: Any) -> list[WatchEvent]:
    return [event async for event in server.watch(PODS, resource_version="5", **options)]


both_ways = pytest.mark.parametrize(
    "through_proxy", [False, True], ids=["straight", "through a proxy"]
)


class TestLists:
    def test_a_page_is_asked_for_as_kube_scheduler_asks(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            page = await server.list_page(PODS, limit=2, continue_token="t")

            assert [item.name for item in page.items] == ["a"]

        listed = {"metadata": {"resourceVersion": "9"}, "items": [pod("a", 3)]}
        (asked,) = World(says(listed)).play(scenario)

        assert asked.path == "/api/v1/pods"
        assert asked.query == {
            "limit": "2",
            "continue": "t",
            "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed",
        }
        assert asked.headers["Authorization"] == "Bearer t"
        assert asked.headers["User-Agent"].startswith("moorage/")

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b"<html>Sign in</html>", id="a login page"),
            pytest.param(b"", id="nothing"),
            pytest.param(b"[]", id="a bare list"),
            pytest.param(b'{"kind": "Status", "status": "Success"}', id="another object"),
        ],
    )
    def test_an_answer_that_is_no_list_is_the_servers_fault(self, body: bytes) -> None:
        async def answer(request: web.Request) -> web.Response:
            return web.Response(body=body)

        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(ServerError, match="the answer for pods is no list: is this the"):
                await server.list_raw(PODS)

        World(answer).play(scenario)

    @both_ways
    def test_a_compressed_page_is_read(
        self, through_proxy: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("moorage.kube.access.is_loopback", lambda host: False)

        async def compressed(request: web.Request) -> web.Response:
            assert request.headers["Accept-Encoding"] == "gzip"
            body = gzip.compress(b'{"metadata":{"resourceVersion":"9"},"items":[]}')
            return web.Response(body=body, headers={"Content-Encoding": "gzip"})

        async def scenario(server: KubeApiServer) -> None:
            assert (await server.list_page(NODES)).resource_version == "9"

        World(compressed).play(scenario, through_proxy=through_proxy)

    @pytest.mark.parametrize("packed", [False, True], ids=["plain", "compressed"])
    @pytest.mark.parametrize("through_proxy", [False, True])
    def test_a_list_without_end_is_given_up(
        self, monkeypatch: pytest.MonkeyPatch, packed: bool, through_proxy: bool
    ) -> None:
        monkeypatch.setattr("moorage.kube.access.is_loopback", lambda host: False)
        for reader in ("http1", "direct_requests", "proxied_requests"):
            monkeypatch.setattr(f"moorage.kube.{reader}.MOST_ANSWER", 10_000)
        content = b'{"metadata":{"resourceVersion":"9"},"items":[]}' + b" " * 20_000

        async def endless(request: web.Request) -> web.Response:
            headers = {"Content-Encoding": "gzip"} if packed else {}
            body = gzip.compress(content) if packed else content
            return web.Response(body=body, headers=headers)

        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(Unreachable, match="more than 10,000 bytes"):
                await server.list_page(NODES)

        World(*[endless] * 2).play(scenario, through_proxy=through_proxy)

    def test_on_one_machine_nothing_is_compressed(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            await server.list_page(NODES)

        (asked,) = World(says({"metadata": {"resourceVersion": "9"}, "items": []})).play(scenario)
        assert asked.headers["Accept-Encoding"] == "identity"

    def test_a_list_is_asked_for_again_where_its_connection_breaks(self) -> None:
        """The server may have closed it just as it was used again."""
        listed = {"metadata": {"resourceVersion": "9"}, "items": []}

        async def scenario(server: KubeApiServer) -> None:
            assert (await server.list_page(NODES)).resource_version == "9"
            assert (await server.list_page(NODES)).resource_version == "9"

        assert len(World(says(listed), hangs_up, says(listed)).play(scenario)) == 3

    def test_a_list_that_is_not_what_it_says_is_refused(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(Unreachable):
                await server.list_page(NODES)

        async def garbled(request: web.Request) -> web.Response:
            return web.Response(body=b"not gzip", headers={"Content-Encoding": "gzip"})

        World(garbled).play(scenario)

    def test_a_list_is_not_repeated_here_because_the_reflector_does_so(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(ServerError):
                await server.list_page(PODS)

        assert len(World(refuses(500)).play(scenario)) == 1


@both_ways
def test_no_path_sends_a_request_of_its_own(
    through_proxy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are quoted; were they not, nothing would be sent."""
    odd, hostile = "x/log?a=b#c HTTP/1.1", "x HTTP/1.1\r\n\r\nDELETE /api/v1/namespaces/a/pods/b"

    async def quoted(server: KubeApiServer) -> None:
        with pytest.raises(NotFound):
            await server.get(PODS, "victim", odd)

    async def unquoted(server: KubeApiServer) -> None:
        monkeypatch.setattr(api_resources, "url_path", lambda *parts: f"/{'/'.join(parts)}")
        with pytest.raises(ValueError, match="holds a space or a control character"):
            await server.get(PODS, "victim", hostile)

    (asked,) = World(refuses(404, "NotFound")).play(quoted, through_proxy=through_proxy)
    assert (asked.path, asked.query) == (f"/api/v1/namespaces/victim/pods/{odd}", {})
    assert World().play(unquoted, through_proxy=through_proxy) == []


class TestWatches:
    @both_ways
    def test_an_event_without_end_is_given_up(
        self, through_proxy: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("moorage.kube.kube_api_server.MOST_EVENT", 10_000)
        whole = line("ADDED", pod("a", 6))

        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(ServerError, match="an event of more than 10,000 bytes"):
                await watched(server)

        endless = streams(whole, *[b"x" * 1_000] * 20)
        World(endless).play(scenario, through_proxy=through_proxy)

    def test_a_refusal_without_end_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("moorage.kube.http_stream.MOST_REFUSAL", 10_000)

        async def endless(request: web.Request) -> web.Response:
            return web.Response(status=500, body=b"x" * 100_000)

        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(Unreachable, match="more than 10,000 bytes"):
                await watched(server)

        World(endless).play(scenario)

    @both_ways
    def test_events_are_read_wherever_chunks_are_cut(self, through_proxy: bool) -> None:
        whole = (
            line("ADDED", pod("a", 6))
            + line("MODIFIED", pod("b", 7))
            + line("DELETED", pod("a", 8))
        )

        async def scenario(server: KubeApiServer) -> None:
            for _ in range(3):
                events = await watched(server, timeout_seconds=60.7)
                assert [(e.type, e.resource_version) for e in events] == [
                    ("ADDED", "6"),
                    ("MODIFIED", "7"),
                    ("DELETED", "8"),
                ]

        asked = World(
            streams(whole),
            streams(*(whole[i : i + 7] for i in range(0, len(whole), 7))),
            streams(whole[:100], whole[100:]),
        ).play(scenario, through_proxy=through_proxy)

        assert asked[0].query == {
            "watch": "1",
            "resourceVersion": "5",
            "timeoutSeconds": "60",
            "allowWatchBookmarks": "true",
            "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed",
        }

    @both_ways
    def test_a_connection_cut_inside_a_line_ends_the_watch_after_the_last_whole_one(
        self, through_proxy: bool
    ) -> None:
        text = line("ADDED", pod("a", 6)) + line("ADDED", pod("b", 7))[:20]

        async def scenario(server: KubeApiServer) -> None:
            assert [event.resource_version for event in await watched(server)] == ["6"]

        World(streams(text, then="abort")).play(scenario, through_proxy=through_proxy)

    @both_ways
    def test_a_silent_connection_is_given_up(
        self, through_proxy: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("moorage.kube.kube_api_server.SILENT_SECONDS", 0.05)

        async def scenario(server: KubeApiServer) -> None:
            assert len(await watched(server)) == 1

        World(streams(line("ADDED", pod("a", 6)), then="silence")).play(
            scenario, through_proxy=through_proxy
        )

    def test_an_error_event_is_raised_after_what_came_before_it(self) -> None:
        gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
        seen: list[WatchEvent] = []

        async def collect(server: KubeApiServer) -> None:
            async for event in server.watch(PODS, resource_version="5"):
                seen.append(event)  # noqa: PERF401 what came before the error counts

        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(Gone):
                await collect(server)

        World(streams(line("ADDED", pod("a", 6)) + line("ERROR", gone))).play(scenario)
        assert len(seen) == 1

    @pytest.mark.parametrize(
        ("answer", "want"),
        [
            pytest.param(refuses(410, "Expired"), Gone, id="a version that is gone"),
            pytest.param(refuses(429, "TooManyRequests"), TooManyRequests, id="not now"),
            pytest.param(hangs_up, Unreachable, id="nobody there"),
        ],
    )
    @both_ways
    def test_a_watch_that_does_not_begin_says_why(
        self, answer: Answer, want: type[Exception], through_proxy: bool
    ) -> None:
        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(want):
                await watched(server)

        World(*[answer] * 3).play(scenario, through_proxy=through_proxy)


class TestBinding:
    def test_it_carries_the_uid(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            await server.bind("d", "web", "u-web", "n1")

        (asked,) = World(says({"metadata": {}}, 201)).play(scenario)

        assert (asked.method, asked.path) == ("POST", f"{POD_PATH}/binding")
        assert asked.body["metadata"] == {"namespace": "d", "name": "web", "uid": "u-web"}
        assert asked.body["target"]["name"] == "n1"

    def test_it_carries_what_the_pod_is_to_be_annotated_with(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            await server.bind("d", "web", "u-web", "n1", {"moorage.io/gpu-devices": "0"})

        (asked,) = World(says({"metadata": {}}, 201)).play(scenario)

        assert asked.body["metadata"]["annotations"] == {"moorage.io/gpu-devices": "0"}

    def test_an_answer_lost_after_success_is_looked_up(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            await server.bind("d", "web", "u-web", "n1")

        asked = World(hangs_up, says(pod("web", 7, "n1"))).play(scenario)

        assert [(a.method, a.path) for a in asked[1:]] == [("GET", POD_PATH)]

    def test_an_answer_that_never_comes_is_looked_up(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            await server.bind("d", "web", "u-web", "n1")

        World(streams(then="silence"), says(pod("web", 7, "n1"))).play(
            scenario, request_seconds=0.2
        )

    def test_a_server_that_says_when_is_asked_again_then(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            await server.bind("d", "web", "u-web", "n1")

        busy = refuses(429, "TooManyRequests", **{"Retry-After": "0.01"})
        asked = World(busy, busy, says({}, 201)).play(scenario)

        assert [a.method for a in asked] == ["POST"] * 3

    def test_a_server_that_does_not_say_when_is_not(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(TooManyRequests):
                await server.bind("d", "web", "u-web", "n1")

        assert len(World(refuses(429, "TooManyRequests")).play(scenario)) == 1

    def test_a_closed_fence_lets_nothing_through(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(LeaseLost):
                await server.bind("d", "web", "u-web", "n1")
            with pytest.raises(LeaseLost):
                await server.patch_pod_status("d", "web", {"status": {}}, "u-web")
            with pytest.raises(LeaseLost):
                await server.delete(PODS, "d", "web", uid="u-web")
            with pytest.raises(LeaseLost):
                await server.evict("d", "web")
            await server.create(EVENTS, {"metadata": {"namespace": "d"}})

        asked = World(says({"metadata": {}}, 201)).play(scenario, fence=LeaseFence(15))
        assert [a.path for a in asked] == ["/apis/events.k8s.io/v1/namespaces/d/events"]


class TestWrites:
    def test_a_status_patch_names_the_pod_it_means_and_is_repeated(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            await server.patch_pod_status("d", "web", {"status": {"phase": "x"}}, "u-web")

        asked = World(refuses(500), hangs_up, says({})).play(scenario)

        assert [a.path for a in asked] == [f"{POD_PATH}/status"] * 3
        assert asked[2].body == {"status": {"phase": "x"}, "metadata": {"uid": "u-web"}}
        assert asked[2].headers["Content-Type"] == "application/strategic-merge-patch+json"

    def test_a_deletion_with_a_uid_is_repeated_and_one_without_is_not(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            await server.delete(PODS, "d", "web", uid="u-web", grace_period_seconds=0)
            with pytest.raises(ServerError):
                await server.delete(PODS, "d", "web")

        asked = World(refuses(500), says({}), refuses(500)).play(scenario)

        assert asked[0].body["preconditions"] == {"uid": "u-web"}
        assert asked[0].body["gracePeriodSeconds"] == 0

    @pytest.mark.parametrize(
        "write",
        [
            pytest.param(
                lambda s: s.create(PODS, {"metadata": {"namespace": "d"}}), id="a creation"
            ),
            pytest.param(
                lambda s: s.update(PODS, {"metadata": {"namespace": "d", "name": "web"}}),
                id="an update",
            ),
            pytest.param(lambda s: s.patch(PODS, "d", "web", {}), id="a patch"),
            pytest.param(lambda s: s.evict("d", "web", uid="u"), id="an eviction"),
        ],
    )
    def test_what_might_do_something_twice_is_not_repeated(
        self, write: Callable[[KubeApiServer], Awaitable[object]]
    ) -> None:
        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(ServerError):
                await write(server)

        assert len(World(refuses(500)).play(scenario)) == 1

    def test_an_eviction_asks_the_subresource(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            await server.evict("d", "web", uid="u-web", grace_period_seconds=3)

        (asked,) = World(says({"metadata": {}}, 201)).play(scenario)

        assert asked.path == f"{POD_PATH}/eviction"
        assert asked.body["deleteOptions"]["preconditions"] == {"uid": "u-web"}


def test_a_lease_does_not_wait_behind_requests_that_hang() -> None:
    """Or a slow API server would cost the leader its lease, and the cluster its scheduler."""

    async def hangs(request: web.Request) -> web.StreamResponse:
        if "leases" in request.path:
            return web.Response(body=b'{"metadata":{}}')
        await asyncio.sleep(3600)
        return web.Response()

    async def scenario(server: KubeApiServer) -> None:
        stuck = [asyncio.ensure_future(server.get(PODS, "d", f"p{i}")) for i in range(100)]
        await asyncio.sleep(0)
        assert await server.get(LEASES, "kube-system", "moorage") == {"metadata": {}}
        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)

    World(*[hangs] * 101).play(scenario)


class TestCredentials:
    def test_a_refused_token_is_read_again_and_the_request_repeated(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text("old")

        async def renewed(request: web.Request) -> web.Response:
            file.write_text("new")
            return web.Response(status=401)

        async def scenario(server: KubeApiServer) -> None:
            await server.get(PODS, "d", "web")

        asked = World(renewed, says(pod("web", 1))).play(scenario, User(token_file=str(file)))

        assert [a.headers["Authorization"] for a in asked] == ["Bearer old", "Bearer new"]

    def test_credentials_refused_twice_are_refused(self) -> None:
        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(Unauthorized):
                await server.get(PODS, "d", "web")

        assert len(World(refuses(401), refuses(401)).play(scenario)) == 2

    def test_somebody_else_can_be_impersonated(self) -> None:
        user = User(
            token="t",
            impersonate="bob",
            impersonate_groups=("ops",),
            impersonate_extra={"a/b": ("c",)},
        )

        async def scenario(server: KubeApiServer) -> None:
            await server.get(PODS, "d", "web")

        (asked,) = World(says(pod("web", 1))).play(scenario, user)

        assert asked.headers["Impersonate-User"] == "bob"
        assert asked.headers["Impersonate-Group"] == "ops"
        assert asked.headers["Impersonate-Extra-a%2Fb"] == "c"

    def test_credentials_that_cannot_be_had_are_told_in_full(self, tmp_path: Path) -> None:
        async def scenario(server: KubeApiServer) -> None:
            with pytest.raises(Unreachable, match=r"tokenFile: .*none: No such file"):
                await server.list_page(PODS)

        World().play(scenario, User(token_file=str(tmp_path / "none")))


@pytest.mark.parametrize("body", [b"<html>log in</html>", b"[]", b"{}", b'{"metadata":1}', b"\xff"])
def test_an_answer_that_is_no_object_is_the_servers_fault(body: bytes) -> None:
    """A login page, say: who waits for the lease asks again, and the process does not end."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body)

    async def scenario(server: KubeApiServer) -> None:
        with pytest.raises(
            ServerError, match=r"leases\.coordination\.k8s\.io is no object: is this"
        ):
            await server.get(LEASES, "kube-system", "moorage")

    World(answer).play(scenario)


def test_nobody_listening_is_told_with_the_address() -> None:
    selected = SelectedContext("here", "one", "a", Cluster(server="http://127.0.0.1:9"), User(), "")

    async def main() -> None:
        server = KubeApiServer(selected)
        try:
            with pytest.raises(Unreachable, match=r":9/api/v1/nodes: Connection refused"):
                await server.list_page(NODES)
        finally:
            await server.close()

    asyncio.run(main())


def test_a_proxy_that_does_not_listen_is_told_apart_from_the_server() -> None:
    cluster = Cluster(server="http://api.invalid", proxy_url="http://me:secret@127.0.0.1:9")
    selected = SelectedContext("here", "one", "a", cluster, User(), "")

    async def main() -> None:
        server = KubeApiServer(selected)
        try:
            want = r"nodes through proxy http://127\.0\.0\.1:9: Connection refused"
            with pytest.raises(Unreachable, match=want):
                await server.list_page(NODES)
        finally:
            await server.close()

    asyncio.run(main())


def test_a_proxy_that_cannot_be_used_is_named_with_its_cluster() -> None:
    cluster = Cluster(server="https://api.invalid", proxy_url="socks5://127.0.0.1:9")

    with pytest.raises(KubeconfigError, match=r"^file: cluster 'one': proxy-url: only http"):
        KubeApiServer(SelectedContext("here", "one", "a", cluster, User(), "file"))
