"""Questions that are POSTed: one at a time, so that asking never holds up scheduling for long."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

Question = Callable[[dict[str, Any]], Awaitable[Any]]
"""Answers a body; ValueError says what is wrong with it, LookupError what is not there."""
BUSY: Final = "Too many requests: a question is being answered, ask again in a second\n"


class Questions:
    """The questions that are served, by path; none unless somebody enabled them."""

    def __init__(self, by_path: Mapping[str, Question]) -> None:
        self._by_path = dict(by_path)
        self._is_busy = False

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._by_path)

    async def post(self, request: web.Request) -> web.Response:
        """Answer one question, or say that another is being answered."""
        if self._is_busy:
            return web.Response(status=429, text=BUSY, headers={"Retry-After": "1"})
        self._is_busy = True
        try:
            body = msgspec.json.decode(await request.read(), type=dict[str, Any])
            answer = await self._by_path[request.path](body)
        except (ValueError, msgspec.DecodeError) as error:
            return web.Response(status=400, text=f"{error}\n")
        except LookupError as error:
            return web.Response(status=404, text=f"{error.args[0] if error.args else error}\n")
        finally:
            self._is_busy = False
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")
