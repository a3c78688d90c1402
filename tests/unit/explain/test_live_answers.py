"""Questions to a running scheduler: answered from its cache, one at a time, leaving no trace."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import aiohttp
import pytest
from aiohttp import web

from moorage.cache.consistency import validate_cache
from moorage.explain import live_answers, time_slices
from moorage.explain.explanation import explain
from moorage.explain.live_answers import LiveAnswers
from moorage.explain.process_answers import ProcessAnswers
from moorage.serve.gate import CALLER
from moorage.serve.questions import Answer, Question, Questions
from moorage.testing import node, pod
from tests.unit.explain.test_sources import node_of, stands, written
from tests.unit.scheduler.changing_world import ChangingWorld, configuration, profile

T = TypeVar("T")
Raw = dict[str, Any]


NOBODY = ProcessAnswers((), str)


def answers(*objects: Raw) -> LiveAnswers:
    return LiveAnswers(stands(*objects).scheduler, NOBODY)


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
    told = asyncio.run(LiveAnswers(source.scheduler, NOBODY).whatif({"pods": pods}))

    assert [each.node for each in told] == ["n1"] * 4 + [""]
    assert told[-1].message == "0/1 nodes are available: 1 Insufficient cpu."
    assert not list(source.world.cache.pods())
    validate_cache(source.world.cache)


def test_how_many_more_fit_is_counted_on_the_live_cache() -> None:
    source = stands(node_of("n1"), node_of("n2"))
    asked = {"capacity": [written("shape")], "by": "kubernetes.io/hostname"}
    [told] = asyncio.run(LiveAnswers(source.scheduler, NOBODY).whatif(asked))

    assert (told.pod, told.fits, told.runs_out) == ("default/shape", 8, {"cpu": 2})
    validate_cache(source.world.cache)


def test_copies_that_look_at_each_other_are_counted_elsewhere() -> None:
    apart = written("shape")
    port = {"containerPort": 80, "hostPort": 80}
    apart["spec"]["containers"][0]["ports"] = [port]
    asked: list[tuple[Raw, ...]] = []

    class Elsewhere(ProcessAnswers):
        async def capacity(self, shapes: Any, group_by: str) -> Any:
            asked.append(tuple(shapes))
            return ["counted elsewhere"]

    told = LiveAnswers(stands(node_of("n1")).scheduler, Elsewhere((), str))

    assert asyncio.run(told.whatif({"capacity": [apart]})) == ["counted elsewhere"]
    assert asked[0][0]["metadata"]["name"] == "shape"


@pytest.mark.parametrize("given", [[], 3, [3], [{}]], ids=str)
def test_what_is_no_list_of_pods_has_no_capacity(given: Any) -> None:
    with pytest.raises(ValueError, match=r"capacity: a list|not a pod"):
        asyncio.run(answers(node_of("n1")).whatif({"capacity": given}))


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"pod": "default/nobody"}, LookupError),
        ({"pod": "nobody"}, ValueError),
        ({"pod": "default/big?watch=1"}, ValueError),
        (
            {"pod": "default/x HTTP/1.1\r\n\r\nDELETE /api/v1/namespaces/default/pods/big"},
            ValueError,
        ),
        ({"pod": "a/b/log"}, ValueError),
        ({"object": 3}, ValueError),
    ],
)
def test_what_makes_no_sense_is_said(body: Raw, error: type[Exception]) -> None:
    with pytest.raises(error):
        asyncio.run(answers(node_of("n1")).explain(body))


def test_scheduling_goes_on_while_a_pod_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """With slices of no length every pause is one: between two of them pods are placed."""
    monkeypatch.setattr(time_slices.SlicedWork.__init__, "__defaults__", (0.0,))
    meanwhile: list[int] = []

    async def story(world: ChangingWorld) -> None:
        await world.clock.sleep(1)
        before = len(world.attempts)
        asked = LiveAnswers(world.scheduler, NOBODY)
        world.apply(*(pod(f"small-{number}").requesting(cpu="10m") for number in range(40)))
        told = await asked.explain({"pod": "default/big"})
        meanwhile.append(len(world.attempts) - before)
        await world.clock.sleep(60)
        assert told.message == "0/5 nodes are available: 5 Insufficient cpu."
        assert {change.kind for change in told.changes} >= {"evict", "node"}

    nodes = [node(f"n{index}").offering(cpu="4", pods="99") for index in range(5)]
    others = [
        pod(f"r{index}-{each}").requesting(cpu="500m").on(f"n{index}")
        for index in range(5)
        for each in range(6)
    ]
    base = configuration(profile("default-scheduler"))
    big = pod("big").requesting(cpu="4")
    seen = ChangingWorld(*nodes, *others, big, config=base).run(story)

    assert meanwhile[0] >= 10
    assert len(seen.bindings) == 40


def test_an_answer_is_worked_out_anew_where_nodes_went_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []

    def flaky(world: Any, *given: Any, **more: Any) -> Any:
        tried.append(1)
        if len(tried) == 1:
            world.cache.put_node(node("late").build())
            raise LookupError("row 3 holds no node")
        return explain(world, *given, **more)

    monkeypatch.setattr(live_answers, "explain", flaky)
    told = asyncio.run(answers(node_of("n1"), written("p")).explain({"pod": "default/p"}))

    assert (len(tried), told.state) == (2, "pending")


@web.middleware
async def named(request: web.Request, handler: Any) -> Any:
    """Whoever asks is named by a header."""
    request[CALLER] = request.headers.get("X-Caller", "")
    return await handler(request)


def posted(question: Answer, ask: Callable[[aiohttp.ClientSession, str], Awaitable[T]]) -> T:
    async def main() -> T:
        questions = Questions({"/debug/explain": Question(question)})
        app = web.Application(middlewares=[named])
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


def test_each_caller_has_one_question_and_all_together_two() -> None:
    async def slow(body: Raw) -> str:
        await asyncio.sleep(0.3)
        return "done"

    async def ask(session: aiohttp.ClientSession, url: str) -> list[tuple[int, str]]:
        async def status(caller: str, after: float = 0.0) -> tuple[int, str]:
            await asyncio.sleep(after)
            async with session.post(url, json={}, headers={"X-Caller": caller}) as answer:
                assert answer.status == 200 or answer.headers["Retry-After"] == "1"
                return answer.status, await answer.text()

        asked = (status("ann"), status("ann", 0.05), status("bob", 0.1), status("eve", 0.15))
        return [*await asyncio.gather(*asked), await status("ann")]

    first, again, second, third, later = posted(slow, ask)

    assert [first[0], second[0], later[0]] == [200, 200, 200]
    assert again == (429, "Too many requests: a question of yours is being answered: wait for it\n")
    assert third[0] == 429
    assert "2 questions are being answered, at most 2 at once" in third[1]


def test_a_body_that_is_no_json_is_a_bad_request() -> None:
    async def never(body: Raw) -> str:
        raise AssertionError

    async def ask(session: aiohttp.ClientSession, url: str) -> int:
        async with session.post(url, data=b"{") as answer:
            return answer.status

    assert posted(never, ask) == 400
