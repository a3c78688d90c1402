"""Victims beside hostile objects: placed as without them, by as much work, and everybody answered.

One scheduler lives through a batch. A step adds a few hostile objects, then the victims, asks for
every view, and takes all away. Where something is found, each object of the step is tried alone.
"""

import asyncio
import contextlib
import functools
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Final
from unittest import mock

import msgspec
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from moorage.api.decode import DecodeError, decode_object
from moorage.api.kinds import KINDS
from moorage.api.lenient_json import decode_any_depth
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.dashboard_sources import scheduler_sources
from moorage.app.profile_builder import build_profiles
from moorage.cache.consistency import validate_cache
from moorage.cli import snapshot_cmd
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.config.types import SchedulerConfiguration
from moorage.dashboard.dashboard import API, Dashboard
from moorage.explain.live_answers import WHOLE_CLUSTER, LiveAnswers
from moorage.memory.patches import json_merge_patch
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.prometheus_metrics import Metrics
from moorage.recording.manifests import anonymous_manifests
from moorage.scheduler.attempt import Attempts, Cycles
from moorage.scheduler.scheduler import Scheduler
from moorage.watch.api_errors import NotFound
from moorage.watch.api_resources import PODS, RESOURCES, Resource
from moorage.watch.api_server import PatchType
from tests.fuzz import victims
from tests.fuzz.byte_server import ByteServer
from tests.fuzz.cluster_batch import LEFT_OUT, START, Watcher, refusal_of
from tests.fuzz.findings import Findings, first
from tests.fuzz.hostile_objects import EVIL_NODE, Hostile, drawn
from tests.fuzz.time_limit import Hang, restart, time_limit

Raw = dict[str, Any]

TOGETHER: Final = 8
"""How many hostile objects a step has."""
SETTLE_SECONDS: Final = 0.05
STEP_SECONDS: Final = 0.5
VICTIMS_CALLS: Final = 20_000
"""The calls that an attempt at a victim may take; without hostile objects some take 4,500."""
CALLS: Final = 2_000_000
"""The calls that an attempt at a hostile pod may take."""
BY_KIND: Final = {resource.kind: resource for resource in RESOURCES.values()}


@functools.cache
def configuration() -> SchedulerConfiguration:
    known = built_in_plugins.built_in()
    return load(victims.CONFIG, known=built_in_plugins.describe_plugins(known)).configuration


class ObjectServer(ByteServer):
    """Serves bytes, and keeps the objects in them: what is written comes back in a watch."""

    def __init__(self) -> None:
        super().__init__()
        self._objects: dict[tuple[str, str], Raw] = {}
        self._written = 0

    def put(self, raw: Raw) -> None:
        """Store an object, as a new version."""
        resource = BY_KIND[raw["kind"]]
        key = self._key(resource, raw)
        if raw == self._objects.get((resource.plural, key)):
            return  # a write that changes nothing is no event
        self._written += 1
        version = {"uid": f"{resource.plural}/{key}", "resourceVersion": str(self._written)}
        raw = {**raw, "metadata": {**raw["metadata"], **version}}
        self._objects[resource.plural, key] = raw
        self.send(resource, msgspec.json.encode({"type": "MODIFIED", "object": raw}))

    def remove(self, raw: Raw) -> None:
        """Delete an object, if it is there."""
        resource = BY_KIND[raw["kind"]]
        last = self._objects.pop((resource.plural, self._key(resource, raw)), None)
        if last is not None:
            self._written += 1
            meta = {**last["metadata"], "resourceVersion": str(self._written)}
            gone = {"type": "DELETED", "object": {**last, "metadata": meta}}
            self.send(resource, msgspec.json.encode(gone))

    def objects(self) -> list[Raw]:
        """Every object that is stored."""
        return list(self._objects.values())

    def node_of(self, raw: Raw) -> str:
        """Where a pod is bound to."""
        found = self._objects.get((PODS.plural, self._key(PODS, raw)), raw)
        return str(found["spec"].get("nodeName") or "")

    async def get(self, resource: Resource, namespace: str, name: str) -> Raw:
        try:
            return self._objects[resource.plural, resource.key(namespace, name)]
        except KeyError:
            raise NotFound(f"{resource.qualified} {name!r} not found") from None

    async def update(self, resource: Resource, object: Raw, *, subresource: str = "") -> Raw:
        self.put({"kind": resource.kind, **object})
        return object

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Raw,
        *,
        subresource: str = "",
        patch_type: PatchType = "merge",
    ) -> Raw:
        if resource.kind not in KINDS:
            return patch
        self.put(json_merge_patch(await self.get(resource, namespace, name), patch))
        return await self.get(resource, namespace, name)

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        raw = await self.get(PODS, namespace, name)
        told = {**(raw["metadata"].get("annotations") or {}), **(annotations or {})}
        meta = {**raw["metadata"], "annotations": told}
        self.put({**raw, "metadata": meta, "spec": {**raw["spec"], "nodeName": node}})

    async def delete(self, resource: Resource, namespace: str, name: str, **more: Any) -> None:
        self.remove(await self.get(resource, namespace, name))

    async def evict(self, namespace: str, name: str, **more: Any) -> None:
        self.remove(await self.get(PODS, namespace, name))

    def _key(self, resource: Resource, raw: Raw) -> str:
        meta = raw["metadata"]
        return resource.key(str(meta.get("namespace", "")), str(meta.get("name", "")))


