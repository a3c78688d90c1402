"""Moorage's decisions with everything kept: columns, counters and profile outlive the change.

A case is decided, the cluster is disturbed and put right again, and the case is decided anew: by
then answers come from what was kept and brought up to date. Last the attempt itself runs, which
takes shorter ways, and must agree with the long one.
"""

import random
from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.config.default_plugins import SCHEDULER_NAME
from moorage.cycle import attempt
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.explain import evaluator
from moorage.framework.cycle import Cycle
from tests.differential.ours import Ours, with_gates
from tests.differential.words import Json

ROUNDS = 3


class Kept(Ours):
    """The same questions, answered from state that has been through something."""

    def decide(self, case: Json) -> Json:
        dice = random.Random(str(case.get("id")))
        cache = evaluator.cache_from_case(case)
        pod = decode_as(case["pod"], Pod)
        profile = self._profile(case, pod)
        outcome: dict[str, Any] = {}
        for _ in range(ROUNDS):
            disturb(cache, dice)
            outcome = evaluator._outcome(profile, cycle_of(cache, pod, profile, dice))
        if len(cache.table):
            agree(attempt.run(profile, cycle_of(cache, pod, profile, dice)), outcome, pod)
        return {"id": case.get("id"), **outcome}

    def _profile(self, case: Json, pod: Pod) -> Profile:
        name = pod.spec.scheduler_name or SCHEDULER_NAME
        return evaluator._profile(with_gates(case).get("config"), self.known, name)


def cycle_of(cache: Cache, pod: Pod, profile: Profile, dice: random.Random) -> Cycle:
    return Cycle(cache, cache.info(pod), shared=profile.shared)


def disturb(cache: Cache, dice: random.Random) -> None:
    """Take some things away, change some, and put everything back as it was."""
    pods = [info.pod for _, info in cache.pods()]
    nodes = [cache.table.node(row) for row in cache.table.row_of.values()]
    for pod in dice.sample(pods, len(pods) // 3):
        cache.remove_pod(pod.uid)
    for node in dice.sample(nodes, len(nodes) // 2):
        cache.put_node(changed(node))
    gone = [node for node in nodes if not node.status.images and dice.random() < 0.2]
    for node in gone:
        cache.remove_node(node)
    for node in dice.sample(nodes, len(nodes)):
        cache.put_node(node)
    for pod in pods:
        cache.put_pod(pod)


def changed(node: Node) -> Node:
    labels = {**node.metadata.labels, "topology.kubernetes.io/zone": "elsewhere", "disk": "none"}
    metadata = msgspec.structs.replace(node.metadata, labels=labels)
    spec = msgspec.structs.replace(node.spec, unschedulable=not node.spec.unschedulable)
    status = msgspec.structs.replace(node.status, allocatable={"cpu": "1"})
    return msgspec.structs.replace(node, metadata=metadata, spec=spec, status=status)


def agree(decided: attempt.Decision | Unschedulable, outcome: Mapping[str, Any], pod: Pod) -> None:
    """The attempt and the evaluation come to the same."""
    if isinstance(decided, Unschedulable):
        assert not outcome["feasible"], "the attempt found no node"
        assert decided.message.startswith(outcome["message"].rstrip(".")), decided.message
        chosen = outcome["preemption"]["chosen"]
        if decided.nominated is not None and decided.nominated.node:
            assert decided.nominated.node in chosen, f"{decided.nominated.node} was nominated"
        else:
            assert not chosen, "the attempt nominated nobody"
    elif decided.node != pod.status.nominated_node_name:
        assert decided.node in outcome["best"], f"the attempt chose {decided.node}"
        if decided.feasible > 1:
            assert decided.score == outcome["totals"][decided.node], f"with {decided.score}"
