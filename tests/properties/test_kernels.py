"""Every kernel over resources and its readable twin: the loop over nodes is the specification."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage import Nodes, kernels
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.resource_amounts import (
    is_scalar,
    node_allocatable,
    pod_nonzero_requests,
    pod_requests,
    pod_scoring_requests,
)
from moorage.config.plugin_args import (
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from moorage.framework.verdicts import Code
from moorage.plugins.node_resources import scoring_strategies
from moorage.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from moorage.plugins.node_resources.fit import NodeResourcesFit
from moorage.plugins.node_resources.resource_allocation import are_exact_in_float, scored_resources
from moorage.testing import Cluster, pod
from tests.properties.node_worlds import (
    every_node,
    maybe,
    residents,
    scores,
    used,
    verdicts,
    worlds,
)
from tests.support.profiles import at_least


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


@at_least(120)  # in one world of dozens exactly as much is free as is asked for
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


@given(worlds(), specs, maybe)
def test_every_form_of_the_mean_is_the_exact_one(
    world: tuple[Cluster, Pod], resources: list[ResourceSpec], least: bool
) -> None:
    cluster, incoming = world
    table = cluster.cache.table
    nodes = Nodes.all(table)
    cycle = cluster.cycle(incoming)
    asked = scored_resources(resources, pod_scoring_requests(incoming), nodes, cycle)
    if not asked or not are_exact_in_float(asked, nodes):
        return
    exact = np.zeros(nodes.count, dtype=np.int64)
    scoring_strategies.exact_mean(asked, nodes, exact, least)

    fast = np.zeros(nodes.count, dtype=np.int64)
    scoring_strategies.fast_mean(asked, nodes, fast, least)
    assert fast.tolist() == exact.tolist()
    rows = [scoring_strategies.mean_of(asked, table, row, least) for row in range(table.rows)]
    assert rows == exact.tolist()
    if kernels.built:
        fused = np.zeros(nodes.count, dtype=np.int64)
        assert scoring_strategies.fused_mean(asked, nodes, fused, least)
        assert fused.tolist() == exact.tolist()


@given(worlds(), maybe)
def test_balanced_allocation_is_the_same_without_a_compiler(
    world: tuple[Cluster, Pod], wide: bool
) -> None:
    cluster, _ = world
    incoming = pod("incoming").requesting(cpu="333m", memory="69Ti" if wide else "3Gi").build()
    plugin = NodeResourcesBalancedAllocation()
    told = scores(cluster, plugin, incoming)

    cycle, nodes = cluster.cycle(incoming), Nodes.all(cluster.cache.table)
    resources = scored_resources(plugin.resources, pod_requests(incoming), nodes, cycle)
    passes = np.zeros(nodes.count, dtype=np.int64)
    plugin._score_by_passes(cycle, resources, nodes, passes)

    assert passes.tolist() == list(told.values())


score_columns = st.integers(1, 1300).flatmap(
    lambda rows: st.tuples(
        st.just(rows), st.lists(st.integers(0, 2**32), min_size=1, max_size=4), st.integers(1, 9)
    )
)


@given(score_columns, st.integers(0, 2**32), maybe)
def test_the_best_nodes_are_the_same_without_a_compiler(
    drawn: tuple[int, list[int], int], seed: int, some: bool
) -> None:
    if not kernels.built:
        pytest.skip("the compiled kernels were not built: there is no C compiler")
    highest_of, nth_of = kernels.built["highest"], kernels.built["nth_of"]
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

    assert highest_of(columns, chosen) == (totals.max(), len(tied))
    found = [nth_of(columns, chosen, int(totals.max()), n) for n in range(len(tied) + 1)]
    assert found == [*tied, -1]


def test_the_compiled_kernels_refuse_columns_of_different_lengths() -> None:
    if not kernels.built:
        pytest.skip("the compiled kernels were not built: there is no C compiler")
    names = "mean_allocated", "balance_of_two", "highest", "nth_of"
    mean_allocated, balance_of_two, highest_of, nth_of = (kernels.built[name] for name in names)
    out, short = np.zeros(3, dtype=np.int64), np.ones(2)
    with pytest.raises(ValueError, match="columns differ in length"):
        mean_allocated(out, ((1, 0, short, short),), True)
    with pytest.raises(ValueError, match="columns differ in length"):
        balance_of_two(out, short, short, short, 0, short, short, short, 0)
    with pytest.raises(ValueError, match="columns differ in length"):
        highest_of(((out, 1), (np.zeros(2, dtype=np.int64), 1)), None)
    with pytest.raises(ValueError, match="a row beyond the columns"):
        highest_of(((out, 1),), np.array([0, 3]))
    with pytest.raises(ValueError, match="at least one column"):
        nth_of((), None, 0, 0)


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
