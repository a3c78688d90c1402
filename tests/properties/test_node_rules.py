"""Rules on taints, labels, ports and images, and the loops over nodes that specify them."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.node_selectors import required_affinity_matches, term_matches
from moorage.api.pod import Pod
from moorage.api.taints import Taint, find_untolerated, tolerates
from moorage.cache.podinfo import host_ports
from moorage.framework.score_range import normalize_by_maximum
from moorage.plugins.image_locality import ImageLocality, normalized_image_name
from moorage.plugins.node_affinity import NodeAffinity
from moorage.plugins.node_name import NodeName
from moorage.plugins.node_ports import NodePorts
from moorage.plugins.node_unschedulable import NodeUnschedulable
from moorage.plugins.taint_toleration import TaintToleration
from moorage.testing import Cluster, node, pod
from tests.properties.node_worlds import (
    MEBI,
    every_node,
    maybe,
    residents,
    scores,
    terms,
    verdicts,
    worlds,
)

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


@given(worlds())
def test_taints_and_cordons(world: tuple[Cluster, Pod]) -> None:
    cluster, incoming = world
    refused = verdicts(cluster, TaintToleration(), incoming)
    cordoned = verdicts(cluster, NodeUnschedulable(), incoming)
    dissuaded = scores(cluster, TaintToleration(), incoming)
    tolerations = incoming.spec.tolerations

    for target in every_node(cluster):
        hard = find_untolerated(target.taints, tolerations, {"NoSchedule", "NoExecute"})
        assert (refused[target.name] is None) == (hard is None)
        soft = [
            taint
            for taint in target.taints
            if taint.effect == "PreferNoSchedule"
            and not any(tolerates(t, taint) for t in tolerations)
        ]
        assert dissuaded[target.name] == len(soft)
        closed = target.spec.unschedulable and not any(tolerates(t, CORDON) for t in tolerations)
        assert (cordoned[target.name] is not None) == closed


@given(worlds())
def test_node_affinity_and_names(world: tuple[Cluster, Pod]) -> None:
    cluster, incoming = world
    told = verdicts(cluster, NodeAffinity(), incoming)
    named = verdicts(cluster, NodeName(), incoming)

    for target in every_node(cluster):
        try:
            matches = required_affinity_matches(incoming, target)
        except ValueError:
            matches = False
        assert (told[target.name] is None) == matches
        wanted = incoming.spec.node_name
        assert (named[target.name] is None) == (wanted in ("", target.name))


preferences = st.lists(
    st.builds(
        lambda weight, term: {"weight": weight, "preference": term}, st.integers(1, 9), terms
    ),
    min_size=1,
    max_size=3,
)


@given(worlds(), preferences)
def test_preferred_node_affinity(
    world: tuple[Cluster, Pod], preferred: list[dict[str, Any]]
) -> None:
    cluster, _ = world
    good = [p for p in preferred if _is_well_formed(p)]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": good}}
    incoming = pod("incoming").with_spec(affinity=affinity).build()
    told = scores(cluster, NodeAffinity(), incoming)

    assert incoming.spec.affinity is not None
    assert incoming.spec.affinity.node_affinity is not None
    wishes = incoming.spec.affinity.node_affinity
    for target in every_node(cluster):
        want = sum(
            wish.weight
            for wish in wishes.preferred_during_scheduling_ignored_during_execution
            if term_matches(wish.preference, target)
        )
        assert told[target.name] == want


def _is_well_formed(preferred: dict[str, Any]) -> bool:
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}
    built = pod("x").with_spec(affinity=affinity).build()
    assert built.spec.affinity is not None
    assert built.spec.affinity.node_affinity is not None
    [wish] = built.spec.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
    try:
        term_matches(wish.preference, node("n").build())
    except ValueError:
        return False
    return True


@given(worlds())
def test_host_ports(world: tuple[Cluster, Pod]) -> None:
    cluster, incoming = world
    told = verdicts(cluster, NodePorts(), incoming)

    for target in every_node(cluster):
        clash = any(
            (mine.protocol, mine.port) == (theirs.protocol, theirs.port)
            and (mine.ip == theirs.ip or "0.0.0.0" in (mine.ip, theirs.ip))
            for mine in host_ports(incoming)
            for resident in residents(cluster, target.name)
            for theirs in host_ports(resident)
        )
        assert (told[target.name] is not None) == clash


@given(worlds())
def test_image_locality(world: tuple[Cluster, Pod]) -> None:
    cluster, incoming = world
    told = scores(cluster, ImageLocality(), incoming)
    nodes = every_node(cluster)
    held = {
        target.name: {name: i.size_bytes for i in target.status.images for name in i.names}
        for target in nodes
    }

    images = [normalized_image_name(container.image) for container in incoming.spec.containers]
    for target in nodes:
        total = 0
        for image in images:
            if image in held[target.name]:
                holders = sum(image in images_there for images_there in held.values())
                size = next(there[image] for there in held.values() if image in there)
                total += int(size * (holders / len(nodes)))
        low, high = 23 * MEBI, 1000 * MEBI * len(images)
        clamped = min(max(total, low), high)
        assert told[target.name] == 100 * (clamped - low) // (high - low)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=6), maybe)
def test_normalising_by_the_maximum(raw: list[int], reverse: bool) -> None:
    scores_given = np.array(raw, dtype=np.int64)
    normalize_by_maximum(scores_given, reverse=reverse)

    highest = max(raw)
    for before, after in zip(raw, scores_given.tolist(), strict=True):
        plain = 100 * before // highest if highest else (100 if reverse else 0)
        want = 100 - plain if reverse and highest else plain
        assert after == want
