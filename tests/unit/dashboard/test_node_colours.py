"""What nodes can be coloured by that no request tells: usage, price, fragmentation of GPUs."""

from typing import Any

from moorage.policies.gpu.devices import annotations
from moorage.policies.telemetry.node_measurements import CPU_ANNOTATION, MEMORY_ANNOTATION
from moorage.testing import node, pod
from tests.unit.dashboard.shown import CONFIG, Finished, finished, get

COST = "CostOptimizationPlugin"


def told(run: Finished) -> dict[str, dict[str, Any]]:
    """The columns of each node."""
    nodes = get(run.sources, "cluster")["nodes"]
    names = nodes.pop("name")
    return {
        name: {column: values[row] for column, values in nodes.items()}
        for row, name in enumerate(names)
    }


def test_prices_are_those_of_the_cost_policy_and_unknown_without_one() -> None:
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": COST}]}},
        "pluginConfig": [{"name": COST, "args": {"instancePrices": {"large": 1.5}}}],
    }
    made = node("a").labelled({"node.kubernetes.io/instance-type": "large"}).offering(cpu="4")

    priced = told(finished(made, seconds=1, config={**CONFIG, "profiles": [profile]}))
    plain = told(finished(made, seconds=1))

    assert priced["a"]["price"] == 1.5
    assert plain["a"]["price"] is None


def test_usage_is_the_larger_part_of_cpu_and_memory_where_it_is_measured() -> None:
    measured = {CPU_ANNOTATION: "1", MEMORY_ANNOTATION: "6Gi"}
    found = told(
        finished(
            node("a").offering(cpu="4", memory="8Gi").annotated(measured),
            node("b").offering(cpu="4", memory="8Gi"),
            seconds=1,
        )
    )

    assert (found["a"]["usage"], found["b"]["usage"]) == (0.75, None)


def test_fragmentation_is_the_part_of_what_is_idle_on_gpus_that_are_partly_used() -> None:
    half = {annotations.DEVICES: "0", annotations.MILLI: "500", annotations.NODE: "pieces"}
    gpus = {"cpu": "8", "nvidia.com/gpu": "2"}
    found = told(
        finished(
            node("whole").offering(gpus),
            node("pieces").offering(gpus),
            node("none").offering(cpu="8"),
            pod("one").requesting({"cpu": "1", "nvidia.com/gpu": "1"}).on("whole"),
            pod("half").requesting(cpu="1").annotated({**half, "gpu-fraction": "0.5"}).on("pieces"),
            seconds=1,
        )
    )

    assert [found[name]["gpu"] for name in ("whole", "pieces", "none")] == [0.5, 0.25, None]
    assert found["whole"]["gpu_fragmentation"] == 0.0
    assert found["pieces"]["gpu_fragmentation"] == 0.333
    assert found["none"]["gpu_fragmentation"] is None
