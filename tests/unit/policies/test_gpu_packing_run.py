"""A whole attempt places GPU pods where the cost functions say, and no device is promised twice."""

import random

import numpy as np

from moorage.cycle import attempt
from moorage.cycle.attempt import Decision
from moorage.framework.cycle import Cycle
from moorage.policies.gpu import gpu_packing
from moorage.policies.gpu.devices.pod_dialects import gpu_request
from moorage.policies.gpu.gpu_packing import GPUPacking
from moorage.policies.gpu.packing_costs import placement_values
from moorage.testing import Cluster, node, pod

MILLI, COUNT = "alibabacloud.com/gpu-milli", "alibabacloud.com/gpu-count"
SHAPES = ((3, 810, 1), (8, 470, 1), (4, 320, 1), (11, 1000, 1), (16, 1000, 2), (40, 1000, 4))


def test_pods_go_where_they_are_worth_most() -> None:
    chance = random.Random(4)
    boxes = [
        node(f"n{i}").offering({COUNT: "4"}, cpu=str(chance.choice([160, 240, 400])), memory="64Gi")
        for i in range(12)
    ]
    cluster = Cluster(*boxes, plugins=[GPUPacking()], alone=True)
    table, placed = cluster.cache.table, 0
    for step in range(70):
        cpu, milli, count = chance.choice(SHAPES)
        asked = pod(f"p{step}").requesting(cpu=str(cpu), memory="1Gi")
        info = cluster.cache.info(asked.annotated({MILLI: str(milli), COUNT: str(count)}).build())
        cycle = Cycle(cluster.cache, info, shared={})
        answer = attempt.run(cluster.profile, cycle, keep_scores=True)
        packed = gpu_packing.packed_gpus(table)
        wanted, demand = packed.typical.asked(gpu_request(info)), packed.typical.demand
        rows = np.arange(table.rows)
        best = placement_values(packed.columns.free(table), rows, wanted, demand).max(axis=1)
        if not isinstance(answer, Decision):
            assert best.max() == -np.inf
            continue
        placed += 1
        assert round(best[table.row_of[answer.node]], 3) == round(best.max(), 3)
        cluster.cache.assume(info, answer.node)
        packed.columns.validate(table)
        assert packed.columns.left.min() >= 0
    assert placed > 40


def test_three_hundred_shapes_stop_no_pod() -> None:
    cluster = Cluster(
        *(node(f"n{i}").offering({COUNT: "8"}, cpu="64", memory="64Gi") for i in range(3)),
        plugins=[GPUPacking()],
    )
    for step in range(300):
        asked = pod(f"p{step}").requesting(cpu=f"{100 + step}m").annotated({MILLI: "1000"})
        large = asked.annotated({MILLI: "1000", COUNT: str(2 + step % 7)})
        assert cluster.place(large.with_spec(nodeSelector={"no": "such"})) is None

    assert cluster.place(pod("victim").requesting(cpu="1")) is not None
    assert cluster.place(pod("other").annotated({MILLI: "1000", COUNT: "2"})) is not None