class Work:
    """The calls of Python and of C that each attempt takes: the most, by whose it was."""

    def __init__(self) -> None:
        self.most: Counter[bool] = Counter()
        self._calls = 0
        self._harmless = False

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count, in every attempt."""
        attempt, begin = Attempts.schedule_one, Cycles.begin

        def schedule_one(attempts: Attempts) -> bool:
            self._calls, self._harmless = 0, False
            before = sys.getprofile()
            sys.setprofile(self._count)
            try:
                return attempt(attempts)
            finally:
                sys.setprofile(before)
                self.most[self._harmless] = max(self.most[self._harmless], self._calls)

        def begun(cycles: Cycles, queued: Any, profile: Any) -> Any:
            self._harmless |= queued.info.pod.namespace != "evil"
            return begin(cycles, queued, profile)

        with (
            mock.patch.object(Attempts, "schedule_one", schedule_one),
            mock.patch.object(Cycles, "begin", begun),
        ):
            yield

    def _count(self, frame: FrameType, event: str, arg: Any) -> None:
        self._calls += event in ("call", "c_call")


class Cluster:
    """A scheduler, its server, and whoever asks it."""

    def __init__(self, findings: Findings, batch: int) -> None:
        self.findings = findings
        self.batch = batch
        self.clock = VirtualClock(START)
        self.server = ObjectServer()
        self.work = Work()
        self.metrics, self.records = Metrics(sampled=1.0), DecisionRecords()
        self.watcher = Watcher(findings, batch)

    async def run(self, steps: Sequence[Sequence[Hostile]], first: int) -> list[dict[str, str]]:
        """The placements of the victims in every step."""
        scheduler = assemble(
            self.server,
            build_profiles(configuration(), built_in_plugins.built_in()),
            clock=self.clock,
            rng=random.Random(1),
            observers=[self.watcher, self.metrics, self.records],
            followed=[r for r in RESOURCES.values() if r.plural not in ("events", "leases")],
        )
        self.metrics.follow(scheduler)
        task = asyncio.ensure_future(scheduler.run())
        try:
            await self.clock.sleep(SETTLE_SECONDS)
            for raw in victims.cluster():
                self.server.put(raw)
            await self.clock.sleep(SETTLE_SECONDS)
            found = []
            for number, step in enumerate(steps, first):
                found.append(await self._step(scheduler, task, number, step))
            restart()
            await self.clock.sleep(30.0)
            validate_cache(scheduler.cache)
            scheduler.queue.validate()
            return found
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _step(
        self,
        scheduler: Scheduler,
        task: asyncio.Future[None],
        number: int,
        step: Sequence[Hostile],
    ) -> dict[str, str]:
        restart()
        theirs = victims.victims(number)
        evil = [raw for each in step for raw in each.raws]
        self.findings.inputs += len(step)
        for raw in evil:
            self.server.put(raw)
        await self.clock.sleep(SETTLE_SECONDS)
        for raw in theirs:
            self.server.put(raw)
        await self.clock.sleep(STEP_SECONDS)
        if task.done():
            task.result()
        pods = [raw for raw in theirs if raw["kind"] == "Pod"]
        placed = {raw["metadata"]["name"]: self.server.node_of(raw) for raw in pods}
        if step:
            await self._ask(scheduler, evil, pods[0])
        for raw in (*theirs, *evil):
            self.server.remove(raw)
        await self.clock.sleep(SETTLE_SECONDS)
        return placed

    async def _ask(self, scheduler: Scheduler, evil: Sequence[Raw], victim: Raw) -> None:
        """Every view of everybody."""
        explains = LiveAnswers(scheduler)
        sources = scheduler_sources(
            scheduler,
            self.records,
            "run",
            explain=lambda key: explains.explain({"pod": key}, WHOLE_CLUSTER),
        )
        dashboard = Dashboard(sources)
        views = {route.path: route.handler for route in dashboard.routes()}
        meta = victim["metadata"]
        for path in ("about", "cluster", "queue", "decisions", "compare", "health"):
            await self._view(path, views[f"{API}/{path}"])
        await self._view("node", views[f"{API}/node/{{name}}"], {"name": EVIL_NODE})
        whose = {"namespace": meta["namespace"], "name": meta["name"]}
        await self._view("pod", views[f"{API}/pod/{{namespace}}/{{name}}"], whose)
        with self._judged("metrics"):
            self.metrics.render("")
        with self._judged("explain"):
            await explains.explain({"object": victim}, WHOLE_CLUSTER)
        for raw in (raw for raw in evil if raw["kind"] == "Pod"):
            with self._judged("explain", refuses=True), contextlib.suppress(DecodeError):
                await explains.explain({"object": raw}, WHOLE_CLUSTER)
        dashboard.close()

    async def _view(self, name: str, handler: Any, match: dict[str, str] | None = None) -> None:
        request = make_mocked_request("GET", f"/dashboard/api/{name}", match_info=match or {})
        with self._judged(f"dashboard {name}"):
            answer: web.StreamResponse = await handler(request)
            if answer.status != 200:
                raise AssertionError(f"{name}: {answer.status} {getattr(answer, 'text', '')}")

    @contextlib.contextmanager
    def _judged(self, what: str, refuses: bool = False) -> Iterator[None]:
        """Any error is found; if it `refuses`, any but one that names what is wrong."""
        try:
            yield
        except Exception as error:
            if refuses and refusal_of(error) is not None:
                return
            self.findings.add(f"no {what}", error, self.batch)


def run(seed: int, batch: int, count: int) -> Findings:
    """So many hostile objects of a batch, and what is found of each alone."""
    rng = random.Random(f"{seed}/{batch}/hostile")
    objects = [drawn(rng, number) for number in range(count)]
    return judged(objects, batch)


def judged(objects: Sequence[Hostile], batch: int = 0) -> Findings:
    """Objects a few at a time; what is found is told of the single object that shows it."""
    steps = [objects[at : at + TOGETHER] for at in range(0, len(objects), TOGETHER)]
    together = together_in(steps, batch)
    if not together.found:
        return together
    alone = Findings(together.inputs, together.attempts, together.bound, together.refused)
    for number, step in enumerate(steps):
        if not together_in([step], batch, number).found:
            continue
        for each in step:
            single = together_in([[each]], batch, number)
            for key, finding in single.found.items():
                told = f"{'; '.join(each.changes)}: {finding.detail}"
                known = msgspec.structs.replace(finding, detail=told[:600])
                alone.found.setdefault(key, known)
                alone.times[key] += 1
    if not alone.found:  # it takes several of them
        alone.found, alone.times = together.found, together.times
    return alone


def together_in(
    steps: Sequence[Sequence[Hostile]], batch: int = 0, first_step: int = 0
) -> Findings:
    """All steps in one cluster."""
    findings, usual = Findings(), expected(len(steps), first_step)
    cluster = Cluster(findings, batch)
    LEFT_OUT.addHandler(cluster.watcher)
    try:
        with time_limit(), cluster.watcher.hearing_attempts(), cluster.work.counted():
            placed = run_virtual(cluster.run(steps, first_step), cluster.clock)
        _compare(findings, steps, placed, usual, batch)
        _weigh(findings, cluster.work, batch)
        with time_limit():
            _beside(findings, [each for step in steps for each in step], batch)
    except Hang as hang:
        findings.add("hang", hang, batch)
    except BaseException as error:
        findings.add("loop ended", first(error), batch)
    finally:
        LEFT_OUT.removeHandler(cluster.watcher)
    return findings


@functools.cache
def expected(steps: int, first_step: int) -> list[dict[str, str]]:
    """Where the victims go where nobody means harm."""
    cluster = Cluster(Findings(), 0)
    with time_limit():
        placed = run_virtual(cluster.run([()] * steps, first_step), cluster.clock)
    if not all(all(nodes.values()) for nodes in placed):
        raise AssertionError(f"a victim is not placed, and nobody means harm: {placed}")
    return placed


def _compare(
    findings: Findings,
    steps: Sequence[Sequence[Hostile]],
    placed: list[dict[str, str]],
    usual: list[dict[str, str]],
    batch: int,
) -> None:
    for step, now, before in zip(steps, placed, usual, strict=True):
        may_move = any(each.takes_room for each in step)
        for pod, node in before.items():
            if now[pod] != node and not (may_move and now[pod]):
                role = pod.partition("-")[0]
                what = f"the {role} pod is on {now[pod] or 'no node'}, not on {node}"
                findings.add(f"{role} moved", what, batch)


def _weigh(findings: Findings, work: Work, batch: int) -> None:
    for harmless, most in ((True, VICTIMS_CALLS), (False, CALLS)):
        if work.most[harmless] > most:
            whose = "a victim" if harmless else "its author"
            said = f"an attempt at a pod of {whose} takes {work.most[harmless]} calls"
            findings.add(f"work for {whose}", said, batch)


def _beside(findings: Findings, objects: Sequence[Hostile], batch: int) -> None:
    """A snapshot and an anonymous one of the cluster with all objects; neither is simulated."""
    raws = [
        *victims.cluster(),
        *victims.victims(0),
        *(_as_read(raw) for each in objects for raw in each.raws),
    ]
    asked: dict[str, Callable[[], object]] = {
        "snapshot": lambda: [snapshot_cmd._document(raw) for raw in raws],
        "anonymous snapshot": lambda: list(anonymous_manifests(_readable(raws))),
    }
    for name, ask in asked.items():
        try:
            ask()
        except Exception as error:
            findings.add(f"no {name}", error, batch)


def _as_read(raw: Raw) -> Raw:
    """An object as it is read from an API server."""
    found: Raw = decode_any_depth(msgspec.json.decode, msgspec.json.encode(raw))
    return found


def _readable(raws: list[Raw]) -> Iterator[Raw]:
    for raw in raws:
        with contextlib.suppress(DecodeError):
            decode_object(raw)
            yield raw
