"""Why a group does not run: how many of its pods fit, which one does not, and what is missing."""

from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.cycle import gang_shortage
from moorage.cycle.gang_domains import Choice
from moorage.cycle.gangs import Misfit
from moorage.policies.gang.group import Group


def describe(group: Group, misfit: Misfit) -> str:
    """What keeps a group from running, and what of it."""
    where = f" in {misfit.domain}" if misfit.domain else ""
    text = f"PodGroup {group.key}: {misfit.fitting} of the {misfit.needed} pods needed fit{where}."
    if misfit.blocker is None:
        return f"{text} {misfit.explanation}" if misfit.explanation else text
    return f"{text} Pod {misfit.blocker.cycle.pod.key}: {misfit.explanation}"


def too_small(choice: Choice, pods: list[PodInfo], table: NodeTable) -> Misfit:
    """What is to be said if no domain is tried at all."""
    needed = len(pods)
    if not choice.too_small:
        return Misfit(0, needed, explanation="No node has the label that it is to be packed by.")
    largest = max(choice.too_small, key=lambda domain: domain.room)
    why = gang_shortage.short_in(table, largest.rows, pods)
    return Misfit(min(largest.room, needed), needed, explanation=why, domain=largest.name)
