"""Relaxations: single changes of a pod that help one node to take it.

For each of kube-scheduler's plugins, this module lists the options that would satisfy it on a given
node. An option is a set of relaxations that are needed together. The caller must check each option
by an attempt.
"""

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from moorage.api.label_requirements import SelectorError, check_requirement
from moorage.api.node import Node
from moorage.api.resource_amounts import format_amount
from moorage.api.taints import Taint, tolerates
from moorage.explain import pod_edits
from moorage.explain.change import Kind
from moorage.explain.pod_edits import Raw
from moorage.explain.world import Question

HARD: Final = ("NoSchedule", "NoExecute")
UNSCHEDULABLE: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
LARGEST_SKEW: Final = 1 << 20


class Relaxation(NamedTuple):
    """One change: its kind, a summary, its size, and the edit itself.

    `size` is 1 for something that is dropped or added, and the fraction taken away for something
    that is reduced. `less` is the same change made slightly smaller, if that is possible.
    """

    kind: Kind
    summary: str
    size: float
    edit: Callable[[Raw], None]
    less: Callable[[Raw], None] | None = None


Option = tuple[Relaxation, ...]
Accepts = Callable[[Raw], bool]
"""Whether one plugin accepts a raw pod on the node in question."""


def relaxed(raw: Raw, option: Option) -> Raw:
    """The pod with an option's relaxations applied, the last first so that indices stay valid."""
    made = copy.deepcopy(raw)
    for relaxation in reversed(option):
        relaxation.edit(made)
    return made


def options(plugin: str, raw: Raw, question: Question, row: int, accepts: Accepts) -> list[Option]:
    """The options that would satisfy a plugin on a row; empty if no change of the pod would."""
    make = _BY_PLUGIN.get(plugin)
    return [] if make is None else list(make(raw, question, row, accepts))


def _taints(raw: Raw, question: Question, row: int, accepts: Accepts) -> Iterator[Option]:
    node = question.cycle.table.node(row)
    own = question.cycle.pod.spec.tolerations
    hard = (taint for taint in node.taints if taint.effect in HARD)
    yield tuple(toleration(t) for t in hard if not any(tolerates(o, t) for o in own))


def _cordon(raw: Raw, question: Question, row: int, accepts: Accepts) -> Iterator[Option]:
    yield (toleration(UNSCHEDULABLE),)


def toleration(taint: Taint) -> Relaxation:
    """Tolerate one taint."""
    text = f"{taint.key}={taint.value}" if taint.value else taint.key
    edit = partial(pod_edits.tolerate, key=taint.key, value=taint.value, effect=taint.effect)
    return Relaxation("toleration", f"tolerate the taint {text}:{taint.effect}", 1, edit)


def _node_affinity(raw: Raw, question: Question, row: int, accepts: Accepts) -> Iterator[Option]:
    node = question.cycle.table.node(row)
    selector = pod_edits.spec_of(raw).get("nodeSelector") or {}
    wrong = [key for key, value in selector.items() if node.labels.get(key) != value]
    drops = tuple(selector_drop(key, selector[key]) for key in wrong)
    terms = pod_edits.node_terms(raw)
    if not terms or any(not _failing(term, node) for term in terms):
        yield drops
        return
    for index, term in enumerate(terms):
        failing = _failing(term, node)
        yield (*drops, *(_expression_fix(index, *failed, node) for failed in failing))
    whole = Relaxation("affinity", "drop the node affinity", 2, pod_edits.drop_node_affinity)
    yield (*drops, whole)


def selector_drop(key: str, value: str) -> Relaxation:
    """Drop one key of the nodeSelector."""
    summary = f"drop {key}={value} from the nodeSelector"
    return Relaxation("selector", summary, 1, partial(pod_edits.drop_selector, key=key))


