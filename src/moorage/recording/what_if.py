"""A what-if from a moment of the past: other configurations decide from there on.

Each configuration has a world of its own, an in-memory cluster that begins in the recorded state.
It receives the recorded changes of nodes, pods and other objects, and decides by itself where pods
go. The recorded configuration has such a world, too, so that the comparison is fair.
"""

import asyncio
from collections.abc import Iterator, Mapping

import msgspec

from moorage import __version__
from moorage.api.kinds import KINDS
from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod, PodSpec
from moorage.clock import VirtualClock, run_virtual
from moorage.cycle.profile import Profile
from moorage.kpi.meter import Meter
from moorage.kpi.settings import KpiSettings
from moorage.recording import entries
from moorage.recording.entries import AnyEntry, Attempt, Began, Clock
from moorage.recording.replay import Replay
from moorage.shadow.drifting_world import DriftingWorld
from moorage.shadow.pod_facts import MeterBook
from moorage.shadow.summary import run_of
from moorage.simulate.comparison import Comparison, compare
from moorage.watch.api_resources import RESOURCES, Resource
from moorage.watch.reflector import Change

SYNC_SECONDS = 0.01


class Heard:
    """The objects of a recording, whose changes are passed to all worlds."""

    def __init__(self, worlds: list[DriftingWorld]) -> None:
        self._worlds = worlds
        self._known: dict[tuple[str, str], KubeObject] = {}

    def put(self, obj: KubeObject, key: str = "") -> None:
        at = (type(obj).__name__, key or obj.key)
        old = self._known.get(at)
        self._known[at] = obj
        self._tell(Change("added" if old is None else "updated", old, obj), at[0])

    def remove(self, kind: str, key: str) -> None:
        gone = self._known.pop((kind, key), None)
        if gone is not None:
            self._tell(Change("deleted", gone), kind)

    def take(self, entry: AnyEntry) -> None:
        """Apply an entry about objects; recorded decisions are ignored."""
        match entry:
            case entries.PodSeen(pod):
                self.put(pod, pod.uid)
            case entries.PodGone(uid):
                self.remove(Pod.__name__, uid)
            case entries.NodePut(node):
                self.put(node)
            case entries.NodeGone(name):
                self.remove(Node.__name__, name)
            case entries.ObjectPut(kind, raw):
                self.put(msgspec.msgpack.decode(raw, type=KINDS[kind].struct))
            case entries.ObjectGone(kind, key):
                self.remove(kind, key)

    def _tell(self, change: Change, kind: str) -> None:
        resource: Resource = RESOURCES[KINDS[kind].plural]
        for world in self._worlds:
            world.after(change, resource)


def what_if(
    replay: Replay, rest: Iterator[AnyEntry], profiles: Mapping[str, Mapping[str, Profile]]
) -> Comparison:
    """The KPIs by configuration, from the position of a replay to the end of its recording."""
    began = replay.now
    clock = VirtualClock(began)
    worlds = {
        name: DriftingWorld(clock, made, MeterBook(Meter(KpiSettings(), began)))
        for name, made in profiles.items()
    }
    heard = Heard(list(worlds.values()))

    async def main() -> None:
        running = [asyncio.ensure_future(each.scheduler.run()) for each in worlds.values()]
        _begin(replay, heard)
        await clock.sleep(SYNC_SECONDS)
        for world in worlds.values():
            world.begin()
        await _pass(rest, heard, clock)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    run_virtual(main(), clock)
    runs = {
        name: [run_of(each.book.meter, began, clock.now(), each.errors)]
        for name, each in worlds.items()
    }
    return compare("replay", __version__, runs)


def _begin(replay: Replay, heard: Heard) -> None:
    cache = replay.cache
    for row in cache.table.row_of.values():
        heard.put(cache.table.node(row))
    for kind in cache.objects.kinds():
        for obj in cache.objects.all(kind):
            heard.put(obj)
    for uid, info in replay.pods.items():
        node = cache.node_of(uid)
        spec = info.pod.spec if node is None else _placed(info.pod, node)
        heard.put(msgspec.structs.replace(info.pod, spec=spec), uid)


def _placed(pod: Pod, node: str) -> PodSpec:
    return msgspec.structs.replace(pod.spec, node_name=node)


async def _pass(rest: Iterator[AnyEntry], heard: Heard, clock: VirtualClock) -> None:
    for entry in rest:
        if isinstance(entry, Began):
            break
        if isinstance(entry, Attempt | Clock):
            await clock.sleep(max(0.0, entry.now - clock.now()))
        heard.take(entry)
    await clock.sleep(SYNC_SECONDS)
