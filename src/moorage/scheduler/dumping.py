"""What the scheduler believes, as lines to read: every node and its pods, every pod that waits."""

from collections.abc import Iterator

from moorage.cache.cache import Cache
from moorage.queue.queue import SchedulingQueue


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
