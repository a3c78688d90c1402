"""Every vector kernel and its readable twin: the loop over nodes is the specification."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage import Filter, Nodes, Score
from moorage.api.node import Node
from moorage.api.node_selectors import required_affinity_matches, term_matches
from moorage.api.pod import Pod
from moorage.api.resource_amounts import (
    is_scalar,
    node_allocatable,
    pod_nonzero_requests,
    pod_requests,
    pod_scoring_requests,
)
from moorage.api.taints import find_untolerated, tolerates
from moorage.cache.podinfo import host_ports
from moorage.config.plugin_args import (
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from moorage.framework.score_range import normalize_by_maximum
from moorage.framework.verdicts import Code, Rejection
from moorage.kernels import compiled
from moorage.plugins.image_locality import ImageLocality, normalized_image_name
from moorage.plugins.node_affinity import NodeAffinity
from moorage.plugins.node_name import NodeName
from moorage.plugins.node_ports import NodePorts
from moorage.plugins.node_resources import scoring_strategies
from moorage.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from moorage.plugins.node_resources.fit import NodeResourcesFit
from moorage.plugins.node_resources.resource_allocation import scored_resources
from moorage.plugins.node_unschedulable import NodeUnschedulable
from moorage.plugins.taint_toleration import TaintToleration
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod

MEBI = 2**20

cores = st.sampled_from(["0", "1", "100m", "333m", "7", "64", "1000k"])
bytes_ = st.sampled_from(["0", "1", "64Mi", "3Gi", "100Gi", "69Ti", "70Ti", "71Ti", "80Pi"])
maybe = st.booleans()
KEYS = ("disk", "gen", "zone")
VALUES = ("ssd", "hdd", "3", "10", "-1", "")


@st.composite
def some_node(draw: st.DrawFn, name: str) -> NodeBuilder:
    built = node(name).offering(
        cpu=draw(cores), memory=draw(bytes_), pods=draw(st.sampled_from("012"))
    )
    if draw(maybe):
        built = built.offering({"example.com/gpu": draw(st.sampled_from(["0", "1", "8"]))})
    for key in draw(st.lists(st.sampled_from(KEYS), unique=True)):
        built = built.labelled({key: draw(st.sampled_from(VALUES))})
    for effect in draw(
        st.lists(st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]), max_size=3)
    ):
        built = built.tainted(draw(st.sampled_from("kl")), draw(st.sampled_from("vw")), effect)
    for image in draw(st.lists(st.sampled_from(["a:v1", "b:latest", "c/d:v2"]), unique=True)):
        built = built.holding(image, draw(st.integers(0, 2000)) * MEBI)
    return built.cordoned() if draw(maybe) else built


@st.composite
def some_pod(draw: st.DrawFn, name: str) -> PodBuilder:
    asked = {"cpu": cores, "memory": bytes_}
    requests = {key: draw(amount) for key, amount in asked.items() if draw(maybe)}
    if draw(maybe):
        requests["example.com/gpu"] = draw(st.sampled_from(["0", "1", "2"]))
    built = pod(name).requesting(requests).using(draw(st.sampled_from(["a:v1", "b", "x"])))
    if draw(maybe):
        built = built.listening(
            draw(st.integers(80, 81)),
            draw(st.sampled_from(["TCP", "UDP"])),
            draw(st.sampled_from(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"])),
        )
    return built


requirements = st.builds(
    lambda key, operator, values: {"key": key, "operator": operator, "values": values},
    st.sampled_from(KEYS),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Bogus"]),
    st.lists(st.sampled_from(VALUES), max_size=2),
)
terms = st.builds(
    lambda labels, names: {
        "matchExpressions": labels,
        "matchFields": [
            {"key": "metadata.name", "operator": "In", "values": [name]} for name in names
        ],
    },
    st.lists(requirements, max_size=2),
    st.lists(st.sampled_from(["n0", "n1", "gone"]), max_size=1),
)


@st.composite
def wishing_pod(draw: st.DrawFn, name: str) -> PodBuilder:
    built = draw(some_pod(name))
    for _ in range(draw(st.integers(0, 2))):
        value = draw(st.sampled_from([None, "v", "w"]))
        effect = draw(st.sampled_from(["", "NoSchedule", "PreferNoSchedule"]))
        built = built.tolerating(draw(st.sampled_from(["", "k", "l"])), value, effect)
    if draw(maybe):
        built = built.selecting({draw(st.sampled_from(KEYS)): draw(st.sampled_from(VALUES))})
    if draw(maybe):
        required = {"nodeSelectorTerms": draw(st.lists(terms, min_size=1, max_size=2))}
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        built = built.with_spec(affinity={"nodeAffinity": affinity})
    return built.with_spec(nodeName=draw(st.sampled_from(["", "", "n1"])))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Cluster, Pod]:
    names = [f"n{index}" for index in range(draw(st.integers(1, 4)))]
    cluster = Cluster(*(draw(some_node(name)) for name in names))
    for index in range(draw(st.integers(0, 5))):
        cluster.add(draw(some_pod(f"r{index}")).on(draw(st.sampled_from(names))))
    return cluster, draw(wishing_pod("incoming")).build()


def verdicts(cluster: Cluster, plugin: Filter, incoming: Pod) -> dict[str, Rejection | None]:
    cycle = cluster.cycle(incoming)
    nodes = Nodes.all(cluster.cache.table)
    out = np.zeros(nodes.count, dtype=np.int32)
    plugin.filter_all(cycle, incoming, nodes, out)
    one_by_one = []
    for row in range(nodes.count):
        single = np.zeros(1, dtype=np.int32)
        plugin.filter_all(cycle, incoming, Nodes.one(cluster.cache.table, row), single)
        one_by_one.append(int(single[0]))
    assert out.tolist() == one_by_one, "a row alone gets another verdict than among all"
    backwards = Nodes(cluster.cache.table, nodes.index[::-1].copy())
    again = np.zeros(nodes.count, dtype=np.int32)
    plugin.filter_all(cycle, incoming, backwards, again)
    assert again[::-1].tolist() == one_by_one, "some rows get other verdicts than among all"
    return {
        nodes.node(row).name: plugin.rejection(cycle, incoming, code) if code else None
        for row, code in enumerate(one_by_one)
    }


def scores(cluster: Cluster, plugin: Score, incoming: Pod) -> dict[str, int]:
    cycle = cluster.cycle(incoming)
    nodes = Nodes.all(cluster.cache.table)
    out = np.zeros(nodes.count, dtype=np.int64)
    plugin.score_all(cycle, incoming, nodes, out)
    for row in range(nodes.count):
        single = np.zeros(1, dtype=np.int64)
        plugin.score_all(cycle, incoming, Nodes.one(cluster.cache.table, row), single)
        assert single[0] == out[row], "a row alone gets another score than among all"
    backwards = Nodes(cluster.cache.table, nodes.index[::-1].copy())
    again = np.zeros(nodes.count, dtype=np.int64)
    plugin.score_all(cycle, incoming, backwards, again)
    assert again[::-1].tolist() == out.tolist(), "some rows get other scores than among all"
    return {nodes.node(row).name: int(out[row]) for row in range(nodes.count)}


def residents(cluster: Cluster, name: str) -> list[Pod]:
    table = cluster.cache.table
    return [info.pod for info in table.pods[table.row_of[name]].values()]


def every_node(cluster: Cluster) -> list[Node]:
    return [cluster.cache.table.node(row) for row in cluster.cache.table.row_of.values()]


def used(cluster: Cluster, name: str, resource: str) -> int:
    return sum(pod_requests(resident).get(resource, 0) for resident in residents(cluster, name))


def fit_twin(cluster: Cluster, incoming: Pod, target: Node) -> list[str]:
    offered = node_allocatable(target)
    short = []
    if len(residents(cluster, target.name)) + 1 > offered.get("pods", 0):
        short.append("Too many pods")
    for resource, amount in pod_requests(incoming).items():
        free = offered.get(resource, 0) - used(cluster, target.name, resource)
        if amount > 0 and amount > free:
            short.append(f"Insufficient {resource}")
    return short


@settings(max_examples=120, deadline=None)
@given(worlds())
def test_fit(world: tuple[Cluster, Pod]) -> None:
    cluster, incoming = world
    told = verdicts(cluster, NodeResourcesFit(), incoming)

    for target in every_node(cluster):
        short = fit_twin(cluster, incoming, target)
        verdict = told[target.name]
        assert sorted(short) == sorted(verdict.reasons if verdict else ())
        if verdict is not None:
            offered = node_allocatable(target)
            never = any(
                amount > offered.get(resource, 0) and f"Insufficient {resource}" in short
                for resource, amount in pod_requests(incoming).items()
            )
            assert verdict.code is (Code.UNRESOLVABLE if never else Code.UNSCHEDULABLE)


shapes = st.sampled_from(
    [
        ((0, 10), (100, 0)),
        ((0, 0), (100, 10)),
        ((0, 0), (40, 7), (90, 3)),
        ((30, 5),),
    ]
)
specs = st.lists(
    st.builds(
        ResourceSpec, st.sampled_from(["cpu", "memory", "example.com/gpu"]), st.integers(1, 5)
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda spec: spec.name,
)


def line_at(shape: tuple[tuple[int, int], ...], percent: int) -> int:
    points = [(x, 10 * y) for x, y in shape]
    for position, (x, y) in enumerate(points):
        if percent <= x:
            if position == 0:
                return y
            x0, y0 = points[position - 1]
            rise = (y - y0) * (percent - x0)
            return y0 + (rise // (x - x0) if rise >= 0 else -(-rise // (x - x0)))
    return points[-1][1]


def strategy_twin(
    cluster: Cluster,
    incoming: Pod,
    target: Node,
    strategy: ScoringStrategy,
    shape: tuple[tuple[int, int], ...],
) -> int:
    total = weights = 0
    offered = node_allocatable(target)
    for spec in strategy.resources:
        request = pod_scoring_requests(incoming).get(spec.name, 0)
        capacity = offered.get(spec.name, 0)
        if capacity == 0 or (request == 0 and is_scalar(spec.name)):
            continue
        there = residents(cluster, target.name)
        index = ("cpu", "memory").index(spec.name) if spec.name in ("cpu", "memory") else None
        taken = (
            used(cluster, target.name, spec.name)
            if index is None
            else sum(pod_nonzero_requests(resident)[index] for resident in there)
        ) + request
        if strategy.type == "LeastAllocated":
            score = 0 if taken > capacity else (capacity - taken) * 100 // capacity
        elif strategy.type == "MostAllocated":
            score = min(taken, capacity) * 100 // capacity
        else:
            score = line_at(shape, 100 if taken > capacity else taken * 100 // capacity)
            if score <= 0:
                continue
        total += score * spec.weight
        weights += spec.weight
    if weights == 0:
        return 0
    if strategy.type == "RequestedToCapacityRatio":
        return int(total / weights + 0.5)
    return total // weights


@settings(max_examples=200, deadline=None)
@given(
    worlds(),
    specs,
    shapes,
    st.sampled_from(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]),
)
def test_scoring_strategies(
    world: tuple[Cluster, Pod],
    resources: list[ResourceSpec],
    shape: tuple[tuple[int, int], ...],
    kind: str,
) -> None:
    cluster, incoming = world
    points = tuple(UtilizationShapePoint(x, y) for x, y in shape)
    ratio = RequestedToCapacityRatioParam(points)
    strategy = ScoringStrategy(kind, tuple(resources), ratio)

    told = scores(cluster, NodeResourcesFit(scoring_strategy=strategy), incoming)

    for target in every_node(cluster):
        assert told[target.name] == strategy_twin(cluster, incoming, target, strategy, shape)


@settings(max_examples=150, deadline=None)
@given(worlds(), specs, maybe)
def test_every_form_of_the_mean_is_the_exact_one(
    world: tuple[Cluster, Pod], resources: list[ResourceSpec], least: bool
) -> None:
    cluster, incoming = world
    table = cluster.cache.table
    nodes = Nodes.all(table)
    asked = scored_resources(resources, pod_scoring_requests(incoming), nodes)
    if not asked or not scoring_strategies.is_exact_in_float(asked, nodes):
        return
    exact = np.zeros(nodes.count, dtype=np.int64)
    scoring_strategies.exact_mean(asked, nodes, exact, least)

    fast = np.zeros(nodes.count, dtype=np.int64)
    scoring_strategies.fast_mean(asked, nodes, fast, least)
    assert fast.tolist() == exact.tolist()
    rows = [scoring_strategies.mean_of(asked, table, row, least) for row in range(table.rows)]
    assert rows == exact.tolist()
    if compiled is not None:
        fused = np.zeros(nodes.count, dtype=np.int64)
        scoring_strategies.fused_mean(asked, nodes, fused, least)
        assert fused.tolist() == exact.tolist()


@settings(max_examples=150, deadline=None)
@given(worlds(), maybe)
def test_balanced_allocation_is_the_same_without_a_compiler(
    world: tuple[Cluster, Pod], wide: bool
) -> None:
    cluster, _ = world
    incoming = pod("incoming").requesting(cpu="333m", memory="69Ti" if wide else "3Gi").build()
    plugin = NodeResourcesBalancedAllocation()
    told = scores(cluster, plugin, incoming)

    cycle, nodes = cluster.cycle(incoming), Nodes.all(cluster.cache.table)
    resources = scored_resources(plugin.resources, pod_requests(incoming), nodes)
    passes = np.zeros(nodes.count, dtype=np.int64)
    plugin._score_by_passes(cycle, resources, nodes, passes)

    assert passes.tolist() == list(told.values())


score_columns = st.integers(1, 1300).flatmap(
    lambda rows: st.tuples(
        st.just(rows), st.lists(st.integers(0, 2**32), min_size=1, max_size=4), st.integers(1, 9)
    )
)


@settings(max_examples=100, deadline=None)
@given(score_columns, st.integers(0, 2**32), maybe)
def test_the_best_nodes_are_the_same_without_a_compiler(
    drawn: tuple[int, list[int], int], seed: int, some: bool
) -> None:
    if compiled is None:
        pytest.skip("the compiled kernels were not built: there is no C compiler")
    rows, seeds, highest = drawn
    rng = np.random.default_rng(seed)
    columns = tuple(
        (np.random.default_rng(each).integers(-highest, highest, rows), 1 + each % 3)
        for each in seeds
    )
    chosen = np.sort(rng.permutation(rows)[: 1 + seed % rows]) if some else None
    summed = np.sum([values * weight for values, weight in columns], axis=0)
    totals = summed if chosen is None else summed[chosen]
    tied = np.flatnonzero(totals == totals.max()).tolist()

    assert compiled.highest(columns, chosen) == (totals.max(), len(tied))
    found = [compiled.nth_of(columns, chosen, int(totals.max()), n) for n in range(len(tied) + 1)]
    assert found == [*tied, -1]


def test_the_compiled_kernels_refuse_columns_of_different_lengths() -> None:
    if compiled is None:
        pytest.skip("the compiled kernels were not built: there is no C compiler")
    out, short = np.zeros(3, dtype=np.int64), np.ones(2)
    with pytest.raises(ValueError, match="columns differ in length"):
        compiled.mean_allocated(out, ((1, 0, short, short),), True)
    with pytest.raises(ValueError, match="columns differ in length"):
        compiled.balance_of_two(out, short, short, short, 0, short, short, short, 0)
    with pytest.raises(ValueError, match="columns differ in length"):
        compiled.highest(((out, 1), (np.zeros(2, dtype=np.int64), 1)), None)
    with pytest.raises(ValueError, match="a row beyond the columns"):
        compiled.highest(((out, 1),), np.array([0, 3]))
    with pytest.raises(ValueError, match="one to 32 columns"):
        compiled.nth_of((), None, 0, 0)


def evenness_twin(requested: list[int], offered: list[int]) -> int:
    fractions = [
        min(asked / capacity, 1.0)
        for asked, capacity in zip(requested, offered, strict=True)
        if capacity
    ]
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        total = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / len(fractions)
        squares = 0.0
        for fraction in fractions:
            squares = squares + (fraction - mean) * (fraction - mean)
        deviation = float(np.sqrt(squares / len(fractions)))
    return int((1 - deviation) * 100.0)


@settings(max_examples=200, deadline=None)
@given(worlds(), specs)
def test_balanced_allocation(world: tuple[Cluster, Pod], resources: list[ResourceSpec]) -> None:
    cluster, incoming = world
    plugin = NodeResourcesBalancedAllocation(resources=tuple(resources))
    told = scores(cluster, plugin, incoming)
    requests = pod_requests(incoming)

    for target in every_node(cluster):
        if not any(requests.get(spec.name) for spec in resources):
            assert told[target.name] == 0
            continue
        before, after, capacity = [], [], []
        for spec in resources:
            request = requests.get(spec.name, 0)
            offered = node_allocatable(target).get(spec.name, 0)
            if offered == 0 or (request == 0 and is_scalar(spec.name)):
                continue
            before.append(used(cluster, target.name, spec.name))
            after.append(before[-1] + request)
            capacity.append(offered)
        gain = evenness_twin(after, capacity) - evenness_twin(before, capacity)
        assert told[target.name] == 50 + (50 + gain) // 2


@settings(max_examples=120, deadline=None)
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
        if not target.spec.unschedulable:
            assert cordoned[target.name] is None


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=100, deadline=None)
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


@settings(max_examples=120, deadline=None)
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


@settings(max_examples=120, deadline=None)
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


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=6), maybe)
def test_normalising_by_the_maximum(raw: list[int], reverse: bool) -> None:
    scores_given = np.array(raw, dtype=np.int64)
    normalize_by_maximum(scores_given, reverse=reverse)

    highest = max(raw)
    for before, after in zip(raw, scores_given.tolist(), strict=True):
        plain = 100 * before // highest if highest else (100 if reverse else 0)
        want = 100 - plain if reverse and highest else plain
        assert after == want
