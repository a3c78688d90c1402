"""Every KPI against a run small enough to be worked out by hand.

Two nodes of 4 cpu, n1 in zone a at 2.00 an hour, n2 in zone b at 1.00. All times in hours here:

    a  tenant red   2 cpu   arrives 0, on n1 from 0 to 2
    b  tenant red   2 cpu   arrives 0, on n2 from 1, stopped at 2, on n1 from 2, done at 4
    c  tenant blue  4 cpu   arrives 1, on n2 from 2 to 4
    d  tenant blue  8 cpu   arrives 3, never placed

So it lasts from 0 to 4, and its steps are 0-1, 1-2, 2-4.
"""

from pathlib import Path

import pytest

from moorage.kpi.meter import Meter, PodFacts
from moorage.kpi.pod_times import PodKind
from moorage.kpi.settings import KpiSettings, TypicalPod
from moorage.kpi.summary import Kpis, as_data, flat, summarize

H = 3600.0


def facts(tenant: str, cpu: float, cls: str = "cpu", workload: str = "") -> PodFacts:
    return PodFacts(PodKind(tenant, 0, cls), {"cpu": cpu}, workload=workload)


def metered() -> Meter:
    settings = KpiSettings(
        slo_wait_seconds=H / 2, typical=(TypicalPod({"cpu": 3.0}),), sample_seconds=H
    )
    meter = Meter(settings, start=0.0)
    meter.node_joined(0.0, "n1", {"cpu": 4.0}, 2.0, "a")
    meter.node_joined(0.0, "n2", {"cpu": 4.0}, 1.0, "b")
    meter.pod_arrived(0.0, "a", facts("red", 2, workload="web"))
    meter.pod_placed(0.0, "a", "n1")
    meter.pod_arrived(0.0, "b", facts("red", 2, workload="web"))
    meter.pod_arrived(1 * H, "c", facts("blue", 4))
    meter.pod_placed(1 * H, "b", "n2")
    meter.pod_stopped(2 * H, "b", work_lost=H)
    meter.pod_completed(2 * H, "a")
    meter.pod_placed(2 * H, "b", "n1")
    meter.pod_placed(2 * H, "c", "n2")
    meter.pod_arrived(3 * H, "d", facts("blue", 8))
    meter.pod_completed(4 * H, "b")
    meter.pod_completed(4 * H, "c")
    meter.attempts = 6
    return meter


@pytest.fixture
def kpis() -> Kpis:
    return summarize(metered())


def test_waiting_is_from_arrival_to_the_first_node(kpis: Kpis) -> None:
    """0, 1 and 1 hours."""
    assert kpis.wait_s.mean == pytest.approx(2 / 3 * H)
    assert kpis.wait_s.p50 == H
    assert kpis.wait_s.p95 == H
    assert kpis.by_tenant["red"].wait_s.p50 == H / 2
    assert kpis.by_tenant["red"].wait_s.p95 == pytest.approx(0.95 * H)


def test_completion_includes_what_was_done_twice(kpis: Kpis) -> None:
    """2, 4 and 3 hours."""
    assert kpis.completion_s.mean == 3 * H
    assert kpis.completion_s.max == 4 * H


def test_pods_are_counted_once(kpis: Kpis) -> None:
    assert (kpis.pods, kpis.finished, kpis.never_placed) == (4, 3, 1)
    assert kpis.by_tenant["blue"].never_placed == 1
    assert kpis.makespan_s == 4 * H


def test_the_target_is_missed_by_who_never_had_a_node(kpis: Kpis) -> None:
    assert kpis.slo_attained == 1 / 4


def test_allocation_is_the_area_asked_for_of_the_area_offered(kpis: Kpis) -> None:
    """2 x 1 + 4 x 1 + 6 x 2 = 18 of 32 cpu-hours."""
    assert kpis.allocation == {"cpu": 18 / 32}
    assert kpis.utilisation == {"cpu": 18 / 32}
    assert kpis.allocation_peak == {"cpu": 6 / 8}
    assert kpis.allocation_end == {"cpu": 0.0}


