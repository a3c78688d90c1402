"""Which events may let a pod through that required terms refused.

The terms may be its own, or those by which pods on nodes shun it; of the latter a hint knows
nothing, so it reckons with them.
"""

from collections.abc import Iterable

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache import affinity_terms
from moorage.cache.affinity_terms import AffinityTerm, PodTerms
from moorage.framework.events import Hint


def after_assigned_pod_change(pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
    """A pod on a node matters if it now meets all affinity, or no longer stands in the way.

    The last pod to meet it may go, too: then the first of a group may be wherever it likes.
    """
    if any(each is not None and not _is_placed(each) for each in (old, new)):
        return Hint.SKIP
    terms = affinity_terms.parse(pod)
    if terms.errors or _helps(terms, pod, old, new):
        return Hint.QUEUE
    return Hint.SKIP


def _helps(terms: PodTerms, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    if new is None:
        assert old is not None
        shunned = _any(terms.anti_affinity, old)
        shunning = _any(affinity_terms.parse(old).anti_affinity, pod)
        return shunned or shunning or _may_be_first(terms, pod, old)
    came_near = _all(terms.affinity, new)
    if old is None:
        return came_near
    went_away = _any(terms.anti_affinity, old) and not _any(terms.anti_affinity, new)
    was_near = _all(terms.affinity, old)
    if was_near and not came_near:
        return went_away or _may_be_first(terms, pod, old)
    return went_away or (came_near and not was_near)


def _may_be_first(terms: PodTerms, pod: Pod, gone: Pod) -> bool:
    """Whether the pod belongs to the group that it seeks, and one of that group has gone."""
    return _all(terms.affinity, pod) and _all(terms.affinity, gone)


def after_node_change(pod: Pod, old: Node | None, new: Node) -> Hint:
    """A node matters if it is new and has every topology that the pod seeks, or if it has moved.

    It moves to a topology of an affinity term, or away from any: somebody who is shunned may be
    left behind there, or somebody who shuns.
    """
    terms = affinity_terms.parse(pod)
    if terms.errors:
        return Hint.QUEUE
    sought = [term.topology_key for term in terms.affinity]
    if old is None:
        return Hint.QUEUE if all(key in new.labels for key in sought) else Hint.SKIP
    came = any(key in new.labels and old.labels.get(key) != new.labels[key] for key in sought)
    left = any(new.labels.get(key) != value for key, value in old.labels.items())
    return Hint.QUEUE if came or left else Hint.SKIP


def _is_placed(pod: Pod) -> bool:
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def _all(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    return bool(terms) and all(term.may_match(pod) for term in terms)


def _any(terms: Iterable[AffinityTerm], pod: Pod) -> bool:
    return any(term.may_match(pod) for term in terms)
