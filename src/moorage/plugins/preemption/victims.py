"""The pods that would have to leave one node."""

from typing import NamedTuple

from moorage.api.pod import Pod
from moorage.framework.verdicts import Rejection, unresolvable
from moorage.plugins.preemption.importance import Victim

NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")


class Victims(NamedTuple):
    """Who would be evicted, the most important first, and how many against a budget's will."""

    pods: tuple[Pod, ...]
    violations: int = 0


class DryRunError(Exception):
    """A dry run that cannot be right: the node would take the pod without any eviction."""

    def __init__(self, node: str) -> None:
        super().__init__(f'expected at least one victim pod on node "{node}"')


Verdict = Victims | Rejection | Exception
"""What a dry run says of a row: who must go, why that would not help, or what went wrong."""


def verdict(node: str, victims: list[Victim], violations: int) -> Verdict:
    if not victims:
        return DryRunError(node)
    return Victims(tuple(victim.info.pod for victim in victims), violations)