def test_utilisation_is_what_is_used_of_what_is_asked_for() -> None:
    meter = Meter(KpiSettings(), 0.0)
    meter.node_joined(0.0, "n", {"cpu": 4.0})
    meter.pod_arrived(0.0, "p", PodFacts(PodKind("t", 0, "cpu"), {"cpu": 2.0}, usage=0.5))
    meter.pod_placed(0.0, "p", "n")
    meter.pod_completed(10.0, "p")

    found = summarize(meter)

    assert found.allocation == {"cpu": 0.5}
    assert found.utilisation == {"cpu": 0.25}


def test_balance_is_one_less_the_mean_deviation(kpis: Kpis) -> None:
    """0.5 and 0: 0.25 off. 0.5 and 0.5: even. 0.5 and 1: 0.25 off, for two hours."""
    assert kpis.balance["cpu"] == pytest.approx(1 - (0.25 + 0 + 2 * 0.25) / 4)


def test_fragmentation_is_the_idle_that_a_typical_pod_cannot_use(kpis: Kpis) -> None:
    """A pod of 3: at 0 h n1 has 2 idle and n2 4: 2/6. At 1 h 2 and 2, at 2 h and 3 h 2 and 0: all
    of it. At the end 4 and 4: none."""
    moments = [share for _, share in metered_moments()]
    assert moments == pytest.approx([1 / 3, 1.0, 1.0, 1.0, 0.0])
    assert kpis.fragmentation["cpu"] == pytest.approx(sum(moments) / 5)


def metered_moments() -> list[tuple[float, float]]:
    meter = metered()
    meter.finish()
    return [(time, moment.fragmentation["cpu"]) for time, moment in meter.samples.points]


def test_a_node_costs_while_it_is_in_use(kpis: Kpis) -> None:
    """n1 all of 4 hours at 2, n2 from 1 to 4 at 1."""
    assert kpis.cost == 4 * 2 + 3 * 1
    assert kpis.cost_provisioned == 4 * 2 + 4 * 1


def test_a_node_is_paid_for_by_who_is_on_it(kpis: Kpis) -> None:
    """red: n1 for 4 hours and n2 for 1; blue: n2 for 2."""
    assert kpis.cost_by_namespace == {"blue": 2.0, "red": 9.0}


def test_two_on_a_node_pay_by_their_dominant_shares() -> None:
    meter = Meter(KpiSettings(), 0.0)
    meter.node_joined(0.0, "n", {"cpu": 4.0, "memory": 8.0}, 4.0)
    for name, tenant, asked in (
        ("p", "red", {"cpu": 1.0, "memory": 4.0}),
        ("q", "blue", {"cpu": 1.0, "memory": 1.0}),
    ):
        meter.pod_arrived(0.0, name, PodFacts(PodKind(tenant, 0, "cpu"), asked))
        meter.pod_placed(0.0, name, "n")
    meter.pod_completed(H, "p")
    meter.pod_completed(H, "q")

    assert summarize(meter).cost_by_namespace == pytest.approx({"red": 8 / 3, "blue": 4 / 3})


def test_who_left_a_node_pays_no_more_for_it() -> None:
    """red and blue share n1 for an hour at 2.00; blue has it for another, beside an empty n2."""
    meter = Meter(KpiSettings(), 0.0)
    for name, price in (("n1", 2.0), ("n2", 8.0)):
        meter.node_joined(0.0, name, {"cpu": 4.0}, price)
    for name in ("red", "blue"):
        meter.pod_arrived(0.0, name, facts(name, 2))
        meter.pod_placed(0.0, name, "n1")
    meter.pod_completed(1 * H, "red")
    assert meter.moment().cost_per_hour == 2.0
    meter.pod_completed(2 * H, "blue")
    assert meter.moment().cost_per_hour == 0.0

    found = summarize(meter)

    assert found.cost_by_namespace == {"blue": 3.0, "red": 1.0}


def test_nodes_in_use_over_time(kpis: Kpis) -> None:
    assert (kpis.nodes_used, kpis.nodes_used_peak) == (2, 2)
    assert kpis.nodes_used_mean == (1 + 2 + 2 + 2) / 4


