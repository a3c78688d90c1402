"""The pods that a pod talks to: by annotation, by configuration, or inferred.

If they are inferred, the first of these that finds any:

1. the pods of its namespace with the same `app.kubernetes.io/part-of`, but not its own component's;
2. the pods behind the Services of its namespace that it does not stand behind itself.

If there are neither, no peers are known; a node's distance is then its mean distance to all nodes.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from moorage.api import selectors
from moorage.api.cluster_objects import Service
from moorage.api.label_requirements import NOT_IN, check_requirement
from moorage.api.selectors import Selector
from moorage.cache.pod_selection import Clause, PodSelection
from moorage.framework.cycle import Cycle

PART_OF: Final = "app.kubernetes.io/part-of"
COMPONENTS: Final = ("app.kubernetes.io/component", "app.kubernetes.io/name", "app")


class Peer(NamedTuple):
    """Pods that the pod talks to, and their largest allowed distance (None: no own limit)."""

    pods: PodSelection
    target_ms: float | None = None


def told_peers(cycle: Cycle, annotation: str, targets: Mapping[str, float]) -> Iterator[Peer]:
    """The peers that the pod's annotation names, and those that `targets` names."""
    said = (entry.strip() for entry in cycle.pod.annotations.get(annotation, "").split(","))
    for name in dict.fromkeys((*filter(None, said), *targets)):
        found = _selection(cycle, name)
        if found is not None:
            yield Peer(found, targets.get(name))


def inferred_peers(cycle: Cycle) -> Iterator[Peer]:
    """The peers inferred from labels and Services."""
    whole = cycle.pod.labels.get(PART_OF)
    if whole:
        yield Peer(_selected(cycle.pod.namespace, _other_components(cycle, whole)))
        return
    for service in cycle.all(Service, cycle.pod.namespace):
        selector = service.spec.selector
        if selector and not selectors.from_labels(selector).matches(cycle.pod.labels):
            yield Peer(_selected(service.namespace, selectors.from_labels(selector)))


def _other_components(cycle: Cycle, whole: str) -> Selector:
    """The pods of the same application, except those of the pod's own component."""
    same = selectors.from_labels({PART_OF: whole})
    own = next((key for key in COMPONENTS if key in cycle.pod.labels), None)
    if own is None:
        return same
    other = check_requirement(own, NOT_IN, (cycle.pod.labels[own],))
    return Selector((*same.requirements, other))


def _selection(cycle: Cycle, name: str) -> PodSelection | None:
    """The pods of a Service (`db` or `other-namespace/db`) or with a label (`app=cache`)."""
    namespace = cycle.pod.namespace
    key, is_label, value = name.partition("=")
    if is_label:
        return _selected(namespace, selectors.from_labels({key.strip(): value.strip()}))
    where, _, service = name.rpartition("/")
    found = cycle.get(Service, service, where or namespace)
    if found is None or not found.spec.selector:
        return None
    return _selected(found.namespace, selectors.from_labels(found.spec.selector))


def _selected(namespace: str, selector: Selector) -> PodSelection:
    return PodSelection((Clause(frozenset({namespace}), selector),), dying=False)
