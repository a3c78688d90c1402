"""From a chosen node to a pod that may be bound: assume, Reserve, Permit."""

from typing import Final, NamedTuple

from moorage.api.node import Node
from moorage.cycle.attempt import Decision
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.plugin_errors import as_plugin_error
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import PluginError, Rejection, Wait

MOST_SECONDS_AT_PERMIT: Final = 15 * 60.0
"""The longest that a plugin may hold a pod at Permit: the pod takes up room all the while."""


class Placement(NamedTuple):
    """A pod assumed on a node, on its way to being bound."""

    queued: QueuedPod
    profile: Profile
    cycle: Cycle
    node: Node
    decision: Decision
    waits: dict[str, float]


def place(
    profile: Profile, cycle: Cycle, queued: QueuedPod, decision: Decision
) -> Placement | Rejection:
    """Assume the pod on the chosen node and ask Reserve and Permit plugins.

    If a plugin refuses or raises, everything is undone: all Reserve plugins unreserve, and the pod
    is forgotten.
    """
    node, timer = cycle.table.node(cycle.table.row_of[decision.node]), cycle.timer
    cycle.cache.assume(queued.info, node.name)
    try:
        timer.step("Reserve")
        answer = reserve(profile, cycle, node)
        waits = permit(profile, cycle, node) if answer is None else {}
    except Exception:
        timer.step("", "Error")
        unplace(profile, cycle, node)
        raise
    refused = answer if answer is not None else waits
    if isinstance(refused, Rejection):
        timer.step("", refused.code.value)
        unplace(profile, cycle, node)
        return refused
    timer.step("", "Wait" if refused else "Success")
    return Placement(queued, profile, cycle, node, decision, refused)


def reserve(profile: Profile, cycle: Cycle, node: Node) -> Rejection | None:
    for name, plugin in cycle.timer.each(profile.plan(cycle.incoming).reserve):
        with as_plugin_error(name, "Reserve"):
            answer = plugin.reserve(cycle, cycle.pod, node)
        if answer is not None:
            return answer.by(name)
    return None


def permit(profile: Profile, cycle: Cycle, node: Node) -> dict[str, float] | Rejection:
    """Seconds to wait, by plugin; empty if all plugins allow the pod at once."""
    waits: dict[str, float] = {}
    cycle.timer.step("Permit")
    for name, plugin in cycle.timer.each(profile.permit):
        with as_plugin_error(name, "Permit"):
            answer = plugin.permit(cycle, cycle.pod, node)
        if isinstance(answer, Rejection):
            return answer.by(name)
        if isinstance(answer, Wait):
            waits[name] = min(answer.seconds, MOST_SECONDS_AT_PERMIT)
        elif answer is not None:
            raise PluginError(name, "Permit", f"answered {answer!r}")
    return waits


def unplace(profile: Profile, cycle: Cycle, node: Node) -> list[PluginError]:
    """Undo a placement; the errors of plugins that failed to unreserve, after all have run."""
    failed = []
    cycle.timer.step("Unreserve")
    for name, plugin in cycle.timer.each(profile.plan(cycle.incoming).reserve[::-1]):
        try:
            with as_plugin_error(name, "Unreserve"):
                plugin.unreserve(cycle, cycle.pod, node)
        except PluginError as error:
            failed.append(error)
    cycle.timer.step("")
    if cycle.incoming.uid in cycle.cache.assumed:
        cycle.cache.forget(cycle.incoming)
    return failed