def test_evictions_and_what_they_cost(kpis: Kpis) -> None:
    assert (kpis.evictions, kpis.work_lost_s) == (1, H)


def test_fairness_is_jains_index_of_those_who_are_there(kpis: Kpis) -> None:
    """0-1: red alone. 1-2: red 4/8, blue, who waits, 0: 1/2. 2-4: red 2/8 and blue 4/8: 36/40."""
    assert kpis.fairness == pytest.approx((1 + 0.5 + 2 * 0.9) / 4)
    assert kpis.dominant_share == pytest.approx({"red": (2 + 4 + 2 * 2) / 32, "blue": 8 / 32})


def test_spread_is_looked_at_when_a_pod_is_placed(kpis: Kpis) -> None:
    """web: first 1 and 1; then, a gone already and b moved to n1, it is one pod alone."""
    assert kpis.spread_kept == 1.0


def test_spread_is_lost_where_a_zone_has_two_more() -> None:
    meter = Meter(KpiSettings(), 0.0)
    for name, zone in (("n1", "a"), ("n2", "b")):
        meter.node_joined(0.0, name, {"cpu": 4.0}, zone=zone)
    for name, node in (("p", "n1"), ("q", "n1"), ("r", "n2")):
        meter.pod_arrived(0.0, name, facts("t", 1, workload="web"))
        meter.pod_placed(0.0, name, node)

    assert summarize(meter).spread_kept == 1 / 2


def test_attempts(kpis: Kpis) -> None:
    assert kpis.attempts_per_pod == 6 / 4
    assert kpis.decisions_per_s == pytest.approx(6 / (4 * H))


def test_a_gang_is_placed_once_enough_of_it_run_together() -> None:
    meter = Meter(KpiSettings(), 0.0)
    meter.node_joined(0.0, "n", {"cpu": 4.0})
    for gang, size in (("whole", 2), ("half", 2)):
        for index in range(2):
            asked = PodFacts(PodKind("t", 0, "cpu"), {"cpu": 1.0}, gang=gang, gang_size=size)
            meter.pod_arrived(0.0, f"{gang}{index}", asked)
    for pod in ("whole0", "whole1", "half0"):
        meter.pod_placed(0.0, pod, "n")

    found = summarize(meter)

    assert (found.gangs, found.gangs_never_placed) == (2, 1)


def test_a_gang_that_goes_before_it_was_whole_was_never_placed() -> None:
    meter = Meter(KpiSettings(), 0.0)
    meter.node_joined(0.0, "n", {"cpu": 4.0})
    for gang, placed in (("whole", 2), ("half", 1)):
        asked = PodFacts(PodKind("t", 0, "cpu"), {"cpu": 1.0}, gang=gang, gang_size=2)
        for index in range(2):
            meter.pod_arrived(0.0, f"{gang}{index}", asked)
        for index in range(placed):
            meter.pod_placed(1.0, f"{gang}{index}", "n")
        for index in range(2):
            meter.pod_withdrawn(2.0, f"{gang}{index}")

    found = summarize(meter)

    assert (found.gangs, found.gangs_never_placed) == (2, 1)


def test_pods_are_told_apart_by_class_and_priority() -> None:
    meter = Meter(KpiSettings(), 0.0)
    meter.node_joined(0.0, "n", {"cpu": 4.0})
    for name, priority, cls in (("p", 10, "8-gpu"), ("q", 0, "cpu")):
        meter.pod_arrived(0.0, name, PodFacts(PodKind("t", priority, cls), {"cpu": 1.0}))
    meter.pod_placed(5.0, "p", "n")

    found = summarize(meter)

    assert found.by_class["8-gpu"].wait_s.mean == 5.0
    assert found.by_class["cpu"].never_placed == 1
    assert found.by_priority["10"].never_placed == 0


def test_a_pod_that_is_withdrawn_neither_ends_nor_is_evicted() -> None:
    meter = Meter(KpiSettings(), 0.0)
    meter.node_joined(0.0, "n", {"cpu": 4.0})
    meter.pod_arrived(0.0, "p", facts("t", 2))
    meter.pod_placed(0.0, "p", "n")
    meter.pod_withdrawn(5.0, "p")

    found = summarize(meter)

    assert (found.finished, found.evictions, found.allocation) == (0, 0, {"cpu": 0.5})


