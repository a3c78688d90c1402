"""What goes wrong between a scheduler and an API server, and how it ends.

However it goes wrong: every pod ends bound exactly once, or pending with its reason, and cache and
queue hold what the API server holds (`running` checks that at its end).
"""

import asyncio
import signal
from collections import Counter
from pathlib import Path

import pytest
from aiohttp import web

from moorage.observe.records import Bound
from moorage.watch.api_errors import Gone
from tests.integration.control_plane import ControlPlane
from tests.integration.harness import Running, eventually, running
from tests.integration.making import node, pod, priority_class
from tests.integration.proxying import (
    Fault,
    Forward,
    HttpProxy,
    TcpProxy,
    hang_up,
    is_binding,
    status,
)
from tests.integration.recording import recorded

pytestmark = pytest.mark.kube

PODS = 30
NAMES = [f"p{i}" for i in range(PODS)]
NODES = [node(f"n{i}", cpu="8", pods=PODS) for i in range(3)]


async def all_bound_once(under_test: Running, names: list[str] = NAMES) -> None:
    """Every pod is bound, and was announced as bound once."""
    await under_test.placed(*names)
    await under_test.agrees()
    told = Counter(bound.pod for bound in under_test.seen.bindings)
    assert told.keys() >= {f"default/{name}" for name in names}
    assert set(told.values()) == {1}


class Sometimes:
    """Does something to the first bindings of each pod, as often as told."""

    def __init__(self, harm: Fault, times: int = 1) -> None:
        self._harm = harm
        self._times = times
        self.done: Counter[str] = Counter()

    async def __call__(self, request: web.Request, forward: Forward) -> web.StreamResponse | None:
        if not is_binding(request) or self.done[request.path] >= self._times:
            return None
        self.done[request.path] += 1
        return await self._harm(request, forward)


async def conflict(request: web.Request, forward: Forward) -> web.StreamResponse:
    return status(409, "Conflict")


async def busy(request: web.Request, forward: Forward) -> web.StreamResponse:
    return status(429, "TooManyRequests", **{"Retry-After": "1"})


async def broken(request: web.Request, forward: Forward) -> web.StreamResponse:
    return status(500, "InternalError")


async def broken_after_success(request: web.Request, forward: Forward) -> web.StreamResponse:
    await forward()
    return status(500, "InternalError")


async def silent_after_success(request: web.Request, forward: Forward) -> web.StreamResponse:
    await forward()
    await asyncio.sleep(3600)
    return web.Response()


async def lost_after_success(request: web.Request, forward: Forward) -> web.StreamResponse:
    await forward()
    return hang_up(request)


async def lost_before(request: web.Request, forward: Forward) -> web.StreamResponse:
    return hang_up(request)


async def late_success(request: web.Request, forward: Forward) -> web.StreamResponse:
    """The client gives up, and looks, before the binding is made."""
    later = asyncio.ensure_future(_later(forward))
    await asyncio.shield(later)
    return web.Response()


async def _later(forward: Forward) -> None:
    await asyncio.sleep(1.2)
    await forward()


@pytest.mark.parametrize(
    ("harm", "times"),
    [
        pytest.param(conflict, 1, id="bindings answered with 409 are made after a backoff"),
        pytest.param(busy, 2, id="bindings answered with 429 are made when the server says"),
        pytest.param(broken, 1, id="bindings answered with 500 are made again"),
        pytest.param(broken, 4, id="bindings that fail four times are made after a backoff"),
        pytest.param(broken_after_success, 1, id="a 500 after success is a success"),
        pytest.param(silent_after_success, 1, id="a time-out after success is a success"),
        pytest.param(lost_after_success, 1, id="a connection lost after success is a success"),
        pytest.param(lost_before, 1, id="a connection lost before is asked again"),
        pytest.param(late_success, 1, id="a success that comes after the time-out is a success"),
    ],
)
def test_bindings_that_go_wrong(
    plane: ControlPlane, tmp_path: Path, harm: Fault, times: int
) -> None:
    fault = Sometimes(harm, times)

    async def main() -> None:
        async with HttpProxy(plane, fault).serving() as proxy:
            file = proxy.kubeconfig(tmp_path)
            async with running(plane, kubeconfig_file=file, request_seconds=1.0) as under_test:
                await under_test.create(*NODES, *map(pod, NAMES))
                await all_bound_once(under_test)

    asyncio.run(main())
    assert sorted(fault.done.values()) == [times] * PODS