def _failing(term: Raw, node: Node) -> list[tuple[str, int, Raw]]:
    """The expressions of a node affinity term that a node does not match, with their places."""
    found = []
    for field in ("matchExpressions", "matchFields"):
        labels = node.labels if field == "matchExpressions" else {"metadata.name": node.name}
        for index, expression in enumerate(term.get(field) or ()):
            if not _meets(expression, labels):
                found.append((field, index, expression))
    return found


def _meets(expression: Raw, labels: Mapping[str, str]) -> bool:
    key, operator = expression.get("key", ""), expression.get("operator", "")
    try:
        return check_requirement(key, operator, expression.get("values") or ()).matches(labels)
    except SelectorError:
        return False


def _expression_fix(term: int, field: str, index: int, expression: Raw, node: Node) -> Relaxation:
    """Add the node's value to an expression that lists values, or drop the expression."""
    key, operator = expression.get("key", ""), expression.get("operator")
    has = node.name if field == "matchFields" else node.labels.get(key)
    if operator == "In" and has is not None:
        edit = partial(_admit, term=term, field=field, index=index, value=has)
        return Relaxation("affinity", f"let the node affinity admit {key}={has}", 1, edit)
    text = " ".join([key, str(operator), ",".join(expression.get("values") or ())]).strip()
    edit = partial(_drop_expression, term=term, field=field, index=index)
    return Relaxation("affinity", f"drop {text} from the node affinity", 1, edit)


def _admit(raw: Raw, term: int, field: str, index: int, value: str) -> None:
    expression = pod_edits.node_terms(raw)[term][field][index]
    expression["values"] = [*(expression.get("values") or ()), value]


def _drop_expression(raw: Raw, term: int, field: str, index: int) -> None:
    """Drop one expression; an empty term matches no node, so the affinity is dropped with it."""
    found = pod_edits.node_terms(raw)[term]
    if sum(len(found.get(name) or ()) for name in ("matchExpressions", "matchFields")) == 1:
        pod_edits.drop_node_affinity(raw)
    else:
        del found[field][index]


def _pod_affinity(raw: Raw, question: Question, row: int, accepts: Accepts) -> Iterator[Option]:
    yield from smallest_sets(raw, list(pod_term_drops(raw)), accepts)


def pod_term_drops(raw: Raw) -> Iterator[Relaxation]:
    """Each required term of pod affinity and anti-affinity, dropped."""
    for kind, words in (("podAffinity", "pod affinity"), ("podAntiAffinity", "anti-affinity")):
        for index, term in enumerate(pod_edits.pod_terms(raw, kind)):
            where = term.get("topologyKey", "")
            edit = partial(pod_edits.drop_pod_terms, kind=kind, dropped={index})
            yield Relaxation("affinity", f"drop the {words} about {where}", 1, edit)