def test_what_becomes_of_nodes_after_the_last_pod_is_no_part_of_the_run() -> None:
    """2 of 8 cpu for 10 s at 2 x 3600 an hour; that n1 goes and n3 comes is later."""
    meter = Meter(KpiSettings(sample_seconds=5.0), 0.0)
    meter.node_joined(0.0, "n1", {"cpu": 4.0}, 3600.0)
    meter.node_joined(0.0, "n2", {"cpu": 4.0}, 3600.0)
    meter.pod_arrived(0.0, "p", facts("t", 2))
    meter.pod_placed(0.0, "p", "n1")
    meter.pod_completed(10.0, "p")
    meter.node_left(30.0, "n1")
    meter.node_joined(50.0, "n3", {"cpu": 4.0}, 3600.0)

    found = summarize(meter)

    assert (found.makespan_s, found.cost_provisioned) == (10.0, 20.0)
    assert (found.allocation, found.balance) == ({"cpu": 0.25}, {"cpu": 0.75})
    assert [time for time, _ in meter.samples.points] == [0.0, 5.0, 10.0]


def test_what_becomes_of_nodes_counts_from_when_it_was() -> None:
    """4 cpu for 2 s, 8 for 3 s, 4 for 5 s: 52 cpu-seconds, of which 20 are asked for."""
    meter = Meter(KpiSettings(), 0.0)
    meter.node_joined(0.0, "n1", {"cpu": 4.0}, 3600.0)
    meter.pod_arrived(0.0, "p", facts("t", 2))
    meter.pod_placed(0.0, "p", "n1")
    meter.node_joined(2.0, "n2", {"cpu": 4.0}, 3600.0)
    meter.node_left(5.0, "n2")

    assert not meter.has_room("n2", {"cpu": 1.0})

    meter.pod_completed(10.0, "p")
    found = summarize(meter)

    assert found.allocation["cpu"] == pytest.approx(20 / 52)
    assert found.cost_provisioned == 13.0


def test_the_peak_may_come_when_an_empty_node_goes() -> None:
    meter = Meter(KpiSettings(), 0.0)
    for name in ("n1", "n2"):
        meter.node_joined(0.0, name, {"cpu": 4.0})
    meter.pod_arrived(0.0, "p", facts("t", 4))
    meter.pod_placed(0.0, "p", "n1")
    meter.node_left(5.0, "n2")
    meter.settled(10.0)

    found = summarize(meter)

    assert (found.allocation_peak, found.allocation_end) == ({"cpu": 1.0}, {"cpu": 1.0})


def test_a_run_ends_with_a_pod_that_is_withdrawn_while_it_waits() -> None:
    meter = Meter(KpiSettings(), 0.0)
    meter.node_joined(0.0, "n", {"cpu": 4.0}, 3600.0)
    meter.pod_arrived(0.0, "p", facts("t", 8))
    meter.pod_withdrawn(5.0, "p")

    found = summarize(meter)

    assert (found.makespan_s, found.cost_provisioned) == (5.0, 5.0)


def test_a_run_without_length_is_worth_what_it_ends_with() -> None:
    meter = Meter(KpiSettings(), 7.0)
    meter.node_joined(0.0, "n", {"cpu": 4.0}, 1.0)
    meter.pod_arrived(7.0, "p", facts("t", 2))
    meter.pod_placed(7.0, "p", "n")

    found = summarize(meter)

    assert found.allocation == {"cpu": 0.5}
    assert (found.cost, found.nodes_used, found.wait_s.max) == (0.0, 1, 0.0)


def test_every_number_has_a_path(kpis: Kpis) -> None:
    found = dict(flat(as_data(kpis)))

    assert found["wait_s.p50"] == H
    assert found["by_tenant.blue.never_placed"] == 1


def test_every_kpi_is_defined() -> None:
    text = (Path(__file__).parents[3] / "docs" / "kpis.md").read_text()
    missing = [name for name in Kpis.__struct_fields__ if f"`{name}" not in text]

    assert not missing
