"""What happens besides attempts in some workloads: volumes, gated pods, storms of changes.

`volumes`  every pod has a claim that is bound to its own volume, and nodes limit volumes (the same
           holds for `volumepreemption`)
`gated`    twice as many pods wait behind a gate, and a pod ends after every attempt
`storm`    as many pods fit nowhere, and ten nodes are updated after every attempt
`leaving`  as many pods wait, each with its own labels, and a pod ends after every attempt
`seeking`  as many pods wait, each for a pod with a certain label, and each placed pod is an event
"""

from typing import Any, Final

import msgspec

from moorage.api.decode import decode_as
from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim
from moorage.bench import workload_kinds
from moorage.cache.cache import Cache
from moorage.queue import change_events
from moorage.queue.scheduling_queue import SchedulingQueue

DRIVER: Final = "csi.example.com"
UPDATES: Final = 10
"""How many nodes are updated after every attempt of a storm."""


def furnish(kind: str, cache: Cache, nodes: int, pods: int) -> None:
    """Put the objects that a workload's pods refer to in the cache."""
    if kind not in workload_kinds.VOLUME_KINDS:
        return
    for index in range(nodes):
        name = f"node-{index}"
        driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": 64}}
        cache.objects.put(_made(CSINode, name, spec={"drivers": [driver]}))
    for index in range(pods):
        for obj in _volume(f"vol-{index}"):
            cache.objects.put(obj)


def _volume(name: str) -> tuple[KubeObject, KubeObject]:
    namespace = workload_kinds.NAMESPACE
    claim = _made(
        PersistentVolumeClaim,
        name,
        namespace,
        spec={"volumeName": name, "accessModes": ["ReadOnlyMany"]},
        status={"phase": "Bound"},
    )
    source = {"driver": DRIVER, "volumeHandle": name}
    reference = {"namespace": namespace, "name": name}
    return claim, _made(PersistentVolume, name, spec={"csi": source, "claimRef": reference})


def _made(kind: type[Any], name: str, namespace: str = "", **fields: Any) -> Any:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if namespace else {}
    metadata = {"name": name, "namespace": namespace, "uid": name, "annotations": annotations}
    return decode_as({"metadata": metadata, **fields}, kind)


def crowd(kind: str, cache: Cache, queue: SchedulingQueue, pods: int) -> None:
    """Fill the queue with pods that are not attempted."""
    if kind == "gated":
        for index in range(2 * pods):
            waiting = workload_kinds.bystander(index, {"schedulingGates": [{"name": "wait"}]})
            queue.add(cache.info(waiting), 0.0)
    elif kind == "storm":
        for index in range(pods):
            too_large = workload_kinds.bystander(index, {"priority": 1}, "64")
            _refuse(queue, cache, too_large, "NodeResourcesFit")
    elif kind == "leaving":
        for index in range(pods):
            _refuse(queue, cache, workload_kinds.ordinal_bystander(index), "PodTopologySpread")
    elif kind == "seeking":
        for index in range(pods):
            _refuse(queue, cache, workload_kinds.seeking_bystander(index), "InterPodAffinity")


def _refuse(queue: SchedulingQueue, cache: Cache, pod: Pod, plugin: str) -> None:
    queue.add(cache.info(pod), 0.0)
    queued = queue.pop(0.0)
    assert queued is not None
    queue.put_back(queued, {plugin}, (), False, 0.0)


def disturb(kind: str, cache: Cache, queue: SchedulingQueue, decided: Pod, turn: int) -> None:
    """Apply the events between one attempt and the next."""
    if kind in ("gated", "leaving"):
        node = cache.node_of(decided.uid)
        if node is not None:
            cache.remove_pod(decided.uid)
            _tell(queue, _placed(decided, node), None)
    elif kind == "seeking":
        node = cache.node_of(decided.uid)
        if node is not None:
            _tell(queue, None, _placed(decided, node))
    elif kind == "storm":
        table = cache.table
        for index in range(turn * UPDATES, (turn + 1) * UPDATES):
            old = table.node(table.row_of[f"node-{index % len(table)}"])
            new = _relabelled(old, turn)
            cache.put_node(new)
            _tell(queue, old, new)


def _placed(pod: Pod, node: str) -> Pod:
    """The bound pod, as an API server sends it."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def _relabelled(node: Node, turn: int) -> Node:
    metadata = msgspec.structs.replace(node.metadata, labels={**node.labels, "seen": str(turn)})
    return msgspec.structs.replace(node, metadata=metadata)


def _tell(queue: SchedulingQueue, old: KubeObject | None, new: KubeObject | None) -> None:
    for event in change_events.events_of_change(old, new):
        queue.move(event, old, new, 0.0)
