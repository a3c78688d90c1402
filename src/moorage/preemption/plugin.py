"""DefaultPreemption: when no node fits, make room by evicting pods of lower priority.

1. A pod that may not preempt, or whose victims are still leaving, does nothing.
2. On each node where evictions may help, the fewest and least important victims are found.
3. The node where that hurts least is nominated, and its victims are named.

Nothing is evicted here: the answer carries the victims, and the scheduler's edge evicts them while
other pods are attempted. Until it is done, the pod is kept out of the queue.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from moorage.api.pod import Pod
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.eviction import BEING_EVICTED
from moorage.framework.extenders import ExtenderError
from moorage.framework.plugin import Carried
from moorage.framework.points import PostFilter, PreEnqueue
from moorage.framework.verdicts import Nominated, Rejection, unresolvable, unschedulable
from moorage.preemption import candidates, eligibility, extender_candidates
from moorage.preemption.candidates import Search, least_harmful
from moorage.preemption.running_preemptions import WAITING, RunningPreemptions
from moorage.preemption.victims import Victims

NO_CANDIDATE = "no candidate node for preemption"
RUNNING: Final = "DefaultPreemption/running"
"""Where `cycle.shared` has the preemptions that are being carried out."""


class Outcome(NamedTuple):
    """All that preemption could do for a pod, and the nodes it would choose from."""

    eligible: bool
    candidates: dict[str, Victims]
    chosen: list[str]


class DefaultPreemption(PostFilter, PreEnqueue, frozen=True):
    """Beside kube-scheduler's arguments, what it does not have.

    `evictionAPI`: victims are evicted, not deleted, so that budgets have the last word.
    `minimumRuntimeSeconds`: pods that have not run for so long are spared. `nominationSeconds`: a
    node that has not come free after so long is given up; 0: never. `loopGuard`: after so many
    evictions in a circle the circle is cut; 0: never.
    """

    same_for_equal_pods = True
    reads_claims = False
    reads_labels = False
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100
    eviction_api: bool = msgspec.field(default=False, name="evictionAPI")
    minimum_runtime_seconds: float = 0.0
    nomination_seconds: float = 0.0
    loop_guard: int = 10

    carried: ClassVar[Carried] = MappingProxyType({RUNNING: RunningPreemptions})

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        running: RunningPreemptions | None = self.handle.shared.get(RUNNING)
        held = running is not None and running.holds(pod.uid)
        return unresolvable(WAITING) if held else None

    def post_filter(
        self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis
    ) -> Nominated | Rejection | None:
        refused = eligibility.refusal(cycle, diagnosis)
        if refused is not None:
            return _failed(refused)
        search = self.search(cycle, diagnosis)
        return nominate(cycle, search.found) if search.found else _nothing_found(search)

    def search(self, cycle: Cycle, diagnosis: Diagnosis) -> Search:
        """Candidates, as many as the arguments ask for."""
        percentage, absolute = (
            self.min_candidate_nodes_percentage,
            self.min_candidate_nodes_absolute,
        )
        return candidates.find(cycle, diagnosis, percentage, absolute)

    def events(self) -> tuple[EventHint, ...]:
        victim_gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        return (
            EventHint(
                victim_gone, leave_it_to_the_others, class_hint=self._may_let_go, per_event=True
            ),
        )

    def _may_let_go(self, sample: Pod, old: Any, new: Any) -> Hint:
        """Of pods that are held one goes on with its last victim; others' deletion is no news."""
        running: RunningPreemptions | None = self.handle.shared.get(RUNNING)
        ends = running is not None and isinstance(old, Pod) and running.is_last(old.uid)
        return Hint.QUEUE if ends else Hint.SKIP


def running_preemptions(profile: Profile) -> RunningPreemptions:
    """The preemptions for pods of a profile that are being carried out."""
    found: RunningPreemptions = profile.shared.setdefault(RUNNING, RunningPreemptions())
    return found


def leave_it_to_the_others(pod: Pod, old: Any, new: Any) -> Hint:
    """The plugins that refused the pod know whether the eviction helped."""
    return Hint.SKIP


def evaluate(cycle: Cycle, diagnosis: Diagnosis, everything: bool = True) -> Outcome:
    """What preemption could do: on all nodes, or on as many as the plugin looks at by default."""
    if eligibility.refusal(cycle, diagnosis) is not None:
        return Outcome(False, {}, [])
    look = candidates.find_all if everything else DefaultPreemption().search
    search = look(cycle, diagnosis)
    if not search.found:
        _nothing_found(search)
    return Outcome(True, search.found, least_harmful(search.found))


def nominate(cycle: Cycle, found: Mapping[str, Victims]) -> Nominated | Rejection:
    """Choose among candidates, wherever they come from; extenders have a say in it."""
    if cycle.extenders:
        try:
            found = extender_candidates.remaining(cycle, found)
        except ExtenderError as error:
            return _failed(str(error))
    tied = _with_most_leaving(cycle, found, least_harmful(found))
    if not tied:
        return _failed(NO_CANDIDATE)
    node = tied[cycle.random.randrange(len(tied))] if len(tied) > 1 else tied[0]
    victims = found[node].pods
    message = (
        f"preemption: found a potential placement for pod on node {node}, "
        f"preempting {len(victims)} victims"
    )
    return Nominated(node, message, victims, _outbid(cycle, node, victims))


def _with_most_leaving(cycle: Cycle, found: Mapping[str, Victims], tied: list[str]) -> list[str]:
    """Of nodes that cost the same, those where the fewest leave who would stay otherwise.

    kube-scheduler takes any.
    """
    leaving = cycle.shared.get(BEING_EVICTED)
    if len(tied) < 2 or not leaving:
        return tied
    staying = [sum(pod.uid not in leaving for pod in found[node].pods) for node in tied]
    fewest = min(staying)
    return [node for node, count in zip(tied, staying, strict=True) if count == fewest]


def _outbid(cycle: Cycle, node: str, victims: tuple[Pod, ...]) -> tuple[str, ...]:
    """Pods of lower priority that were promised the node and now lose it.

    Where every victim is leaving already nothing is taken from anyone.
    """
    if all(victim.is_terminating for victim in victims):
        return ()
    priority = cycle.incoming.priority
    promised = cycle.cache.nominations.on(node)
    return tuple(info.uid for info in promised if info.priority < priority)


def _failed(message: str) -> Rejection:
    return unschedulable(f"preemption: {message}")


def _nothing_found(search: Search) -> Nominated | Rejection:
    """Without any node that helps, a nomination of old is withdrawn."""
    errors = list(dict.fromkeys(search.errors))
    if errors:
        return _failed(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return Nominated("", f"preemption: {search.explanation.message()}")
