"""What a group still needs, for arithmetic about where it might go."""

from collections import Counter
from typing import TYPE_CHECKING

from moorage.cycle import gang_foresight, gangs
from moorage.cycle.gang_foresight import Need
from moorage.framework.queued import QueuedPod
from moorage.policies.gang.group import Group

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler


def missing(desk: "Scheduler", group: Group) -> list[QueuedPod]:
    """The pods that are still to be placed: no more than the group needs."""
    queued = (desk.queue.find(uid) for uid in group.waiting if uid not in desk.cache.assumed)
    waiting = gangs.in_order((q for q in queued if q is not None), desk.cache.table)
    return waiting[: group.minimum - desk.ganging.scheduled(group)]


def needs(desk: "Scheduler", group: Group) -> list[Need]:
    """What the pods need that are still to be placed, class by class."""
    pods = missing(desk, group)
    samples = {queued.info.cls: queued for queued in pods}
    made = []
    for cls, count in Counter(queued.info.cls for queued in pods).items():
        profile = desk.profiles[cls.sample.spec.scheduler_name]
        rows = gang_foresight.eligible(profile, desk.cycle(samples[cls], profile))
        made.append(Need(count, dict(cls.requests), rows))
    return made
