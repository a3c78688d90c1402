"""Questions to a running scheduler: answered from its cache, one at a time, leaving no trace."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import aiohttp
import pytest
from aiohttp import web

from moorage.cache.consistency import validate_cache
from moorage.explain.live_answers import LiveAnswers
from moorage.serve.questions import Question, Questions
from tests.unit.explain.test_sources import node_of, stands, written

T = TypeVar("T")
Raw = dict[str, Any]


def answers(*objects: Raw) -> LiveAnswers:
    return LiveAnswers(stands(*objects).scheduler)


def test_a_pod_of_the_cluster_is_explained() -> None:
    big = written("big")
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "5"}}
    told = asyncio.run(answers(node_of("n1"), big).explain({"pod": "default/big"}))

    assert told.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert told.queue_place == (1, 1)
    assert told.changes[0].kind == "request"


def test_pods_are_placed_beside_each_other_and_leave_no_trace() -> None:
    source = stands(node_of("n1"))
    pods = [written(f"p{number}") for number in range(5)]
    told = asyncio.run(LiveAnswers(source.scheduler).whatif({"pods": pods}))

    assert [each.node for each in told] == ["n1"] * 4 + [""]
    assert told[-1].message == "0/1 nodes are available: 1 Insufficient cpu."
    assert not list(source.world.cache.pods())
    validate_cache(source.world.cache)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"pod": "default/nobody"}, LookupError),
        ({"pod": "nobody"}, ValueError),
        ({"object": 3}, ValueError),
    ],
)
def test_what_makes_no_sense_is_said(body: Raw, error: type[Exception]) -> None:
    with pytest.raises(error):
        asyncio.run(answers(node_of("n1")).explain(body))


def posted(question: Question, ask: Callable[[aiohttp.ClientSession, str], Awaitable[T]]) -> T:
    async def main() -> T:
        questions = Questions({"/debug/explain": question})
        app = web.Application()
        app.router.add_post("/debug/explain", questions.post)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            async with aiohttp.ClientSession() as session:
                return await ask(session, f"http://127.0.0.1:{port}/debug/explain")
        finally:
            await runner.cleanup()

    return asyncio.run(main())


def test_a_second_question_is_told_to_come_again() -> None:
    async def slow(body: Raw) -> str:
        await asyncio.sleep(0.2)
        return "done"

    async def ask(session: aiohttp.ClientSession, url: str) -> list[int]:
        async def status() -> int:
            async with session.post(url, json={}) as answer:
                return answer.status

        both = [asyncio.ensure_future(status()) for _ in range(2)]
        found = sorted(await asyncio.gather(*both))
        return [*found, await status()]

    assert posted(slow, ask) == [200, 429, 200]


def test_a_body_that_is_no_json_is_a_bad_request() -> None:
    async def never(body: Raw) -> str:
        raise AssertionError

    async def ask(session: aiohttp.ClientSession, url: str) -> int:
        async with session.post(url, data=b"{") as answer:
            return answer.status

    assert posted(never, ask) == 400
