"""How `moorage extender serve` listens."""

import asyncio
from functools import partial
from typing import Any

import msgspec
import pytest

from moorage.app import extender_process
from moorage.app.extender_profile import ExtenderOptions
from moorage.cache.cache import Cache
from moorage.config.resolved_profile import ResolvedProfile
from moorage.cycle.profile import Profile
from moorage.extender.extender_server import ExtenderServer
from moorage.extender.verb_handler import VerbHandler
from moorage.serve.bounded_listener import BoundedListener


def options() -> ExtenderOptions:
    empty: dict[type, Any] = {bool: False, int: 0, str: ""}
    fields = msgspec.structs.fields(ExtenderOptions)
    given = {each.name: empty.get(each.type, ()) for each in fields}
    return ExtenderOptions(**{**given, "bind_address": "127.0.0.1", "http": True})


def test_an_idle_connection_makes_room_for_a_new_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "moorage")
    monkeypatch.setattr(extender_process, "BoundedListener", partial(BoundedListener, most=3))
    profile = Profile(ResolvedProfile("x", None, {}, {}), {})
    answering = VerbHandler(profile, Cache(), follows=True, now=lambda: 0.0)

    async def main() -> tuple[bytes, bytes]:
        server = ExtenderServer(answering)
        async with extender_process._listening(options(), server, set()):
            [port] = [each.__dict__["fields"]["port"] for each in caplog.records]
            opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
            reader, writer = opened[-1]
            writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            answered = await reader.readline()
            first = await opened[0][0].read()
            for _, each in opened:
                each.close()
            return answered, first

    answered, first = asyncio.run(main())

    assert answered == b"HTTP/1.1 200 OK\r\n"
    assert first == b""
