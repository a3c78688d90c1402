"""Answers from the cache of a running scheduler, a few milliseconds at a time between attempts."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from moorage.api.decode import decode_as
from moorage.api.name_validation import dns_label_faults, subdomain_faults
from moorage.api.pod import Pod
from moorage.cycle import scoring
from moorage.explain import queue_state
from moorage.explain.explanation import Explanation, explain
from moorage.explain.time_slices import Pause, SlicedWork
from moorage.explain.world import World
from moorage.gang.feature import Gangs
from moorage.scheduler.scheduler import Scheduler
from moorage.serve.callers import Caller
from moorage.watch.api_errors import NotFound
from moorage.watch.api_resources import PODS

T = TypeVar("T")
Raw = dict[str, Any]
MOST_PODS: Final = 50
"""How many pods one what-if may be about."""
WITH_A_GANG: Final = (
    "{0} waits with its gang, which takes too long to explain between attempts: "
    "`moorage explain --context CONTEXT {0}` does it, with your own rights"
)
_NAME_OTHER_PODS: Final = frozenset({"evict", "wait"})
SHARE: Final = 3.0
"""After each slice, the event loop runs for this many times the length of the slice."""
TRIES: Final = 5
SECONDS: Final = 30.0


class Placed(msgspec.Struct, frozen=True):
    """The node where a pod would go as things stand; if it fits nowhere, a message instead."""

    pod: str
    node: str
    message: str = ""


async def _everything(verb: str, resource: str, namespace: str) -> bool:
    return True


WHOLE_CLUSTER: Final = Caller("", _everything)
"""Who may see the dashboard may see all that is in it: that is one right."""


class LiveAnswers:
    """Answers from the cache of a running scheduler; each slice rolls back what it tried.

    Nobody is answered with what he may not read himself: nodes, pods of these namespaces. Changes
    that name other pods are left out unless he may list all pods.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    async def answer(self, body: Raw, caller: Caller) -> Explanation | list[Placed]:
        """`{"pods": [...]}`: where they would go; anything else is for `explain`."""
        return await (self.place if "pods" in body else self.explain)(body, caller)

    async def explain(self, body: Raw, caller: Caller) -> Explanation:
        """`{"pod": "namespace/name"}`: a pod of the cluster; `{"object": ...}`: any pod."""
        raw = body.get("object")
        namespace, name = _key(body.get("pod")) if raw is None else (_decoded(raw).namespace, "")
        await _must_read(caller, namespace)
        if raw is None:
            raw = await self._read(namespace, name)
        pod = _decoded(raw)
        if self._waits_with_a_gang(pod):
            raise ValueError(WITH_A_GANG.format(pod.key))
        told = await self._answered(lambda world: self._explained(world, raw, pod))
        if await caller.may("list", "pods", ""):
            return told
        changes = tuple(each for each in told.changes if each.kind not in _NAME_OTHER_PODS)
        return msgspec.structs.replace(told, changes=changes)

    def _waits_with_a_gang(self, pod: Pod) -> bool:
        group = self._scheduler.feature(Gangs).groups.of(pod) if pod.uid else None
        if group is None or pod.spec.node_name:
            return False
        return group.tree is None and group.minimum > 1

    async def place(self, body: Raw, caller: Caller) -> list[Placed]:
        """`{"pods": [...]}`: where the pods would go, each after those before it are placed."""
        given = body.get("pods")
        if not isinstance(given, list) or not 0 < len(given) <= MOST_PODS:
            raise ValueError(f"pods: a list of 1 to {MOST_PODS} pods")
        pods = [_distinct(_decoded(each), number) for number, each in enumerate(given)]
        await _must_read(caller, *sorted({pod.namespace for pod in pods}))
        return await self._answered(lambda world: placed(world, pods))

    async def _read(self, namespace: str, name: str) -> Raw:
        try:
            return await self._scheduler.server.get(PODS, namespace, name)
        except NotFound as error:
            raise LookupError(str(error)) from None

    async def _answered(self, work: Callable[[World], T]) -> T:
        """The result of `work`; it is repeated if it failed and nodes changed meanwhile."""
        async with asyncio.timeout(SECONDS):
            for _ in range(TRIES - 1):
                version = self._scheduler.cache.table.node_log.version
                try:
                    return await self._sliced(work)
                except (ValueError, LookupError):
                    if self._scheduler.cache.table.node_log.version == version:
                        raise
            return await self._sliced(work)

    async def _sliced(self, work: Callable[[World], T]) -> T:
        cache = self._scheduler.cache

        def with_pauses(pause: Pause) -> T:
            return work(self._world(pause))

        sliced = SlicedWork(with_pauses, may_pause=lambda: not cache.in_trial)
        try:
            while not sliced.is_done:
                taken = await self._between_attempts(sliced)
                if not sliced.is_done:
                    await asyncio.sleep(SHARE * taken)
        finally:
            sliced.abandon()
        return sliced.result()

    async def _between_attempts(self, sliced: SlicedWork[T]) -> float:
        """Run one slice, now or right after the current attempt; returns its seconds."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[float] = loop.create_future()

        def run() -> None:
            begun = loop.time()
            sliced.run_slice()
            if not done.cancelled():
                done.set_result(loop.time() - begun)

        self._scheduler.gate.later(run)
        return await done

    def _world(self, pause: Pause) -> World:
        scheduler = self._scheduler
        return World(scheduler.cache, scheduler.profiles, scheduler.clock.now(), pause)

    def _explained(self, world: World, raw: dict[str, Any], pod: Pod) -> Explanation:
        queue, node = self._scheduler.queue, pod.spec.node_name
        is_known = bool(pod.uid) and not node
        reasons = queue_state.waits_for(queue, world.cache, pod, world.now) if is_known else []
        place = queue_state.place_in_queue(queue, pod, by_age=False) if is_known else None
        world.pause()
        return explain(world, raw, node=node, waits_for=reasons, queue_place=place)


def _key(named: Any) -> tuple[str, str]:
    namespace, _, name = str(named or "").partition("/")
    if dns_label_faults(namespace) or subdomain_faults(name):
        raise ValueError('write {"pod": "namespace/name"}, or a pod as {"object": ...}')
    return namespace, name


async def _must_read(caller: Caller, *namespaces: str) -> None:
    """Refuse a caller who may not read what an answer about pods there tells of."""
    for namespace in namespaces:
        await caller.must("get", "pods", namespace)
    await caller.must("list", "nodes")


def placed(world: World, pods: list[Pod]) -> list[Placed]:
    """Place each pod on a trial of its own, with the pods before it on their nodes."""
    found: list[Placed] = []
    for pod in pods:
        with world.cache.trial():
            for before, told in zip(pods, found, strict=False):
                row = world.cache.table.row_of.get(told.node)
                if row is not None:
                    world.cache.place_on(row, world.cache.info(before))
            found.append(_place(world, pod))
        world.pause()
    return found


def _place(world: World, pod: Pod) -> Placed:
    question = world.question(pod)
    rows = question.feasible()
    if not rows.any():
        return Placed(pod.key, "", question.diagnosis_message())
    scored = scoring.run(question.profile, question.cycle, rows)
    position, _ = scoring.select_host(scored, question.cycle)
    return Placed(pod.key, scored.nodes.node(position).name)


def _distinct(pod: Pod, number: int) -> Pod:
    """A pod that is none of the cluster's."""
    meta = msgspec.structs.replace(pod.metadata, uid=f"what-if-{number}")
    return msgspec.structs.replace(pod, metadata=meta)


def _decoded(raw: Any) -> Pod:
    if not isinstance(raw, dict) or not isinstance(raw.get("spec"), dict):
        raise ValueError("object: not a pod")
    return decode_as(raw, Pod)
