"""Nodes that really use little cpu and memory first, and none that use too much."""

from typing import Any

import pytest

from moorage.policies.load.low_cpu import CPU_TOO_HIGH, MEMORY_TOO_HIGH, LowCpuScheduler
from moorage.policies.telemetry import node_measurements
from moorage.policies.telemetry.node_measurements import Usage
from moorage.testing import Cluster, NodeBuilder, node, pod
from tests.unit.policies.asking import faults, refusals, scores, world

NOW = 1_000_000.0
GB = 2**30
CPU_ONLY = LowCpuScheduler(memory_weight=0)


def using(name: str, cpu: str, memory: str = "0", at: str | None = None) -> NodeBuilder:
    """A node of 4 cores and 16 GB that says what it uses."""
    said = {node_measurements.CPU_ANNOTATION: cpu, node_measurements.MEMORY_ANNOTATION: memory}
    return node(name).annotated(
        said | ({} if at is None else {node_measurements.TIME_ANNOTATION: at})
    )


def measured(cluster: Cluster, name: str, cores: float, at: float, memory: float = 0) -> None:
    usage = Usage(cpu=cores * 1000, memory=memory * GB, at=at)
    node_measurements.usage_store(cluster.profile.shared).record(name, usage)


def test_the_less_cpu_a_node_uses_the_better() -> None:
    cluster = world(CPU_ONLY, using("idle", "0"), using("half", "2"), using("busy", "4"))

    assert scores(cluster, pod("p"), NOW) == {"busy": 0, "half": 50, "idle": 100}


def test_memory_counts_as_much_as_cpu_unless_told_otherwise() -> None:
    cluster = world(LowCpuScheduler(), using("a", "1", "12Gi"))

    assert scores(cluster, pod("p"), NOW) == {"a": 50}
    heavy = LowCpuScheduler(cpu_weight=1, memory_weight=4)
    assert scores(world(heavy, using("a", "1", "12Gi")), pod("p"), NOW) == {"a": 35}


def test_a_node_that_uses_more_than_80_percent_is_refused() -> None:
    cluster = world(
        LowCpuScheduler(),
        using("fine", "3200m", "12Gi"),
        using("cpu", "3300m"),
        using("memory", "0", "13Gi"),
        using("both", "4", "16Gi"),
        node("silent"),
    )

    assert refusals(cluster, pod("p"), NOW) == {
        "both": f"{CPU_TOO_HIGH}, {MEMORY_TOO_HIGH}",
        "cpu": CPU_TOO_HIGH,
        "memory": MEMORY_TOO_HIGH,
    }


def test_thresholds_are_arguments() -> None:
    cluster = world(LowCpuScheduler(cpu_threshold=0.5), using("a", "2100m"), using("b", "1900m"))

    assert refusals(cluster, pod("p"), NOW) == {"a": CPU_TOO_HIGH}


def test_a_node_without_metrics_is_judged_by_the_requests_of_its_pods() -> None:
    resident = pod("x").requesting(cpu="3", memory="4Gi").on("a")
    cluster = world(LowCpuScheduler(), node("a"), node("b"), resident)

    assert scores(cluster, pod("p"), NOW) == {"a": 50, "b": 100}
    assert refusals(cluster, pod("p"), NOW) == {}


@pytest.mark.parametrize(
    ("age", "want"),
    [
        pytest.param(0, 100, id="what was just measured is trusted"),
        pytest.param(60, 100, id="for a minute"),
        pytest.param(180, 75, id="then less and less, half way to stale half"),
        pytest.param(300, 50, id="and after five minutes requests are all there is"),
        pytest.param(9999, 50, id="from then on"),
        pytest.param(-30, 100, id="a clock that is ahead does no harm"),
    ],
)
def test_stale_measurements_decay_to_requests(age: int, want: int) -> None:
    """The node uses nothing, and half of its cpu is requested."""
    resident = pod("x").requesting(cpu="2").on("a")
    cluster = world(CPU_ONLY, using("a", "0", at=str(NOW - age)), resident)

    assert scores(cluster, pod("p"), NOW) == {"a": want}


def test_a_stale_measurement_refuses_nobody() -> None:
    cluster = world(LowCpuScheduler(), using("a", "4", at=str(NOW - 299)))

    assert refusals(cluster, pod("p"), NOW) == {"a": CPU_TOO_HIGH}
    assert refusals(cluster, pod("p"), NOW + 1) == {}


def test_times_may_be_written_as_kubernetes_writes_them() -> None:
    cluster = world(CPU_ONLY, using("a", "2", at="2026-01-01T00:00:00Z"))

    assert scores(cluster, pod("p"), 1_767_225_600.0) == {"a": 50}
    assert scores(cluster, pod("p"), 1_767_225_600.0 + 999) == {"a": 100}


def test_what_is_no_quantity_is_not_known() -> None:
    assert scores(world(CPU_ONLY, using("a", "much", "?")), pod("p"), NOW) == {"a": 100}


