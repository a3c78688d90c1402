"""The cache debugger: dumps cache and queue, compares them with what the API server holds."""

from collections.abc import Container, Iterator

from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.watch.api_resources import NODES, PODS, Resource
from moorage.watch.api_server import ApiServer

_PAGE = 500


async def compare(
    cache: Cache,
    server: ApiServer,
    queue: SchedulingQueue | None = None,
    schedulers: Container[str] = (),
) -> list[str]:
    """One sentence for each difference; empty if the cache, and the queue, are right.

    The API server is read first, so a change that comes meanwhile may be reported as a difference.
    A difference that a second call still reports is real. Assumed pods are ahead of the API server
    on purpose, and are not reported.
    """
    nodes = {node.name: node for node in await _all(server, NODES) if isinstance(node, Node)}
    listed = [pod for pod in await _all(server, PODS) if isinstance(pod, Pod)]
    pods = {pod.uid: pod for pod in listed if not pod.is_terminal}
    found = _nodes(cache, nodes) + _pods(cache, pods)
    if queue is not None:
        found += _waiting(cache, queue, pods, schedulers)
    return sorted(found)


async def _all(server: ApiServer, resource: Resource) -> list[KubeObject]:
    items: list[KubeObject] = []
    token = ""
    while True:
        page = await server.list_page(resource, limit=_PAGE, continue_token=token)
        items += page.items
        token = page.continue_token
        if not token:
            return items


def _nodes(cache: Cache, held: dict[str, Node]) -> list[str]:
    known = cache.table.row_of
    return (
        [f"node {name} is not in the cache" for name in held.keys() - known.keys()]
        + [f"node {name} is in the cache only" for name in known.keys() - held.keys()]
        + [
            f"node {name} is otherwise in the cache: {', '.join(parts)}"
            for name in held.keys() & known.keys()
            if (parts := _otherwise(cache.table.node(known[name]), held[name]))
        ]
    )


def _otherwise(known: Node, held: Node) -> list[str]:
    """The parts in which two versions of a node differ, of those that decisions depend on."""
    pairs = {
        "labels": (known.labels, held.labels),
        "taints": (known.taints, held.taints),
        "unschedulable": (known.spec.unschedulable, held.spec.unschedulable),
        "allocatable": (known.status.allocatable, held.status.allocatable),
    }
    return [part for part, (ours, theirs) in pairs.items() if ours != theirs]


def _pods(cache: Cache, held: dict[str, Pod]) -> list[str]:
    found = []
    for uid, pod in held.items():
        node = pod.spec.node_name
        believed = cache.node_of(uid)
        if node and believed is None:
            found.append(f"pod {pod.key} is on node {node} and not in the cache")
        elif node and believed != node:
            found.append(f"pod {pod.key} is on node {node}, in the cache on {believed}")
        elif node and (known := cache.pod(uid)) is not None and known.pod.labels != pod.labels:
            found.append(f"pod {pod.key} is otherwise in the cache: labels")
        elif believed is not None and not node and uid not in cache.assumed:
            found.append(f"pod {pod.key} is on no node, in the cache on {believed}")
    for node, info in cache.pods():
        if info.uid not in held:
            found.append(f"pod {info.pod.key} is in the cache only, on node {node}")
    return found


def _waiting(
    cache: Cache, queue: SchedulingQueue, held: dict[str, Pod], schedulers: Container[str]
) -> list[str]:
    ours = {
        uid: pod
        for uid, pod in held.items()
        if not pod.spec.node_name and pod.spec.scheduler_name in schedulers
    }
    lost = [
        pod for uid, pod in ours.items() if queue.find(uid) is None and uid not in cache.assumed
    ]
    stale = [queued.info for queued in queue if queued.info.uid not in ours]
    return [f"pod {pod.key} waits and is not in the queue" for pod in lost] + [
        f"pod {info.pod.key} is in the queue only" for info in stale
    ]


def dump(cache: Cache, queue: SchedulingQueue) -> Iterator[str]:
    """Node by node, then pod by pod; `*` marks pods that are assumed and not yet confirmed."""
    table = cache.table
    for name, row in sorted(table.row_of.items()):
        used = ", ".join(
            f"{resource} {table.requested[index, row]}/{table.allocatable[index, row]}"
            for index, resource in enumerate(table.resources.values)
            if table.allocatable[index, row] or table.requested[index, row]
        )
        pods = sorted(
            info.pod.key + ("*" if uid in cache.assumed else "")
            for uid, info in table.pods[row].items()
        )
        yield f"node {name}: {used}; {len(pods)} pods: {', '.join(pods) or 'none'}"
    for queued in sorted(queue, key=lambda queued: queued.info.pod.key):
        refused = ", ".join(sorted(queued.refused_by)) or "nobody"
        yield (
            f"pod {queued.info.pod.key}: {queued.state.value}, {queued.attempts} attempts, "
            f"refused by {refused}"
        )
