"""The state at a moment, as entries: the beginning of another recording.

Rows, the order in which nodes were added and the order in which they are searched are restored, so
that draws among equals select the same ones. For this, placeholders take the rows first; they
are freed in such an order that each node gets its own row.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from moorage.api.meta import ObjectMeta
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.cycle.profile import Profile
from moorage.devices.device_cache import KEY, device_cache
from moorage.recording import entries
from moorage.recording.entries import AnyEntry, Configured, encode
from moorage.recording.redaction import LEFT_OUT, without_secrets


class Believed(Protocol):
    """The state that a checkpoint is taken of."""

    @property
    def cache(self) -> Cache: ...
    @property
    def now(self) -> float: ...
    @property
    def configured(self) -> Configured | None: ...
    @property
    def profiles(self) -> Mapping[str, Profile]: ...
    @property
    def noted(self) -> Mapping[tuple[str, str], Any]:
        """State of features, by its name and profile."""
        ...

    def seen(self) -> Iterator[Pod]:
        """Every known pod, whether it has a node or is pending."""
        ...

    def reserved_by(self, info: PodInfo) -> tuple[Profile, float] | None:
        """The profile whose Reserve plugins reserved an assumed pod, and when."""
        ...


def checkpoint(believed: Believed) -> Iterator[AnyEntry]:
    """Everything that later decisions depend on; must not be called inside a trial."""
    yield entries.Began(believed.now)
    if believed.configured is not None:
        yield believed.configured
    yield entries.Clock(believed.now)
    yield from _nodes(believed.cache)
    yield _arranged(believed)
    yield from _objects(believed.cache)
    yield from _pods(believed)
    yield from _nominations(believed.cache)
    for node, until in believed.cache.resting.items():
        yield entries.Resting(node, until)
    for (what, profile), value in believed.noted.items():
        yield entries.Noted(what, profile, value)


def _nodes(cache: Cache) -> Iterator[AnyEntry]:
    table = cache.table
    for row in range(table.rows):
        yield entries.NodePut(Node(metadata=ObjectMeta(name=_placeholder(row))))
    wanted = list(table.row_of.values())
    for row in (*table.free_rows, *reversed(wanted)):
        yield entries.NodeGone(_placeholder(row))
    for row in wanted:
        yield entries.NodePut(without_secrets(table.node(row)))


def _placeholder(row: int) -> str:
    return f"row-{row}"


def _arranged(believed: Believed) -> AnyEntry:
    table, order = believed.cache.table, believed.cache.node_order()
    profiles = believed.profiles.values()
    starts = ((profile_key(each), each.progress.next_start) for each in profiles)
    return entries.Arranged(tuple(table.node(row).name for row in order), tuple(starts))


def _objects(cache: Cache) -> Iterator[AnyEntry]:
    for kind in cache.objects.kinds():
        if kind.__name__ not in LEFT_OUT:
            for found in cache.objects.all(kind):
                raw = msgspec.Raw(encode(without_secrets(found)))
                yield entries.ObjectPut(kind.__name__, raw)
    if KEY in cache.table.derived:
        for claim in device_cache(cache).claims.assumed():
            yield entries.ClaimAssumed(msgspec.Raw(encode(without_secrets(claim))), is_new=True)


def _pods(believed: Believed) -> Iterator[AnyEntry]:
    cache = believed.cache
    for node, info in cache.pods():
        yield entries.PodSeen(without_secrets(info.pod))
        by = believed.reserved_by(info)
        if info.uid not in cache.assumed:
            yield entries.PodPut(info.uid)
        elif by is not None and by[0].plan(info).reserve:
            yield entries.Reserved(info.uid, node, profile_key(by[0]), by[1])
        else:
            yield entries.Assumed(info.uid, node)
    for pod in believed.seen():
        counted = cache.pod(pod.metadata.uid)
        if counted is None or counted.pod is not pod:
            yield entries.PodSeen(without_secrets(pod))


def _nominations(cache: Cache) -> Iterator[AnyEntry]:
    nominations = cache.nominations
    for node in nominations.nodes():
        for info in nominations.on(node):
            yield entries.PodSeen(without_secrets(info.pod))
            yield entries.Nominated(info.uid, node)


def profile_key(profile: Profile) -> str:
    """The name of a profile, with its version if it has one."""
    name = profile.resolved.scheduler_name
    return f"{name}@{profile.version}" if profile.version else name