def test_measurements_come_through_the_store_too() -> None:
    cluster = world(LowCpuScheduler(), node("a"), node("b"))

    measured(cluster, "a", 1, NOW, memory=4)
    measured(cluster, "elsewhere", 4, NOW)

    assert scores(cluster, pod("p"), NOW) == {"a": 75, "b": 100}
    measured(cluster, "a", 4, NOW + 1)
    assert refusals(cluster, pod("p"), NOW + 1) == {"a": CPU_TOO_HIGH}
    node_measurements.usage_store(cluster.profile.shared).forget("a")
    assert refusals(cluster, pod("p"), NOW + 1) == {}


def test_of_two_measurements_the_newer_counts() -> None:
    cluster = world(CPU_ONLY, using("a", "1", at=str(NOW)), using("b", "1", at=str(NOW)))

    measured(cluster, "a", 2, NOW - 10)
    measured(cluster, "b", 2, NOW + 10)

    assert scores(cluster, pod("p"), NOW + 10) == {"a": 75, "b": 50}


def test_a_node_that_takes_anothers_row_does_not_take_its_measurement() -> None:
    cluster = world(CPU_ONLY, node("a"))
    measured(cluster, "a", 2, NOW)
    assert scores(cluster, pod("p"), NOW) == {"a": 50}

    cluster.cache.remove_node(node("a").build())
    cluster.add(node("b"))

    assert scores(cluster, pod("p"), NOW) == {"b": 100}


def test_pods_just_placed_count_before_metrics_show_them() -> None:
    cluster = world(CPU_ONLY, using("a", "1", at=str(NOW)), using("b", "2", at=str(NOW)))
    assert scores(cluster, pod("p"), NOW) == {"a": 75, "b": 50}

    cluster.cache.assume(cluster.cache.info(pod("x").requesting(cpu="2").build()), "a")

    assert scores(cluster, pod("p"), NOW + 5) == {"a": 25, "b": 50}
    cluster.add(using("a", "2", at=str(NOW + 10)))
    assert scores(cluster, pod("p"), NOW + 15) == {"a": 50, "b": 50}


def test_so_a_burst_of_pods_does_not_land_on_one_node() -> None:
    cluster = Cluster(using("a", "0"), using("b", "200m"), plugins=[LowCpuScheduler()], alone=True)

    placed = [cluster.place(pod(f"p{i}").requesting(cpu="400m")) for i in range(6)]

    assert sorted(map(str, placed)) == ["a"] * 3 + ["b"] * 3


def test_a_pod_that_is_confirmed_has_not_arrived_anew() -> None:
    cluster = world(CPU_ONLY, using("a", "1", at=str(NOW)))
    asks = pod("x").requesting(cpu="2")
    scores(cluster, pod("p"), NOW)
    cluster.cache.assume(cluster.cache.info(asks.build()), "a")
    assert scores(cluster, pod("p"), NOW) == {"a": 25}
    cluster.add(using("a", "3", at=str(NOW + 20)))
    assert scores(cluster, pod("p"), NOW + 20) == {"a": 25}

    cluster.add(asks.on("a"))

    assert scores(cluster, pod("p"), NOW + 30) == {"a": 25}


def test_a_trial_leaves_no_trace() -> None:
    resident = pod("x").requesting(cpu="2").on("a")
    cluster = world(CPU_ONLY, using("a", "2", at=str(NOW)), resident)
    assert scores(cluster, pod("p"), NOW) == {"a": 50}
    info = cluster.cache.pod("default/x")
    assert info is not None

    with cluster.cache.trial():
        cluster.cache.displace(info)
        scores(cluster, pod("p"), NOW + 1)

    assert scores(cluster, pod("p"), NOW + 2) == {"a": 50}


def test_pods_that_say_when_they_started_count_from_then() -> None:
    started = pod("x").requesting(cpu="1").on("a")
    started.raw["status"]["startTime"] = "1970-01-12T13:46:50Z"
    cluster = world(CPU_ONLY, using("a", "1", at=str(NOW)), started)
    assert NOW + 10 == 1_000_010

    assert scores(cluster, pod("p"), NOW + 20) == {"a": 50}


@pytest.mark.parametrize(
    ("args", "want"),
    [
        pytest.param(
            {"cpuWeight": 0, "memoryWeight": 0},
            "cpuWeight: must be above 0, or memoryWeight",
            id="weights that weigh nothing",
        ),
        pytest.param(
            {"freshFor": "5m0s"}, "staleAfter: must be above freshFor", id="fresh beyond stale"
        ),
        pytest.param(
            {"metricProvider": {"type": "Prometheus", "address": "prometheus:9090"}},
            "metricProvider.address: the URL of a Prometheus server, such as "
            "http://prometheus.monitoring:9090",
            id="Prometheus at no URL",
        ),
        pytest.param(
            {"metricProvider": {"address": "http://prometheus:9090"}},
            "metricProvider.type: must be Prometheus for its address to be asked",
            id="Prometheus that is not asked",
        ),
        pytest.param(
            {"metricProvider": {"interval": "0s"}},
            "metricProvider.interval: must be above 0s",
            id="asking all the time",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused(args: dict[str, Any], want: str) -> None:
    assert faults(LowCpuScheduler) == []
    assert faults(LowCpuScheduler, **args) == [want]
