"""The explanation of one pod: why it is where it is, or why it waits and what would help."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.cycle import filtering
from moorage.explain.change import Change
from moorage.explain.cluster_changes import (
    Template,
    evict_change,
    node_change,
    templates_of,
    wait_change,
)
from moorage.explain.gang_changes import Gang, gang_changes, gang_fit
from moorage.explain.placement_reasons import placement_reasons
from moorage.explain.pod_changes import pod_changes
from moorage.explain.queue_state import QUOTA_PLUGIN
from moorage.explain.shortfall import shortfalls
from moorage.explain.world import Question, World

Raw = dict[str, Any]


class Refusal(msgspec.Struct, frozen=True):
    """One reason, the plugin that gives it, and on how many nodes."""

    reason: str
    plugin: str
    nodes: int


class Explanation(msgspec.Struct, frozen=True):
    """The explanation of one pod, in the shape that `-o json` shows."""

    pod: str
    state: str
    node: str = ""
    runner_up: str = ""
    margin: int = 0
    scores: dict[str, dict[str, int]] = {}
    decided_by: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    message: str = ""
    in_words: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    queue_place: tuple[int, int] | None = None
    """Its place among the waiting pods, and their number."""
    changes: tuple[Change, ...] = ()


def explain(
    world: World,
    raw: Raw,
    *,
    node: str = "",
    waits_for: Iterable[str] = (),
    queue_place: tuple[int, int] | None = None,
    templates: list[Template] | None = None,
    most: int = 5,
) -> Explanation:
    """Explain a raw pod; `node` is its node, empty while it is pending."""
    unbound = {**raw, "spec": {k: v for k, v in raw["spec"].items() if k != "nodeName"}}
    pod = decode_as(unbound, Pod)
    with _without(world, [pod.uid]):
        question = world.question(pod)
        if node:
            return _placed(question, pod, node)
        told = _pending(world, question, unbound, tuple(waits_for), templates, most)
        return msgspec.structs.replace(told, queue_place=queue_place)


@contextmanager
def _without(world: World, uids: Iterable[str]) -> Iterator[None]:
    """A trial of the cluster without these pods; the cluster itself if none is on a node."""
    placed = [uid for uid in uids if world.cache.node_of(uid) is not None]
    if not placed:
        yield
        return
    with world.cache.trial():
        for uid in placed:
            world.cache.remove_pod(uid)
        yield


def _placed(question: Question, pod: Pod, node: str) -> Explanation:
    reasons = placement_reasons(question, node)
    return Explanation(
        pod=pod.key,
        state="placed",
        node=node,
        runner_up=reasons.runner_up,
        margin=reasons.margin,
        scores=reasons.scores,
        decided_by=reasons.decided_by,
        refusals=refusals_of(question),
    )


def _pending(
    world: World,
    question: Question,
    raw: Raw,
    waits_for: tuple[str, ...],
    templates: list[Template] | None,
    most: int,
) -> Explanation:
    pod = question.cycle.pod
    if question.feasible().any():
        return Explanation(
            pod=pod.key,
            state="pending",
            message="it fits now: it is to be tried again, or waits for something else",
            waits_for=waits_for,
        )
    diagnosis = filtering.diagnose(question.profile, question.cycle, question.found)
    refusals, message = refusals_of(question), diagnosis.message()
    in_words = tuple(shortfalls(question))
    world.pause()
    offered = templates_of(world) if templates is None else templates
    found: list[Change | None] = [
        *pod_changes(world, raw, most),
        wait_change(world, pod),
        evict_change(world, pod),
        node_change(world, pod, offered),
    ]
    changes = sorted((change for change in found if change is not None), key=lambda c: c.cost)
    return Explanation(
        pod=pod.key,
        state="pending",
        refusals=refusals,
        message=message,
        in_words=in_words,
        waits_for=(*waits_for, *_quotas(refusals)),
        changes=tuple(changes[:most]),
    )


def explain_gang(
    world: World,
    raw: Raw,
    gang: Gang,
    *,
    waits_for: Iterable[str] = (),
    templates: list[Template] | None = None,
    most: int = 5,
) -> Explanation | None:
    """Explain a pending pod by its gang; None if the whole gang fits as things stand."""
    pod = decode_as(raw, Pod)
    with _without(world, (decode_as(each, Pod).uid for each in gang.raws)):
        fit = gang_fit(world, gang)
        if fit.fitting >= gang.needed:
            return None
        offered = templates_of(world) if templates is None else templates
        question = world.question(pod)
        question.feasible()
        return Explanation(
            pod=pod.key,
            state="pending",
            refusals=refusals_of(question),
            message=(
                f"PodGroup {gang.key}: {fit.fitting} of the {gang.needed} pods needed fit. "
                f"{fit.message}"
            ),
            in_words=(
                f"is one of {gang.needed} pods of {gang.key} that start together or not at all; "
                f"{fit.fitting} of them would fit",
            ),
            waits_for=tuple(waits_for),
            changes=tuple(gang_changes(world, gang, offered, most)),
        )


def _quotas(refusals: Iterable[Refusal]) -> list[str]:
    """The refusals of quotas, which hold a pod back whatever the nodes have."""
    return [f"quota: {each.reason}" for each in refusals if each.plugin == QUOTA_PLUGIN]


def refusals_of(question: Question) -> tuple[Refusal, ...]:
    """Every reason with the number of nodes that have it, the most common first."""
    diagnosis = filtering.diagnose(question.profile, question.cycle, question.found)
    folded: Counter[tuple[str, str]] = Counter()
    for rejection, count in diagnosis.counts():
        for reason in rejection.reasons:
            folded[reason, rejection.plugin] += count
    ordered = sorted(folded.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Refusal(reason, plugin, count) for (reason, plugin), count in ordered)
