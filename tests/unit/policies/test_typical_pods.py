"""Which pods to expect, and what their room is worth."""

import numpy as np

from moorage.cache.interner import Interner
from moorage.policies.gpu.gpu_request import GPURequest
from moorage.policies.gpu.packing_costs import Devices, placement_values
from moorage.policies.gpu.typical_pods import (
    MOST_PRICED,
    MOST_TYPICAL,
    REMEMBERED,
    TypicalPods,
)

ONE = GPURequest(8_000, 10, 1, 1000)
EIGHT = GPURequest(64_000, 80, 8, 1000)


def free(*cpus: int, models: tuple[int, ...] = ()) -> Devices:
    count = len(cpus)
    return Devices(
        np.array(cpus, dtype=np.int64),
        np.full(count, 1_000, dtype=np.int64),
        np.full((count, 8), 1000, dtype=np.int32),
        np.array(models or (0,) * count, dtype=np.int32),
    )


def learnt(devices: Devices, *pods: GPURequest, models: tuple[str, ...] = ("",)) -> TypicalPods:
    typical = TypicalPods(Interner(models))
    for pod in pods:
        typical.see(pod)
    typical.renew(devices, 8000 * len(devices.cpu))
    return typical


def best(typical: TypicalPods, devices: Devices, pod: GPURequest) -> int:
    rows = np.arange(len(devices.cpu))
    values = placement_values(devices, rows, typical.asked(pod), typical.demand)
    return int(values.max(axis=1).argmax())


def test_a_pod_goes_where_its_cpu_leaves_no_gpu_without_any() -> None:
    devices = free(64_000, 128_000)
    typical = learnt(devices, *[ONE] * 20)

    assert best(typical, devices, GPURequest(30_000, 10, 1, 1000)) == 1
    assert best(typical, devices, GPURequest(30_000, 10)) == 1


def test_room_that_few_nodes_have_is_kept_for_the_pods_that_need_it() -> None:
    devices = free(60_000, 128_000)
    heavy = GPURequest(20_000, 10, 1, 1000)
    large = EIGHT._replace(cpu=120_000)
    usual = [*[ONE] * 40, heavy]

    assert best(learnt(devices, *usual), devices, heavy) == 1
    assert best(learnt(devices, *usual, *[large] * 5), devices, heavy) == 0


def test_a_share_goes_to_the_device_that_it_completes() -> None:
    devices = free(64_000)
    devices.left[0, :3] = (530, 1000, 470)
    typical = learnt(devices, *[GPURequest(1_000, 1, 1, 470)] * 10, *[ONE] * 10)

    asked = typical.asked(GPURequest(1_000, 1, 1, 470))
    assert placement_values(devices, np.arange(1), asked, typical.demand)[0].argmax() == 2


def test_a_model_that_others_name_is_left_to_them() -> None:
    devices = free(64_000, 64_000, models=(1, 2))
    named = ONE._replace(models=frozenset({"A100"}))
    typical = learnt(devices, *[named] * 5, *[ONE] * 5, models=("", "A100", "T4"))

    assert best(typical, devices, ONE) == 1
    assert best(typical, devices, named) == 0


def test_the_demand_is_renewed_as_pods_add_up_and_when_a_model_is_new() -> None:
    models = Interner([""])
    typical = TypicalPods(models)
    assert not typical.is_due()
    typical.see(ONE)
    assert typical.is_due()
    typical.renew(free(1), 8000)
    assert (typical.is_due(), typical.version) == (False, 1)
    models.intern("A100")
    assert typical.is_due()


def test_what_was_long_ago_counts_for_less() -> None:
    old, new = ONE, ONE._replace(cpu=1_000)
    devices = free(64_000)
    typical = learnt(devices, *[old] * (REMEMBERED - 1), *[new] * (REMEMBERED // 2))

    share = dict(zip(typical.demand.requests[:, 0].tolist(), typical.demand.weights, strict=True))
    assert share[1_000][0] > 0.49


def test_where_pods_end_room_is_kept_for_more_of_the_large_ones() -> None:
    devices = free(*[64_000] * 4)
    devices.left[1:] = 0
    pods = [*[ONE] * 16, EIGHT]
    few, many = learnt(devices, *pods), learnt(devices, *pods * 4)

    assert many.demand.weights[-1, 2] > few.demand.weights[-1, 2]


def test_where_pods_end_a_pod_goes_beside_others_so_that_emptier_nodes_drain() -> None:
    devices = free(*[512_000] * 4)
    devices.left[1:, 0] = 0
    devices.left[2, :7] = 0
    still, turning = learnt(devices, *[ONE] * 9), learnt(devices, *[ONE] * 200)

    assert turning.demand.packing > 2 * still.demand.packing
    assert best(turning, devices, ONE) == 2


def test_of_very_many_classes_the_most_frequent_count() -> None:
    """What an attempt costs does not grow with them, nor with those that fit nowhere."""
    devices = free(*[64_000] * 3)
    vain = [EIGHT._replace(cpu=10**6 + each) for each in range(300)]
    rare = [ONE._replace(cpu=each) for each in range(1, 4_700)]
    typical = learnt(devices, *[*vain, EIGHT, EIGHT, *rare, *[ONE] * 3])

    assert len(typical.demand.requests) <= MOST_TYPICAL + MOST_PRICED
    assert typical.demand.requests[:2, 0].tolist() == [ONE.cpu, EIGHT.cpu]
    assert typical.demand.weights[-1, 2] > 0, "the eight fit somewhere, so that they have a price"
    assert best(typical, devices, ONE) in range(3)
