"""DefaultPreemption: when no node fits, make room by evicting pods of lower priority.

1. A pod that may not preempt, or whose victims are still leaving, does nothing.
2. On each node where evictions may help, the fewest and least important victims are found.
3. The node where that costs least is nominated, and its victims are named.

No pod is evicted here: the answer names the victims, and the preemption feature evicts them while
other pods are attempted. Until that is done, the pod is kept out of the queue.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from moorage.api.pod import Pod
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.draws import CANDIDATE
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
"""Key in `cycle.shared` of the `RunningPreemptions`."""


class Outcome(NamedTuple):
    """What preemption could do for a pod: candidates, and those of them with the least cost."""

    eligible: bool
    candidates: dict[str, Victims]
    chosen: list[str]


class DefaultPreemption(PostFilter, PreEnqueue, frozen=True):
    """kube-scheduler's arguments, and these of Moorage's own:

    `evictionAPI`: use the Eviction API instead of deletion, so that budgets have the last word.
    `minimumRuntimeSeconds`: spare pods that have not run for this long. `nominationSeconds`: give a
    nomination up if the node has not come free after this long; 0 for never. `loopGuard`: stop a
    circle of evictions after this many turns; 0 for never.
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
        """Search for as many candidates as the arguments ask for."""
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
        """Queue only if the deleted pod is the last victim that some preemptor waits for."""
        running: RunningPreemptions | None = self.handle.shared.get(RUNNING)
        ends = running is not None and isinstance(old, Pod) and running.is_last(old.uid)
        return Hint.QUEUE if ends else Hint.SKIP


def running_preemptions(profile: Profile) -> RunningPreemptions:
    """The running preemptions of a profile's pods; made on first use."""
    found: RunningPreemptions = profile.shared.setdefault(RUNNING, RunningPreemptions())
    return found


def leave_it_to_the_others(pod: Pod, old: Any, new: Any) -> Hint:
    """Always skip: the plugins that refused the pod know whether the eviction helped."""
    return Hint.SKIP


def evaluate(cycle: Cycle, diagnosis: Diagnosis, everything: bool = True) -> Outcome:
    """What preemption could do: on all nodes, or on as many as the plugin searches by default."""
    if eligibility.refusal(cycle, diagnosis) is not None:
        return Outcome(False, {}, [])
    look = candidates.find_all if everything else DefaultPreemption().search
    search = look(cycle, diagnosis)
    if not search.found:
        _nothing_found(search)
    return Outcome(True, search.found, least_harmful(search.found))


def nominate(cycle: Cycle, found: Mapping[str, Victims]) -> Nominated | Rejection:
    """Choose one of the candidates that extenders leave, and nominate the pod to it."""
    if cycle.extenders:
        try:
            found = extender_candidates.remaining(cycle, found)
        except ExtenderError as error:
            return _failed(str(error))
    tied = _with_most_leaving(cycle, found, least_harmful(found))
    if not tied:
        return _failed(NO_CANDIDATE)
    node = tied[cycle.draw(CANDIDATE, len(tied))] if len(tied) > 1 else tied[0]
    victims = found[node].pods
    message = (
        f"preemption: found a potential placement for pod on node {node}, "
        f"preempting {len(victims)} victims"
    )
    return Nominated(node, message, victims, _outbid(cycle, node, victims))


def _with_most_leaving(cycle: Cycle, found: Mapping[str, Victims], tied: list[str]) -> list[str]:
    """Of nodes with equal cost, those with the fewest victims that are not leaving already.

    kube-scheduler takes any.
    """
    leaving = cycle.shared.get(BEING_EVICTED)
    if len(tied) < 2 or not leaving:
        return tied
    staying = [sum(pod.uid not in leaving for pod in found[node].pods) for node in tied]
    fewest = min(staying)
    return [node for node, count in zip(tied, staying, strict=True) if count == fewest]


def _outbid(cycle: Cycle, node: str, victims: tuple[Pod, ...]) -> tuple[str, ...]:
    """Uids of pods of lower priority that are nominated to the node and lose that nomination.

    None do if every victim is terminating already.
    """
    if all(victim.is_terminating for victim in victims):
        return ()
    priority = cycle.incoming.priority
    promised = cycle.cache.nominations.on(node)
    return tuple(info.uid for info in promised if info.priority < priority)


def _failed(message: str) -> Rejection:
    return unschedulable(f"preemption: {message}")


def _nothing_found(search: Search) -> Nominated | Rejection:
    """The answer if no node helps: an error, or the withdrawal of an earlier nomination."""
    errors = list(dict.fromkeys(search.errors))
    if errors:
        return _failed(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return Nominated("", f"preemption: {search.explanation.message()}")
