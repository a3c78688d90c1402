"""Questions that are POSTed: few at a time, so that they never hold up scheduling for long."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from moorage.api.decode import UNREADABLE
from moorage.serve.callers import Caller
from moorage.serve.gate import CALLER, refusal
from moorage.serve.request_authorizer import Denied

Answer = Callable[[dict[str, Any], Caller], Awaitable[Any]]
"""Answers a caller's body; raises ValueError for an invalid body, LookupError for what does not
exist, Denied for what the caller may not read himself."""
MOST_BYTES: Final = 4 << 20
TOO_LARGE: Final = f"more than {MOST_BYTES >> 20} MiB\n"
BUSY: Final = "Too many requests: {} being answered, at most {} at once: ask again in a second\n"
YOURS: Final = "Too many requests: a question of yours is being answered: wait for it\n"


class Question(msgspec.Struct, frozen=True):
    """One kind of question: its answer, and how many run at once; one at a time per caller."""

    answer: Answer
    most: int = 2


class Questions:
    """The questions that are served, by path; none by default."""

    def __init__(self, by_path: Mapping[str, Question]) -> None:
        self._by_path = dict(by_path)
        self._callers: dict[str, Counter[str]] = {path: Counter() for path in by_path}

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._by_path)

    async def post(self, request: web.Request) -> web.Response:
        """Answer one question, or refuse it while others are being answered."""
        question, callers = self._by_path[request.path], self._callers[request.path]
        caller = request[CALLER]
        if callers[caller.name]:
            return refusal(429, YOURS)
        if callers.total() >= question.most:
            return refusal(429, BUSY.format(f"{callers.total()} questions are", question.most))
        callers[caller.name] += 1
        try:
            return await self._answer(question, caller, request)
        finally:
            del callers[caller.name]

    async def _answer(
        self, question: Question, caller: Caller, request: web.Request
    ) -> web.Response:
        if (request.content_length or 0) > MOST_BYTES:
            return refusal(413, TOO_LARGE)
        try:
            body = msgspec.json.decode(await request.read(), type=dict[str, Any])
            answer = await question.answer(body, caller)
        except web.HTTPRequestEntityTooLarge:
            return refusal(413, TOO_LARGE)
        except (ValueError, *UNREADABLE) as error:
            return refusal(400, f"{error}\n")
        except Denied as denied:
            return refusal(denied.status, str(denied))
        except LookupError as error:
            return refusal(404, f"{error.args[0] if error.args else error}\n")
        except TimeoutError as error:
            return refusal(504, f"{error}\n")
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")