def test_a_pod_that_can_never_be_bound_says_why_and_uses_nothing(
    plane: ControlPlane, tmp_path: Path
) -> None:
    fault = Sometimes(conflict, times=1_000_000)

    async def main() -> None:
        async with HttpProxy(plane, fault).serving() as proxy:
            file = proxy.kubeconfig(tmp_path)
            async with running(plane, kubeconfig_file=file) as under_test:
                await under_test.create(NODES[0], pod("web"))
                condition = await under_test.condition("web", "SchedulerError")
                await under_test.events("web", "FailedScheduling")

                assert "by intention" in condition["message"]

                async def idle() -> bool:
                    return not under_test.scheduler.binding

                await eventually(idle, lambda: "still binding")
                assert not list(under_test.scheduler.cache.pods())

    asyncio.run(main())


class Writes:
    """Does something to the first writes of each kind and path, as often as told."""

    def __init__(self, harm: Fault, times: int, methods: tuple[str, ...]) -> None:
        self._harm = harm
        self._times = times
        self._methods = methods
        self.done: Counter[str] = Counter()

    async def __call__(self, request: web.Request, forward: Forward) -> web.StreamResponse | None:
        path = f"{request.method} {request.path}"
        if request.method not in self._methods or self.done[path] >= self._times:
            return None
        self.done[path] += 1
        return await self._harm(request, forward)


@pytest.mark.parametrize(
    ("harm", "times", "methods"),
    [
        pytest.param(broken, 2, ("PATCH", "DELETE"), id="writes that fail twice"),
        pytest.param(broken, 6, ("DELETE",), id="deletions that fail until they are given up"),
        pytest.param(lost_after_success, 1, ("PATCH", "DELETE"), id="writes whose answer is lost"),
        pytest.param(lost_before, 1, ("PATCH", "DELETE"), id="writes that are lost"),
    ],
)
def test_preemption_when_writes_go_wrong(
    plane: ControlPlane, tmp_path: Path, harm: Fault, times: int, methods: tuple[str, ...]
) -> None:
    """Marking, deleting, nominating, telling: each may fail, and the pod gets its place."""
    fault = Writes(harm, times, methods)
    high = priority_class("high", 1000)

    async def main() -> None:
        async with HttpProxy(plane, fault).serving() as proxy:
            file = proxy.kubeconfig(tmp_path)
            async with running(plane, kubeconfig_file=file) as under_test:
                await under_test.create(high, node("n1", cpu="4"))
                await under_test.create(pod("low1", cpu="2"), pod("low2", cpu="2"))
                await under_test.placed("low1", "low2")
                await under_test.create(pod("vip", cpu="4", priorityClassName="high"))

                assert await under_test.placed("vip") == {"vip": "n1"}
                assert set(await under_test.pods()) == {"vip"}

    asyncio.run(main())
    assert any(path.startswith("DELETE") for path in fault.done)


def test_connections_cut_again_and_again(plane: ControlPlane, tmp_path: Path) -> None:
    async def main() -> None:
        async with TcpProxy(plane) as proxy:
            file = proxy.kubeconfig(tmp_path)
            async with running(plane, kubeconfig_file=file) as under_test:
                await under_test.create(*NODES)
                for start in range(0, PODS, 5):
                    await under_test.create(*map(pod, NAMES[start : start + 5]))
                    proxy.cut()
                await all_bound_once(under_test)

    asyncio.run(main())


