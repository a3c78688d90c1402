"""A cache that records every change to its content, except those made by an attempt.

A replayed attempt makes its own changes again, such as the trials of preemption. So nothing is
recorded during an attempt.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import msgspec

from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.resource_claims import ResourceClaim
from moorage.cache.cache import Cache
from moorage.cache.nominator import Nominator
from moorage.cache.object_store import ObjectStore
from moorage.cache.podinfo import PodInfo
from moorage.devices.claim_tracker import ClaimTracker
from moorage.devices.device_cache import KEY as DEVICES
from moorage.devices.device_cache import DeviceCache
from moorage.devices.inventory import Inventory
from moorage.recording import entries
from moorage.recording.entries import Entry, encode
from moorage.recording.redaction import LEFT_OUT, without_secrets
from moorage.recording.retention import Rotation

CLOCK_SECONDS = 0.05
"""Between attempts, the time is recorded at most once per this many seconds."""


class ChangeLog:
    """Writes the changes of a recorded cache as entries; `muted` during an attempt."""

    def __init__(self, write: Callable[[Entry], None], now: Callable[[], float]) -> None:
        self.write = write
        self.muted = False
        self._now = now
        self._told = -CLOCK_SECONDS
        self.known: dict[str, Pod] = {}
        """The last recorded version of every pod that is not gone, by uid."""

    @contextmanager
    def silence(self) -> Iterator[None]:
        """Record nothing inside this context."""
        before, self.muted = self.muted, True
        try:
            yield
        finally:
            self.muted = before

    def pod(self, pod: Pod) -> None:
        """Record a version of a pod; later entries refer to it by the pod's uid."""
        uid, known = pod.metadata.uid, self.known
        if known.get(uid) is not pod:
            known[uid] = pod
            self.clock()
            write = self.write
            write(entries.PodSeen(without_secrets(pod) if pod.metadata.annotations else pod))

    def pod_gone(self, uid: str) -> None:
        if self.known.pop(uid, None) is not None:
            self.clock()
            self.write(entries.PodGone(uid))

    def clock(self) -> None:
        tell_time = self._now
        now = tell_time()
        if now - self._told >= CLOCK_SECONDS:
            self._told = now
            self.write(entries.Clock(now))


class RecordedObjects(ObjectStore):
    """The store of other objects, with every change recorded."""

    def __init__(self, log: ChangeLog) -> None:
        super().__init__()
        self._log = log

    def put(self, obj: KubeObject) -> None:
        super().put(obj)
        kind = type(obj).__name__
        if not self._log.muted and kind not in LEFT_OUT:
            self._log.write(entries.ObjectPut(kind, msgspec.Raw(encode(without_secrets(obj)))))

    def remove(self, obj: KubeObject) -> None:
        super().remove(obj)
        if not self._log.muted:
            self._log.write(entries.ObjectGone(type(obj).__name__, obj.key))


class RecordedNominator(Nominator):
    """The nominated pods, with every change recorded."""

    __slots__ = ("_log",)

    def __init__(self, log: ChangeLog) -> None:
        super().__init__()
        self._log = log

    def put(self, pod: PodInfo, node: str) -> None:
        with self._log.silence():
            super().put(pod, node)
        if not self._log.muted:
            self._log.pod(pod.pod)
            self._log.write(entries.Nominated(pod.uid, node))

    def remove(self, uid: str) -> None:
        if not self._log.muted and self.node_of(uid) is not None:
            self._log.write(entries.Denominated(uid))
        super().remove(uid)


class RecordedClaims(ClaimTracker):
    """The assumed ResourceClaims, as API calls returned them, with every change recorded."""

    def __init__(self, log: ChangeLog, inventory: Inventory) -> None:
        super().__init__(inventory)
        self._log = log

    def assume(self, claim: ResourceClaim, *, is_new: bool = False) -> None:
        super().assume(claim, is_new=is_new)
        if not self._log.muted:
            raw = msgspec.Raw(encode(without_secrets(claim)))
            self._log.write(entries.ClaimAssumed(raw, is_new))

    def end_allocation(self, uid: str, key: str) -> None:
        super().end_allocation(uid, key)
        if not self._log.muted:
            self._log.write(entries.ClaimSettled(uid, key))


class RestingNodes(dict[str, float]):
    """The nodes that no pod is placed on for a while, with every change recorded."""

    def __init__(self, log: ChangeLog) -> None:
        super().__init__()
        self._log = log

    def __setitem__(self, node: str, until: float) -> None:
        super().__setitem__(node, until)
        self._log.write(entries.Resting(node, until))

    def __delitem__(self, node: str) -> None:
        super().__delitem__(node)
        self._log.write(entries.Rested(node))


class RecordedCache(Cache):
    """A cache with every change recorded; `rotate` is called when a new file is due."""

    def __init__(self, log: ChangeLog, rotation: Rotation, rotate: Callable[[], None]) -> None:
        super().__init__()
        self._log = log
        self._rotation = rotation
        self._rotate = rotate
        self.objects = RecordedObjects(log)
        self.nominations = RecordedNominator(log)
        self.resting = RestingNodes(log)
        self.table.derived[DEVICES] = DeviceCache(self, partial(RecordedClaims, log))

    def info(self, pod: Pod) -> PodInfo:
        log, found = self._log, self.classes.info(pod)
        if not log.muted:
            if self._rotation.due:
                self._rotate()
            log.pod(pod)
        return found

    def put_node(self, node: Node) -> None:
        super().put_node(node)
        if not self._log.muted:
            self._log.clock()
            self._log.write(entries.NodePut(without_secrets(node)))

    def remove_node(self, node: Node) -> None:
        super().remove_node(node)
        if not self._log.muted:
            self._log.write(entries.NodeGone(node.name))

    def assume(self, pod: PodInfo, node: str) -> None:
        log, uid = self._log, pod.uid
        Cache.assume(self, pod, node)
        if not log.muted:
            if log.known.get(uid) is not pod.pod:
                log.pod(pod.pod)
            write = log.write
            write(entries.Assumed(uid, node))

    def forget(self, pod: PodInfo) -> None:
        super().forget(pod)
        if not self._log.muted:
            self._log.write(entries.Forgotten(pod.uid))

    def put_pod(self, pod: Pod) -> None:
        log = self._log
        Cache.put_pod(self, pod)
        if not log.muted:
            write = log.write
            write(entries.PodPut(pod.metadata.uid))

    def add_pod(self, pod: PodInfo, node: str) -> None:
        super().add_pod(pod, node)
        if not self._log.muted:
            self._log.pod(pod.pod)
            self._log.write(entries.PodPut(pod.uid))

    def remove_pod(self, uid: str) -> PodInfo | None:
        if not self._log.muted:
            self._log.pod_gone(uid)
        return super().remove_pod(uid)

    def place_on(self, row: int, pod: PodInfo) -> None:
        super().place_on(row, pod)
        if not self._log.muted:
            self._log.pod(pod.pod)
            self._log.write(entries.Imagined(pod.uid, self.table.node(row).name))

    def displace(self, pod: PodInfo) -> None:
        super().displace(pod)
        if not self._log.muted:
            self._log.write(entries.Removed(pod.uid))

    @contextmanager
    def trial(self) -> Iterator[None]:
        trial = super().trial()
        if not self._log.muted:
            self._log.write(entries.TrialBegun())
        trial.__enter__()
        try:
            yield
        finally:
            with self._log.silence():
                trial.__exit__(None, None, None)
            if not self._log.muted:
                self._log.write(entries.TrialEnded())
