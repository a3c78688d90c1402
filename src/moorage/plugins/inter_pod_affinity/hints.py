"""Which events may let a pod through that required terms refused."""

from collections.abc import Iterable

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache import affinity_terms
from moorage.cache.affinity_terms import AffinityTerm, PodTerms
from moorage.framework.events import Hint


def after_assigned_pod_change(pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
    """A pod on a node matters if it now meets all affinity, or no longer stands in the way."""
    if any(each is not None and not _is_placed(each) for each in (old, new)):
        return Hint.SKIP
    terms = affinity_terms.parse(pod)
    if terms.errors or _helps(terms, pod, old, new):
        return Hint.QUEUE
    return Hint.SKIP


def _helps(terms: PodTerms, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    if new is None:
        assert old is not None
        return _any(terms.anti_affinity, old) or _any(affinity_terms.parse(old).anti_affinity, pod)
    came_near = _all(terms.affinity, new)
    if old is None:
        return came_near
    went_away = _any(terms.anti_affinity, old) and not _any(terms.anti_affinity, new)
    return went_away or (came_near and not _all(terms.affinity, old))


def after_node_change(pod: Pod, old: Node | None, new: Node) -> Hint:
    """A node matters if it came to a topology of an affinity term, or left one of anti-affinity."""
    terms = affinity_terms.parse(pod)
    if terms.errors:
        return Hint.QUEUE
    near = any(_came(old, new, term.topology_key) for term in terms.affinity)
    away = any(old is None or _left(old, new, term.topology_key) for term in terms.anti_affinity)
    return Hint.QUEUE if near or away else Hint.SKIP


def _came(old: Node | None, new: Node, key: str) -> bool:
    if key not in new.labels:
        return False
    return old is None or old.labels.get(key) != new.labels[key]


def _left(old: Node, new: Node, key: str) -> bool:
    return key in old.labels and old.labels[key] != new.labels.get(key)


def _is_placed(pod: Pod) -> bool:
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def _all(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    return bool(terms) and all(term.matches_pod(pod) for term in terms)


def _any(terms: Iterable[AffinityTerm], pod: Pod) -> bool:
    return any(term.matches_pod(pod) for term in terms)
