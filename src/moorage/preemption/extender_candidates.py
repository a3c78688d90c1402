"""The candidates that extenders leave.

Extenders are called one after the other, each with the candidates that the one before it left. An
extender may drop nodes and name other victims. Each node that it keeps must have a victim, and the
victims must be on that node.
"""

from collections.abc import Mapping

from moorage.api.pod import Pod
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import Extender, ExtenderError, ExtenderVictims
from moorage.preemption.victims import Victims

NO_VICTIM = 'expected at least one victim pod on node "{}"'
NOT_THERE = (
    "extender: {} claims to preempt pod (UID: {}) on node: {}, but the pod is not found on that "
    "node"
)


def remaining(cycle: Cycle, found: Mapping[str, Victims]) -> dict[str, Victims]:
    """The candidates that every extender keeps; raises if one that is not ignorable fails."""
    left = dict(found)
    for extender in cycle.extenders:
        if not left:
            break
        if not extender.preempts or not extender.is_interested(cycle.pod):
            continue
        try:
            answer = _ask(cycle, extender, left)
        except ExtenderError as error:
            if not extender.ignorable:
                raise
            cycle.extenders.skipped(extender, "preempt", error)
        else:
            left = _with_victims(extender, answer)
    return left


def _ask(cycle: Cycle, extender: Extender, left: Mapping[str, Victims]) -> dict[str, Victims]:
    asked = {node: (victims.pods, victims.violations) for node, victims in left.items()}
    answer = extender.preempt(cycle.pod, asked)
    return {node: _victims(cycle, extender, node, doomed) for node, doomed in answer.items()}


def _victims(cycle: Cycle, extender: Extender, node: str, doomed: ExtenderVictims) -> Victims:
    row = cycle.table.row_of.get(node)
    if row is None:
        raise ExtenderError(f'nodeinfo not found for node name "{node}"')
    there = cycle.table.pods[row]
    pods: list[Pod] = []
    for uid in doomed.uids:
        if uid not in there:
            raise ExtenderError(NOT_THERE.format(extender.name, uid, node))
        pods.append(there[uid].pod)
    return Victims(tuple(pods), doomed.violations)


def _with_victims(extender: Extender, answer: dict[str, Victims]) -> dict[str, Victims]:
    bare = [node for node, victims in answer.items() if not victims.pods]
    if bare and not extender.ignorable:
        raise ExtenderError(NO_VICTIM.format(bare[0]))
    return {node: victims for node, victims in answer.items() if victims.pods}