def test_a_network_that_is_down_for_a_while(plane: ControlPlane, tmp_path: Path) -> None:
    """Meanwhile nodes and pods come and go."""

    async def main() -> None:
        async with TcpProxy(plane) as proxy:
            file = proxy.kubeconfig(tmp_path)
            async with running(plane, kubeconfig_file=file) as under_test:
                await under_test.create(*NODES, pod("early"), pod("leaving"))
                await under_test.placed("early", "leaving")
                await proxy.close()
                await under_test.request("DELETE", "/api/v1/namespaces/default/pods/leaving")
                await under_test.request("DELETE", "/api/v1/nodes/n0")
                await under_test.create(*map(pod, NAMES))
                await proxy.open()

                await all_bound_once(under_test, ["early", *NAMES])

    asyncio.run(main())


def test_a_version_that_is_no_longer_kept_is_listed_anew(
    own_plane: ControlPlane, tmp_path: Path
) -> None:
    """Changes made while we cannot see are compacted away: watches answer 410."""

    async def main() -> None:
        async with TcpProxy(own_plane) as proxy:
            file = proxy.kubeconfig(tmp_path)
            async with running(own_plane, kubeconfig_file=file) as under_test:
                await under_test.create(*NODES, pod("early"), pod("leaving"))
                await under_test.placed("early", "leaving")
                await proxy.close()
                await under_test.request("DELETE", "/api/v1/namespaces/default/pods/leaving")
                await under_test.request("DELETE", "/api/v1/nodes/n0")
                await under_test.create(*map(pod, NAMES))
                await asyncio.to_thread(_restart, own_plane)
                own_plane.compact()
                await proxy.open()

                await all_bound_once(under_test, ["early", *NAMES])
                gone = [error for _, error in under_test.seen.failures if Gone.__name__ in error]
                assert gone, under_test.seen.failures

    asyncio.run(main())


class KillAt:
    """Kills the API server as soon as so many pods are bound."""

    def __init__(self, plane: ControlPlane, count: int) -> None:
        self._plane = plane
        self._left = count
        self.killed = asyncio.Event()

    def bound(self, bound: Bound) -> None:
        self._left -= 1
        if not self._left:
            self._plane.end("kube-apiserver", signal.SIGKILL)
            self.killed.set()


def test_an_api_server_that_is_killed_and_comes_back(own_plane: ControlPlane) -> None:
    """It dies while pods are being bound: some requests are never answered, whatever they did."""
    names = [f"p{i}" for i in range(200)]
    nodes = [node(f"n{i}", cpu="32", pods=200) for i in range(3)]

    async def main() -> None:
        killer = KillAt(own_plane, 50)
        own_plane.create(*nodes, *map(pod, names))
        with recorded(own_plane) as record:
            async with running(own_plane, observer=killer) as under_test:
                await asyncio.wait_for(killer.killed.wait(), 60)
                await asyncio.to_thread(own_plane.start_api_server)
                await all_bound_once(under_test, names)
            await asyncio.to_thread(
                record.until, lambda now: len(now.placed) == len(names), "not all seen", 60
            )
        assert len(record.bindings) == len(names)

    asyncio.run(main())


def test_answers_that_break_off_in_the_middle(plane: ControlPlane, tmp_path: Path) -> None:
    """Lists, watches and bindings of which only the beginning arrives."""

    async def main() -> None:
        async with TcpProxy(plane) as proxy:
            proxy.cut_after = iter(range(1_500, 20_000, 200))
            file = proxy.kubeconfig(tmp_path)
            await asyncio.to_thread(plane.create, *NODES)
            async with running(plane, kubeconfig_file=file) as under_test:
                await under_test.create(*map(pod, NAMES))
                await all_bound_once(under_test)
        assert proxy.broken_off > 20

    asyncio.run(main())


def _restart(plane: ControlPlane) -> None:
    plane.end("kube-apiserver", signal.SIGKILL)
    plane.start_api_server()
