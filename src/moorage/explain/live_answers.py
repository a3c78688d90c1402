"""Explanations on the cache of a running scheduler, between two of its attempts."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.cycle import scoring
from moorage.explain import queue_state
from moorage.explain.explanation import Explanation, explain
from moorage.explain.world import World
from moorage.scheduler.scheduler import Scheduler
from moorage.watch.api_errors import NotFound
from moorage.watch.api_resources import PODS

T = TypeVar("T")
MOST_PODS: Final = 50
"""How many pods one what-if may be about."""


class Placed(msgspec.Struct, frozen=True):
    """Where a pod would go as things stand; no node, and why, where it fits nowhere."""

    pod: str
    node: str
    message: str = ""


class LiveAnswers:
    """Answers from what a scheduler believes; each is one synchronous call that rolls back."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    async def explain(self, body: dict[str, Any]) -> Explanation:
        """`{"pod": "namespace/name"}`: a pod of the cluster; `{"object": ...}`: any pod."""
        raw = body.get("object")
        if raw is None:
            raw = await self._read(str(body.get("pod") or ""))
        pod = _decoded(raw)
        return await self._between_attempts(lambda: self._explained(raw, pod))

    async def whatif(self, body: dict[str, Any]) -> list[Placed]:
        """`{"pods": [...]}`: where pods would go, each beside those before it."""
        given = body.get("pods")
        if not isinstance(given, list) or not 0 < len(given) <= MOST_PODS:
            raise ValueError(f"pods: a list of 1 to {MOST_PODS} pods")
        pods = [_decoded(each) for each in given]
        return await self._between_attempts(lambda: self._placed(pods))

    async def _read(self, key: str) -> dict[str, Any]:
        namespace, _, name = key.partition("/")
        if not name:
            raise ValueError('write {"pod": "namespace/name"}, or a pod as {"object": ...}')
        try:
            return await self._scheduler.server.get(PODS, namespace, name)
        except NotFound as error:
            raise LookupError(str(error)) from None

    async def _between_attempts(self, work: Callable[[], T]) -> T:
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def run() -> None:
            try:
                done.set_result(work())
            except Exception as error:
                done.set_exception(error)

        self._scheduler.gate.later(run)
        return await done

    def _world(self) -> World:
        scheduler, rng = self._scheduler, random.Random(0)
        return World(scheduler.cache, scheduler.profiles, rng, scheduler.clock.now())

    def _explained(self, raw: dict[str, Any], pod: Pod) -> Explanation:
        world, queue, node = self._world(), self._scheduler.queue, pod.spec.node_name
        is_known = bool(pod.uid) and not node
        reasons = queue_state.waits_for(queue, world.cache, pod, world.now) if is_known else []
        place = queue_state.place_in_queue(queue, pod, by_age=False) if is_known else None
        return explain(world, raw, node=node, waits_for=reasons, queue_place=place)

    def _placed(self, pods: list[Pod]) -> list[Placed]:
        world, found = self._world(), list[Placed]()
        with world.cache.trial():
            for number, pod in enumerate(pods):
                meta = msgspec.structs.replace(pod.metadata, uid=f"what-if-{number}")
                found.append(_place(world, msgspec.structs.replace(pod, metadata=meta)))
        return found


def _place(world: World, pod: Pod) -> Placed:
    question = world.question(pod)
    rows = question.feasible()
    if not rows.any():
        return Placed(pod.key, "", question.diagnosis_message())
    scored = scoring.run(question.profile, question.cycle, rows)
    position, _ = scoring.select_host(scored, world.random)
    name = scored.nodes.node(position).name
    world.cache.place_on(world.cache.table.row_of[name], world.cache.info(pod))
    return Placed(pod.key, name)


def _decoded(raw: Any) -> Pod:
    if not isinstance(raw, dict) or not isinstance(raw.get("spec"), dict):
        raise ValueError("object: not a pod")
    return decode_as(raw, Pod)