def _ports(raw: Raw, question: Question, row: int, accepts: Accepts) -> Iterator[Option]:
    atoms = []
    for index, container in enumerate(pod_edits.spec_of(raw).get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                summary = f"give up host port {port['hostPort']}"
                edit = partial(pod_edits.drop_host_port, container=index, port=number)
                atoms.append(Relaxation("request", summary, 1, edit))
    yield from smallest_sets(raw, atoms, accepts)


def _spread(raw: Raw, question: Question, row: int, accepts: Accepts) -> Iterator[Option]:
    constraints = pod_edits.spec_of(raw).get("topologySpreadConstraints") or ()
    hard = [
        index
        for index, constraint in enumerate(constraints)
        if constraint.get("whenUnsatisfiable") != "ScheduleAnyway"
    ]
    atoms = [_skew(index, constraints[index], LARGEST_SKEW) for index in hard]
    for option in smallest_sets(raw, atoms, accepts):
        chosen = [index for index, atom in zip(hard, atoms, strict=True) if atom in option]
        yield _least_skews(raw, constraints, chosen, accepts)


def _least_skews(raw: Raw, constraints: Any, chosen: list[int], accepts: Accepts) -> Option:
    """The smallest maxSkew of each constraint, in turn, with which the plugin accepts the pod."""
    skews = dict.fromkeys(chosen, LARGEST_SKEW)
    for index in chosen:
        low, high = constraints[index]["maxSkew"], LARGEST_SKEW
        while high - low > 1:
            middle = (low + high) // 2
            tried = [_skew(i, constraints[i], middle if i == index else skews[i]) for i in chosen]
            low, high = (low, middle) if accepts(relaxed(raw, tuple(tried))) else (middle, high)
        skews[index] = high
    return tuple(_skew(index, constraints[index], skews[index]) for index in chosen)


def _skew(index: int, constraint: Raw, skew: int) -> Relaxation:
    key, had = constraint.get("topologyKey", ""), constraint.get("maxSkew", 1)
    summary = f"raise maxSkew over {key} from {had} to {skew}"
    edit = partial(_set_skew, index=index, skew=skew)
    less = partial(_set_skew, index=index, skew=skew - 1)
    return Relaxation("spread", summary, 1 - had / skew, edit, less)


def _set_skew(raw: Raw, index: int, skew: int) -> None:
    raw["spec"]["topologySpreadConstraints"][index]["maxSkew"] = skew


def _resources(raw: Raw, question: Question, row: int, accepts: Accepts) -> Iterator[Option]:
    table, cuts = question.cycle.table, []
    for index, amount in question.cycle.incoming.requests:
        free = int(table.free[index, row]) if index < len(table.free) else 0
        if amount > max(free, 0):
            cuts.append(_cut(table.resources.values[index], amount, max(free, 0)))
    if cuts:
        yield tuple(cuts)


def _quota(raw: Raw, question: Question, row: int, accepts: Accepts) -> Iterator[Option]:
    """For each resource, a request cut to what the quota leaves, if that alone suffices."""
    for index, asked in question.cycle.incoming.requests:
        resource = question.cycle.table.resources.values[index]
        low, high = -1, asked
        while high - low > 1:
            middle = (low + high) // 2
            fits = accepts(relaxed(raw, (_cut(resource, asked, middle),)))
            low, high = (middle, high) if fits else (low, middle)
        if low >= 0:
            yield (_cut(resource, asked, low),)


def _cut(resource: str, asked: int, free: int) -> Relaxation:
    was, now = format_amount(resource, asked), format_amount(resource, free)
    summary = f"request {now} of {resource} instead of {was}"
    step = partial(cut_to, resource=resource, asked=asked)
    return Relaxation(
        "request",
        summary,
        (asked - free) / asked,
        partial(step, to=free),
        partial(step, to=free + 1),
    )


def cut_to(raw: Raw, resource: str, asked: int, to: int) -> None:
    """Lower the effective request of a pod by reducing its containers' own requests alone."""
    containers = pod_edits.spec_of(raw).get("containers") or ()
    own = sum(pod_edits.request_of(container, resource) for container in containers)
    fixed = max(0, asked - own)
    pod_edits.cap_request(raw, resource, max(0, to - fixed))


def smallest_sets(raw: Raw, atoms: list[Relaxation], accepts: Accepts) -> list[Option]:
    """All smallest sets, of up to three relaxations, that suffice; otherwise the set of all."""
    for size in range(1, min(3, len(atoms)) + 1):
        sets = itertools.combinations(atoms, size)
        found = [option for option in sets if accepts(relaxed(raw, option))]
        if found:
            return found
    return [tuple(atoms)] if len(atoms) > 3 and accepts(relaxed(raw, tuple(atoms))) else []


_BY_PLUGIN: Final[dict[str, Callable[[Raw, Question, int, Accepts], Iterator[Option]]]] = {
    "TaintToleration": _taints,
    "NodeUnschedulable": _cordon,
    "NodeAffinity": _node_affinity,
    "InterPodAffinity": _pod_affinity,
    "NodePorts": _ports,
    "PodTopologySpread": _spread,
    "NodeResourcesFit": _resources,
    "CapacityScheduling": _quota,
}
