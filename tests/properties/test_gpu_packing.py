"""What a placement is worth: the compiled form, the numpy form and a plain loop say the same."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage import kernels
from moorage.policies.gpu import packing_costs
from moorage.policies.gpu.gpu_request import WHOLE
from moorage.policies.gpu.packing_costs import NEVER, Asked, Demand, Devices

MODELS = 3
milli = st.sampled_from([0, 190, 470, 530, 1000])
node = st.tuples(
    st.integers(0, 40),
    st.integers(0, 40),
    st.lists(milli, min_size=4, max_size=4),
    st.integers(0, MODELS - 1),
)
shape = st.one_of(
    st.just((0, 0)),
    st.tuples(st.just(1), st.sampled_from([110, 470, 810, 1000])),
    st.tuples(st.sampled_from([2, 4]), st.just(1000)),
)
pod = st.tuples(st.integers(0, 20), st.integers(0, 20), shape)
may = st.lists(st.sampled_from([0, 1]), min_size=MODELS, max_size=MODELS)
weight = st.sampled_from([0.0, 0.25, 1.0])
expected = st.tuples(pod, may, st.tuples(weight, weight, weight))


def devices(nodes: list[Any]) -> Devices:
    return Devices(
        np.array([row[0] for row in nodes], dtype=np.int64),
        np.array([row[1] for row in nodes], dtype=np.int64),
        np.array([row[2] for row in nodes], dtype=np.int32),
        np.array([row[3] for row in nodes], dtype=np.int32),
    )


def amounts(asked: Any) -> list[int]:
    cpu, memory, (count, each) = asked
    return [cpu, memory, count, each]


def demand(classes: list[Any]) -> Demand:
    weights = [w if p[2][0] else (w[0], 0.0, 0.0) for p, _, w in classes]
    return Demand(
        np.array([amounts(p) for p, _, _ in classes], dtype=np.int64).reshape(-1, 4),
        np.array([m for _, m, _ in classes], dtype=np.uint8).reshape(-1, MODELS),
        np.array(weights, dtype=np.float64).reshape(-1, 3),
        0.125,
    )


def lost(cpu: int, memory: int, left: list[int], model: int, classes: list[Any]) -> float:
    """The potential, one class after the other, as the words have it."""
    total, idle = 0.0, sum(left)
    for asked, models, (fragment, shortage, price) in classes:
        c, m, count, each = amounts(asked)
        if not models[model]:
            total += fragment * idle
            continue
        enough = sum(one >= each for one in left) >= count
        small = sum(one for one in left if one < each)
        total += fragment * (small if count and cpu >= c and enough else idle)
        if not count:
            continue
        if c:
            total += shortage * max(idle - cpu * count * each / c, 0)
        devices_for = sum(one >= each for one in left) // count
        most = devices_for if count > 1 else sum(one // each for one in left)
        most = min([most, *([cpu // c] if c else []), *([memory // m] if m else [])])
        total -= price * most * count * each
    return total if idle else 0.0


def worth(row: Any, asked: Any, models: list[int], classes: list[Any]) -> list[float]:
    cpu, memory, left, model = row
    c, m, count, each = amounts(asked)
    out = [float(NEVER)] * len(left)
    free = [i for i, one in enumerate(left) if one >= each]
    if cpu < c or memory < m or len(free) < count or not models[model]:
        return out
    if count == 0:
        choices: dict[int, list[int]] = {0: []}
    elif count > 1 or each == WHOLE:
        choices = {free[0]: free[:count]}
    else:
        choices = {i: [i] for i in free}
    for at, taken in choices.items():
        after = [one - each * (i in taken) for i, one in enumerate(left)]
        before = lost(cpu, memory, left, model, classes)
        out[at] = before - lost(cpu - c, memory - m, after, model, classes) - 0.125 * sum(after)
    return out


@given(st.lists(node, min_size=1, max_size=6), pod, may, st.lists(expected, max_size=5))
def test_all_forms_agree(nodes: list[Any], asked: Any, models: list[int], cls: list[Any]) -> None:
    free, wanted = devices(nodes), Asked(np.array(amounts(asked)), np.array(models, np.uint8))
    rows = np.arange(len(nodes))
    plain = np.full((len(nodes), 4), NEVER)
    packing_costs.write_values(plain, free, wanted, demand(cls))

    assert plain == pytest.approx(np.array([worth(row, asked, models, cls) for row in nodes]))
    compiled = packing_costs.placement_values(free, rows, wanted, demand(cls))
    assert (compiled == plain).all()


@pytest.mark.parametrize(
    ("classes", "number", "models"),
    [
        pytest.param(0, 8, 2, id="no classes"),
        pytest.param(255, 8, 2, id="255 classes"),
        pytest.param(256, 8, 2, id="256 classes"),
        pytest.param(257, 8, 2, id="257 classes"),
        pytest.param(5_000, 2, 2, id="5,000 classes"),
        pytest.param(3, 200, 2, id="200 devices"),
        pytest.param(3, 2, 3_000, id="3,000 models"),
    ],
)
def test_the_kernel_takes_any_number(classes: int, number: int, models: int) -> None:
    if "placements" not in kernels.built:
        pytest.skip("the kernels were not compiled")
    rng = np.random.default_rng(classes + number)
    left = rng.choice(np.array([0, 190, 470, 1000], np.int32), (3, number))
    room = rng.integers(1, 40, (2, 3))
    free = Devices(room[0], room[1], left, rng.integers(0, models, 3).astype(np.int32))
    count = 1 + np.arange(classes) % 2
    requests = np.array([1 + np.arange(classes) % 37, count, count, 1000 // count]).T.copy()
    allowed = rng.integers(0, 2, (classes, models)).astype(np.uint8)
    expected = Demand(requests, allowed, rng.random((classes, 3)), 0.125)
    wanted = Asked(np.array([1, 1, 1, 1000]), np.ones(models, np.uint8))
    compiled, plain = np.zeros((3, number)), np.zeros((3, number))

    assert kernels.run("placements", compiled, np.arange(3), *free, *wanted, *expected)

    packing_costs.write_values(plain, free, wanted, expected)
    assert (compiled == plain).all()
    assert (plain > NEVER).any()


def test_columns_that_do_not_belong_together_are_refused() -> None:
    if "placements" not in kernels.built:
        pytest.skip("the kernels were not compiled")
    kernel, out = kernels.built["placements"], np.zeros((1, 4))
    free = devices([(1, 1, [1000] * 4, 0)])
    wanted = Asked(np.zeros(4, np.int64), np.ones(MODELS, np.uint8))
    short = free._replace(memory=np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="differ in length"):
        kernel(out, np.arange(1), *short, *wanted, *demand([]))
    with pytest.raises(IndexError, match="no such row"):
        kernel(out, np.array([1]), *free, *wanted, *demand([]))
