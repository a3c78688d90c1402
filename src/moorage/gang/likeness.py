"""Whether the pods of a group are alike; if not, Kubernetes' own groups are not tried."""

from collections import Counter
from typing import Final, NamedTuple

from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup

PREEMPTS: Final = "PreemptLowerPriority"


class Kind(NamedTuple):
    """What all pods of a group must have in common."""

    scheduler: str
    priority: int
    preemption_policy: str


Kinds = Counter[Kind]
"""Kind -> number of a group's pods."""


def count(kinds: Kinds, pod: Pod) -> None:
    kinds[_kind(pod)] += 1


def uncount(kinds: Kinds, pod: Pod) -> None:
    kind = _kind(pod)
    kinds[kind] -= 1
    if not kinds[kind]:
        del kinds[kind]


def refusal(kinds: Kinds, group: PodGroup | None) -> str:
    """Why pods are not tried together, in kube-scheduler's words; empty if they are.

    Fields that the group's object does not set are taken from its first pod.
    """
    if group is None or group.spec.scheduling_policy is None or not kinds:
        return ""
    first = next(iter(kinds))
    priority = first.priority if group.spec.priority is None else group.spec.priority
    policy = group.spec.preemption_policy or first.preemption_policy
    wanted = Kind(first.scheduler, priority, policy)
    odd = next((kind for kind in kinds if kind != wanted), None)
    return "" if odd is None else _difference(odd, wanted)


def _kind(pod: Pod) -> Kind:
    policy = pod.spec.preemption_policy or PREEMPTS
    return Kind(pod.spec.scheduler_name, pod.priority, policy)


def _difference(odd: Kind, wanted: Kind) -> str:
    if odd.scheduler != wanted.scheduler:
        told = f'the same .spec.schedulerName set, got: "{odd.scheduler}" and "{wanted.scheduler}"'
    elif odd.priority != wanted.priority:
        numbers = f"{odd.priority} and {wanted.priority}"
        told = f"the same priority as the pod group's priority, got {numbers}"
    else:
        policies = f"{odd.preemption_policy} and {wanted.preemption_policy}"
        told = f"the same preemption policy, got {policies}"
    return f"all pods in a single pod group should have {told}"
