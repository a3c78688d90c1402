"""NodeLock: one pod at a time starts on a node whose device plugin must find out which pod it is.

A kubelet asks its device plugin for a number of devices and does not say for which pod. HAMi's
plugin takes the pod that the node's annotation `hami.io/mutex.lock` names (`time,namespace,name`),
and removes the annotation when it is done. Volcano's plugin takes the pod that has been
`allocating` for longest. Both then write `bind-phase: success`. So no pod is bound while another
pod is about to start on the node. A running pod has its devices already. A lock or phase older than
five minutes is ignored, because nobody reacted to it; and one that is to come, because nobody wrote
it yet. Pods that request no GPU start none.
"""

from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from moorage.api.annotations import read_int
from moorage.api.pod import Pod
from moorage.cache.table import NodeTable
from moorage.framework.cycle import Client
from moorage.policies.gpu.devices.node_devices import Reader
from moorage.policies.gpu.devices.pod_dialects import request_of_bound

LOCK: Final = "hami.io/mutex.lock"
EXPIRES: Final = 300.0
"""Seconds after which a lock or phase is ignored, as in HAMi."""
UNSEEN: Final = 10.0
"""Seconds for which a lock counts whose pod is not seen on the node."""

_LAST_SECOND: Final = 1 << 40
_NOT_STARTED: Final = ("", "Pending")
_PREFIXES: Final = {Reader.HAMI: "hami.io/", Reader.VOLCANO: "volcano.sh/"}


class _Start(NamedTuple):
    uid: str
    since: float


class NodeLock:
    """The pod about to start on each node; `now` is in seconds since the epoch."""

    def __init__(self) -> None:
        self._starts: dict[str, _Start] = {}

    def take(self, table: NodeTable, reader: Reader, node: str, pod: Pod, now: float) -> bool:
        """Whether the pod may start now. If so, other pods wait for it."""
        if reader not in _PREFIXES:
            return True
        row = table.row_of.get(node)
        if row is None or self._is_busy(table, reader, row, pod, now):
            return False
        self._starts[node] = _Start(pod.uid, now)
        return True

    def _is_busy(self, table: NodeTable, reader: Reader, row: int, pod: Pod, now: float) -> bool:
        there = table.node(row)
        others = [
            info.pod
            for uid, info in table.pods[row].items()
            if uid != pod.uid
            and info.pod.status.phase in _NOT_STARTED
            and request_of_bound(info).gpus
        ]
        if any(self._is_starting(reader, there.name, other, now) for other in others):
            return True
        lock = there.annotations.get(LOCK, "") if reader is Reader.HAMI else ""
        names = {f"{other.namespace},{other.name}" for other in others}
        return is_locked(lock, pod, now, names)

    def _is_starting(self, reader: Reader, node: str, other: Pod, now: float) -> bool:
        prefix, said = _PREFIXES[reader], other.annotations
        phase, begun = said.get(prefix + "bind-phase", ""), said.get(prefix + "bind-time", "")
        if phase == "allocating" and other.spec.node_name:
            seconds = read_int(begun, most=_LAST_SECOND)
            return seconds is not None and abs(now - seconds) < EXPIRES
        start = self._starts.get(node)
        is_ours = start is not None and start.uid == other.uid and now - start.since < EXPIRES
        return is_ours and not (phase and other.spec.node_name)


def is_locked(lock: str, pod: Pod, now: float, there: set[str]) -> bool:
    """Whether a lock is another pod's: one that is `there`, or may still appear."""
    when, _, name = lock.partition(",")
    if not lock or name == f"{pod.namespace},{pod.name}":
        return False
    try:
        age = now - datetime.fromisoformat(when).timestamp()
    except (ValueError, OverflowError):
        return False
    return abs(age) < (EXPIRES if not name or name in there else UNSEEN)


async def write_lock(client: Client, node: str, pod: Pod, now: float) -> bool:
    """Write HAMi's lock of a node for a pod; False if another pod has it."""
    found = await client.get("nodes", "", node)
    metadata: dict[str, Any] = found["metadata"]
    lock = (metadata.get("annotations") or {}).get(LOCK, "")
    if is_locked(lock, pod, now, set()):
        return False
    when = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = {LOCK: f"{when},{pod.namespace},{pod.name}"}
    version = metadata["resourceVersion"]
    await client.patch(
        "nodes", "", node, {"metadata": {"resourceVersion": version, "annotations": said}}
    )
    return True
