"""When the HTTP server of a process opens, and what is said before."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from moorage.app import services
from moorage.app.run_process import RunProcess
from moorage.clock import SystemClock
from moorage.serve.callers import Callers
from moorage.serve.client_certificates import ClientCertificates
from moorage.serve.open_listener import OpenListener
from moorage.serve.secure_serving import Listener, ListenerError

HERE = "127.0.0.1"


class Process:
    """As much of a process as a server waits for."""

    def __init__(self) -> None:
        self.clock, self.scheduler = SystemClock(), object()
        self.everything = asyncio.Event()

    async def listed(self) -> None:
        await self.everything.wait()


class World:
    """A process whose server notes when it was loaded, and with what it serves."""

    def __init__(self) -> None:
        self.loaded = asyncio.Event()
        self.ports: list[int] = []
        self._loop = asyncio.get_running_loop()

    @asynccontextmanager
    async def callers(self) -> AsyncIterator[Callers]:
        yield Callers(None, (), ClientCertificates())

    def load(self) -> services.Serve:
        self._loop.call_soon_threadsafe(self.loaded.set)
        return self.serve

    async def serve(
        self, process: RunProcess, listeners: Sequence[OpenListener], callers: Callers
    ) -> None:
        self.ports = [each.socket.getsockname()[1] for each in listeners]

    def start(self, process: Process, *listeners: Listener) -> "asyncio.Task[None]":
        service = services.http_service(listeners, self.callers, self.load)
        return asyncio.create_task(cast("Any", service)(process))


def test_a_server_is_imported_when_everything_is_listed() -> None:
    async def main() -> None:
        world, process = World(), Process()
        running = world.start(process, Listener(HERE, 0, None))
        await asyncio.sleep(0.05)
        assert not world.loaded.is_set()

        process.everything.set()
        await running
        assert world.loaded.is_set()
        assert world.ports

    asyncio.run(main())


def test_it_does_not_wait_for_lists_that_do_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "SERVE_WITHIN_SECONDS", 0.05)

    async def main() -> None:
        world = World()
        await asyncio.wait_for(world.start(Process(), Listener(HERE, 0, None)), 5)
        assert world.ports

    asyncio.run(main())


def test_who_connects_before_waits_for_an_answer() -> None:
    async def main() -> None:
        with socket.create_server((HERE, 0)) as free:
            port = free.getsockname()[1]
        running = World().start(Process(), Listener(HERE, port, None))
        await asyncio.sleep(0.05)
        _, writer = await asyncio.open_connection(HERE, port)
        writer.close()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())


def test_a_port_in_use_is_said_before_anything_is_listed() -> None:
    async def main() -> None:
        world = World()
        with (
            socket.create_server((HERE, 0)) as taken,
            pytest.raises(ListenerError, match="name another, or stop who has it"),
        ):
            await world.start(Process(), Listener(HERE, taken.getsockname()[1], None))
        assert not world.loaded.is_set()

    asyncio.run(main())


def test_where_nothing_is_served_no_server_is_imported() -> None:
    async def main() -> None:
        world, process = World(), Process()
        process.everything.set()
        running = world.start(process)
        await asyncio.sleep(0.05)
        assert not running.done()
        assert not world.loaded.is_set()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())
