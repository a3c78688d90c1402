"""Making room: victims are marked, deleted and told, without holding up the loop."""

from moorage.api.pod import Pod
from moorage.bind import statuses
from moorage.bind.recorder import EventRecorder
from moorage.clock import Clock
from moorage.watch.errors import NotFound
from moorage.watch.resources import PODS
from moorage.watch.surface import ApiServer


async def evict(
    server: ApiServer,
    recorder: EventRecorder,
    clock: Clock,
    scheduler: str,
    preemptor: Pod,
    victim: Pod,
    node: str,
) -> None:
    """Mark one victim, delete it, say so. A victim that is gone already is fine."""
    patch = statuses.disrupted(victim, scheduler, clock.now())
    try:
        await server.patch_pod_status(victim.namespace, victim.name, patch, victim.uid)
        await server.delete(PODS, victim.namespace, victim.name, uid=victim.uid)
    except NotFound:
        return
    note = f"Preempted by pod {preemptor.uid} on node {node}"
    recorder.record(scheduler, victim, "Normal", "Preempted", "Preempting", note, preemptor)
