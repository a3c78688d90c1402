"""Questions to a running scheduler: answered from its cache, one at a time, leaving no trace."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, TypeVar

import aiohttp
import pytest
from aiohttp import web

from moorage.cache.consistency import validate_cache
from moorage.explain import live_answers, time_slices
from moorage.explain.explanation import explain
from moorage.explain.live_answers import WHOLE_CLUSTER, LiveAnswers
from moorage.extender.async_bridge import DecisionThread
from moorage.scheduler.loop import AttemptGate
from moorage.serve.callers import Caller
from moorage.serve.gate import CALLER
from moorage.serve.questions import Answer, Question, Questions
from moorage.serve.request_authorizer import Denied
from moorage.testing import node, pod
from tests.unit.explain.test_sources import node_of, stands, written
from tests.unit.scheduler.changing_world import ChangingWorld, configuration, profile

T = TypeVar("T")
Raw = dict[str, Any]


def with_rights(*listed: str) -> Caller:
    """A caller who may do what is listed, as `verb resource namespace`, and nothing else."""

    async def may(verb: str, resource: str, namespace: str) -> bool:
        return f"{verb} {resource} {namespace}".strip() in listed

    return Caller("jane", may)


def answers(*objects: Raw) -> LiveAnswers:
    return LiveAnswers(stands(*objects).scheduler)


def test_a_pod_of_the_cluster_is_explained() -> None:
    big = written("big")
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "5"}}
    told = asyncio.run(answers(node_of("n1"), big).explain({"pod": "default/big"}, WHOLE_CLUSTER))

    assert told.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert told.queue_place == (1, 1)
    assert told.changes[0].kind == "request"


def test_pods_are_placed_beside_each_other_and_leave_no_trace() -> None:
    source = stands(node_of("n1"))
    pods = [written(f"p{number}") for number in range(5)]
    told = asyncio.run(LiveAnswers(source.scheduler).place({"pods": pods}, WHOLE_CLUSTER))

    assert [each.node for each in told] == ["n1"] * 4 + [""]
    assert told[-1].message == "0/1 nodes are available: 1 Insufficient cpu."
    assert not list(source.world.cache.pods())
    validate_cache(source.world.cache)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"pod": "default/big"}, id="a pod of the cluster"),
        pytest.param({"object": written("other")}, id="a pod of his own"),
        pytest.param({"pods": [written("other")]}, id="pods of his own"),
    ],
)
@pytest.mark.parametrize("missing", ["get pods default", "list nodes"])
def test_nobody_is_answered_with_what_he_may_not_read(body: Raw, missing: str) -> None:
    source, enough = stands(node_of("n1"), written("big")), ("get pods default", "list nodes")
    live = LiveAnswers(source.scheduler)
    asyncio.run(live.answer(body, with_rights(*enough)))

    with pytest.raises(Denied, match=r'^Forbidden: user "jane" cannot (get pods in|list nodes at)'):
        asyncio.run(live.answer(body, with_rights(*{*enough} - {missing})))


def test_changes_that_name_pods_are_for_those_who_may_list_them() -> None:
    others = [written(f"p{number}") for number in range(3)]
    for each in others:
        each["metadata"]["namespace"] = "secret"
        each["spec"]["nodeName"] = "n1"
    big = written("big")
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    big["spec"]["priority"] = 10
    live = answers(node_of("n1"), *others, big)
    some = ("get pods default", "list nodes")

    whole = asyncio.run(live.explain({"pod": "default/big"}, with_rights(*some, "list pods")))
    told = asyncio.run(live.explain({"pod": "default/big"}, with_rights(*some)))

    assert "evict" in {change.kind for change in whole.changes}
    assert "secret" in str(whole)
    assert told.changes
    assert "secret" not in str(told)


def test_who_waits_with_a_gang_is_sent_to_his_own_rights() -> None:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"minMember": 2},
    }
    pods = [written(f"p{number}") for number in range(2)]
    for each in pods:
        each["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "train"}

    with pytest.raises(ValueError, match="`moorage explain --context CONTEXT default/p0`"):
        asyncio.run(
            answers(node_of("n1"), group, *pods).explain({"pod": "default/p0"}, WHOLE_CLUSTER)
        )


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
        asyncio.run(answers(node_of("n1")).explain(body, WHOLE_CLUSTER))


def test_scheduling_goes_on_while_a_pod_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """With slices of no length every pause is one: between two of them pods are placed."""
    monkeypatch.setattr(time_slices.SlicedWork.__init__, "__defaults__", (0.0,))
    meanwhile: list[int] = []

    async def story(world: ChangingWorld) -> None:
        await world.clock.sleep(1)
        before = len(world.attempts)
        asked = LiveAnswers(world.scheduler)
        world.apply(*(pod(f"small-{number}").requesting(cpu="10m") for number in range(40)))
        told = await asked.explain({"pod": "default/big"}, WHOLE_CLUSTER)
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
    told = asyncio.run(
        answers(node_of("n1"), written("p")).explain({"pod": "default/p"}, WHOLE_CLUSTER)
    )

    assert (len(tried), told.state) == (2, "pending")


@web.middleware
async def named(request: web.Request, handler: Any) -> Any:
    """Whoever asks is named by a header."""
    request[CALLER] = WHOLE_CLUSTER._replace(name=request.headers.get("X-Caller", ""))
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
    async def slow(body: Raw, caller: Caller) -> str:
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


async def never(body: Raw, caller: Caller) -> str:
    raise AssertionError


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"{", id="no JSON"),
        pytest.param(b"\xff", id="no text"),
        pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="nested without end"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_bad_request(data: bytes) -> None:
    async def ask(session: aiohttp.ClientSession, url: str) -> int:
        async with session.post(url, data=data) as answer:
            return answer.status

    assert posted(never, ask) == 400


class PuttingOff(AttemptGate):
    """Says when two pieces of work were put off."""

    def __init__(self, turns: DecisionThread) -> None:
        super().__init__(turns)
        self.both = asyncio.Event()

    def later(self, work: Callable[[], None]) -> None:
        super().later(work)
        if len(self._put_off) == 2:
            self.both.set()


def test_an_abandoned_question_holds_up_nothing() -> None:
    """Its next slice was put off behind an attempt; no thread of it is left."""
    turns = DecisionThread()
    gate = PuttingOff(turns)
    cluster = stands(node_of("n1")).scheduler
    monkey = SimpleNamespace(
        cache=cluster.cache, gate=gate, profiles=cluster.profiles, clock=cluster.clock
    )

    async def main() -> None:
        live, begun, go_on = LiveAnswers(monkey), asyncio.Event(), asyncio.Event()  # type: ignore[arg-type]

        def work(world: Any) -> None:
            loop.call_soon_threadsafe(begun.set)
            while True:
                world.pause()

        loop = asyncio.get_running_loop()
        early = asyncio.create_task(live._answered(work))
        await begun.wait()
        attempt = asyncio.create_task(gate.run(lambda: turns.ask(go_on.wait)))
        await asyncio.sleep(0)
        late = asyncio.create_task(live._answered(work))
        await gate.both.wait()
        for question in (early, late):
            question.cancel()
        await asyncio.gather(early, late, return_exceptions=True)
        go_on.set()
        assert await attempt

    asyncio.run(main())
    threads = [each for each in threading.enumerate() if each.name == "explain"]
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)
