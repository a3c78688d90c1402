"""What is believed at a moment, as entries: the beginning of another recording.

Rows, the order in which nodes came and the order in which they are walked are as they were, so that
draws among equals mean the same nodes: rows are taken by placeholders first, and freed so that each
node gets its own.
"""

from collections.abc import Iterator

import msgspec

from moorage.api.meta import ObjectMeta
from moorage.api.node import Node
from moorage.cache.cache import Cache
from moorage.devices.device_cache import KEY, device_cache
from moorage.recording import entries
from moorage.recording.entries import Entry, encode
from moorage.recording.recorder import profile_key
from moorage.recording.replay import Replay


def checkpoint(replay: Replay) -> Iterator[Entry]:
    """Everything that decisions from now on depend on; not to be asked for inside a trial."""
    assert replay.configured is not None
    yield entries.Began(replay.now)
    yield replay.configured
    yield entries.Clock(replay.now)
    yield from _nodes(replay.cache)
    yield _arranged(replay)
    yield from _objects(replay.cache)
    yield from _pods(replay)
    yield from _nominations(replay)
    for node, until in replay.cache.resting.items():
        yield entries.Resting(node, until)
    for (what, profile), value in replay.noted.items():
        yield entries.Noted(what, profile, value)


def _nodes(cache: Cache) -> Iterator[Entry]:
    table = cache.table
    for row in range(table.rows):
        yield entries.NodePut(Node(metadata=ObjectMeta(name=_placeholder(row))))
    wanted = list(table.row_of.values())
    for row in (*table.free_rows, *reversed(wanted)):
        yield entries.NodeGone(_placeholder(row))
    for row in wanted:
        yield entries.NodePut(table.node(row))


def _placeholder(row: int) -> str:
    return f"row-{row}"


def _arranged(replay: Replay) -> Entry:
    table, order = replay.cache.table, replay.cache.node_order()
    starts = ((profile_key(each), each.next_start) for each in replay.profiles.values())
    return entries.Arranged(tuple(table.node(row).name for row in order), tuple(starts))


def _objects(cache: Cache) -> Iterator[Entry]:
    for kind in cache.objects.kinds():
        for found in cache.objects.all(kind):
            yield entries.ObjectPut(kind.__name__, msgspec.Raw(encode(found)))
    if KEY in cache.table.derived:
        for claim in device_cache(cache).claims.assumed():
            yield entries.ClaimAssumed(msgspec.Raw(encode(claim)), is_new=True)


def _pods(replay: Replay) -> Iterator[Entry]:
    cache = replay.cache
    for node, info in cache.pods():
        yield entries.PodSeen(info.pod)
        held = replay.held.get(info.uid)
        if info.uid not in cache.assumed:
            yield entries.PodPut(info.uid)
        elif held is not None and held.profile.plan(info).reserve:
            key = profile_key(held.profile)
            yield entries.Reserved(info.uid, node, key, held.cycle.now)
        else:
            yield entries.Assumed(info.uid, node)
    for uid, info in replay.pods.items():
        if cache.pod(uid) is None:
            yield entries.PodSeen(info.pod)


def _nominations(replay: Replay) -> Iterator[Entry]:
    nominations = replay.cache.nominations
    for node in nominations.nodes():
        for info in nominations.on(node):
            yield entries.PodSeen(info.pod)
            yield entries.Nominated(info.uid, node)
