"""Throughput and latency come out as upstream and Prometheus define them."""

import asyncio

import pytest

from bench.perf import kept, report, throughput
from bench.perf import pods as pods_module
from bench.perf.attempts import Histogram
from bench.perf.barrier import Barrier
from bench.perf.pods import Pods
from bench.perf.throughput import Collector
from bench.perf.ticker import Ticker
from moorage.testing import pod

PAGES = ("performance.md", "scheduler-perf.md")


def _collector() -> Collector:
    return Collector(frozenset(["default"]), {"type": "measured"})


def test_only_pods_of_its_namespaces_and_labels_are_counted() -> None:
    collector = _collector()
    measured = pod("a").labelled({"type": "measured"})

    collector.scheduled(measured.build())
    collector.scheduled(pod("b").build())
    collector.scheduled(pod("c", "other").labelled({"type": "measured"}).build())

    assert collector.result().pods == 1


def test_the_first_sample_is_left_out_and_idle_seconds_are_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(throughput, "INTERVAL", 0.02)
    collector = _collector()
    one = pod("a").labelled({"type": "measured"}).build()

    async def story() -> None:
        task = asyncio.ensure_future(collector.run())
        for count in (5, 4, 0, 2):
            for _ in range(count):
                collector.scheduled(one)
            await asyncio.sleep(0.021)
        await asyncio.sleep(0.03)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(story())
    found = collector.result()

    assert found.pods == 11
    assert found.p99 >= found.p90 >= found.p50 > 0


def test_what_is_over_at_once_is_timed_from_its_first_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gang that is bound at once has waited for its victims first."""
    now = iter([100.0, 101.0, 101.0, 103.0, 103.0])
    monkeypatch.setattr("bench.perf.throughput.time.monotonic", lambda: next(now))
    collector = _collector()
    one = pod("a").labelled({"type": "measured"}).build()

    for tell in (collector.came, collector.came, collector.scheduled, collector.scheduled):
        tell(one)

    assert collector.result().overall == 1.0


def test_pods_that_came_before_are_timed_from_where_it_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = iter([100.0, 104.0])
    monkeypatch.setattr("bench.perf.throughput.time.monotonic", lambda: next(now))
    collector = _collector()

    collector.scheduled(pod("a").labelled({"type": "measured"}).build())

    assert collector.result().overall == 0.25


def test_a_quantile_lies_within_its_bucket() -> None:
    found = Histogram({0.001: 0.0, 0.002: 10.0, 0.004: 20.0, float("inf"): 20.0})

    assert found.quantile(0.5) == pytest.approx(2.0)
    assert found.quantile(0.75) == pytest.approx(3.0)
    assert Histogram({}).quantile(0.5) == 0.0


def test_what_came_before_is_taken_off() -> None:
    before, after = Histogram({1.0: 2.0}), Histogram({1.0: 5.0})

    assert after.since(before).buckets == {1.0: 3.0}
    assert after.since(before).total == 3.0
    assert Histogram({}).total == 0.0


FIGURES = {
    "pods": 10_000,
    "overall": 100.0,
    "average": 95.0,
    "p50": 90.0,
    "p90": 110.0,
    "p99": 120.0,
    "attempt_p99": 3.0,
    "attempts_per_pod": 1.0,
    "cpu_per_pod": 2.0,
    "memory_mb": 100.0,
}
ROW = {
    "case": "SchedulingBasic/5Nodes",
    "nodes": 5000,
    "pods": 11_000,
    "threshold": 680.0,
    "kube-scheduler": FIGURES,
    "moorage": {**FIGURES, "overall": 250.0},
}


def test_a_workload_is_a_line_with_both_and_their_ratio() -> None:
    (line,) = report.table([ROW])[2:]

    assert line.startswith("| SchedulingBasic/5Nodes | 5,000, 11,000 | 100 | 250 | 2.5 |")
    assert line.endswith("| 680 |")


def test_a_page_says_when_and_on_what_its_figures_were_measured() -> None:
    early = {**FIGURES, "date": "2026-11-16", "machine": "2 cores"}
    late = {**FIGURES, "date": "2026-11-18", "machine": "2 cores"}

    both = {**ROW, "kube-scheduler": early, "moorage": late}
    assert report.provenance([both]) == "2026-11-16 to 2026-11-18, 2 cores"
    assert report.provenance([{**both, "moorage": early}]) == "2026-11-16, 2 cores"
    mixed = {**both, "moorage": {**late, "machine": "4 cores"}}
    assert report.provenance([mixed]).endswith(", A: 2 cores; B: 4 cores")
    (line,) = report.table([mixed])[2:]
    assert line.startswith(f"| {mixed['case']} B |")
    assert report.provenance([ROW]) == "undated"


def test_each_topic_has_a_table_of_its_own() -> None:
    volumes = {**ROW, "topic": "volumes", "case": "SchedulingSecrets/5Nodes"}
    few = {**ROW, "topic": "starvation", "moorage": {**FIGURES, "pods": 5}}

    lines = report.tables([volumes, few, {**ROW, "topic": "affinity"}])

    assert [line for line in lines if line.startswith("### ")] == ["### affinity", "### volumes"]
    assert lines[lines.index("### volumes") + 4].startswith("| SchedulingSecrets/5Nodes |")


def test_the_summary_says_of_each_topic_how_far_its_workloads_lie_apart() -> None:
    def row(topic: str, overall: float, cpu: float) -> report.Row:
        return {
            **ROW,
            "topic": topic,
            "moorage": {**FIGURES, "overall": overall, "cpu_per_pod": cpu},
        }

    (affinity, volumes) = report.summary_table(
        [row("volumes", 90.0, 3.0), row("affinity", 250.0, 0.6), row("affinity", 400.0, 0.2)]
    )[2:]

    assert affinity == "| affinity | 2 | 2.5, 3.2, 4.0 | 10%, 20%, 30% |"
    assert volumes == "| volumes | 1 | 0.9, 0.9, 0.9 | 150%, 150%, 150% |"


def test_the_pages_show_what_was_measured_last() -> None:
    rows = sorted(kept.rows(), key=lambda row: (row["topic"], row["case"]))
    summary, details = ((kept.FILE.parents[2] / "docs" / name).read_text() for name in PAGES)

    assert "\n".join([*report.summary_table(rows), "", report.verdict(rows)]) in summary
    assert "\n".join(report.tables(rows)) in details
    assert "\n".join(report.small_table(rows)) in details


def test_the_verdict_counts_who_is_twice_as_fast_and_who_costs_half() -> None:
    slow = {**ROW, "moorage": {**FIGURES, "overall": 90.0, "cpu_per_pod": 1.0}}

    assert report.verdict([ROW, slow]) == (
        "Of 2 workloads 1 are at least twice as fast, 0 more reach 85% of bind-only or of the "
        "limit, and 1 are slower; 1 cost at most half of the CPU per pod."
    )
    assert report.verdict([]) == ""


def test_who_is_nearly_as_fast_as_one_that_decides_nothing_is_fast() -> None:
    """A limit of the machine that nobody reaches who costs anything does not change that."""
    slow = {**FIGURES, "overall": 180.0, "rest_per_pod": 4.0}
    row = {**ROW, "cores": 2, "kube-scheduler": {**FIGURES, "rest_per_pod": 4.0}, "moorage": slow}

    assert not report.is_fast(row)
    assert report.is_fast({**row, "bind-only": {**FIGURES, "overall": 200.0}})
    assert not report.is_fast({**row, "bind-only": {**FIGURES, "overall": 200.0, "others": 0.4}})
    (line,) = report.table([{**row, "bind-only": {**FIGURES, "overall": 200.0}}])[2:]
    assert "| 1.8 | 90% of 200 | 36% of 500 |" in line
    assert line.count("|") == report.HEAD.count("|")


def test_pods_that_leave_are_counted_wherever_they_were() -> None:
    pods = Pods()
    pods.collector = _collector()
    for type_ in ("ADDED", "DELETED"):
        pods._note(type_, pod("a", "elsewhere").build())

    assert pods.collector.gone == 1


def test_of_what_was_measured_beside_other_work_only_the_cpu_is_told() -> None:
    busy = {**ROW, "moorage": {**FIGURES, "others": 0.4}}

    assert report.table([busy])[2:] == []
    (line,) = report.busy_table([busy])[2:]
    assert line == "| SchedulingBasic/5Nodes | 5,000, 11,000 | 2.00 / 2.00 | 1.0 |"
    assert report.busy_table([ROW])[2:] == []
    assert report.carried_out([busy]) == ["SchedulingBasic/5Nodes"]
    assert report.carried_out([ROW]) == []


def test_what_only_one_has_run_is_not_told() -> None:
    row = {name: value for name, value in ROW.items() if name != "moorage"}

    assert report.table([row])[2:] == report.carried_out([row]) == report.faults([row]) == []


def test_a_handful_of_pods_is_told_without_a_ratio() -> None:
    few = {**FIGURES, "pods": 10}
    row = {**ROW, "kube-scheduler": few, "moorage": few}

    assert report.table([row])[2:] == []
    assert report.small_table([ROW])[2:] == []
    (line,) = report.small_table([row])[2:]
    assert line.startswith("| SchedulingBasic/5Nodes | 5,000, 11,000 | 100 / 100 |")


def test_the_share_of_what_the_api_server_bears_is_told() -> None:
    peer, ours = {**FIGURES, "rest_per_pod": 9.0}, {**FIGURES, "rest_per_pod": 8.0}
    row = {**ROW, "cores": 2, "kube-scheduler": {**peer, "overall": 150.0}}

    (line,) = report.table([{**row, "moorage": {**ours, "overall": 200.0}}])[2:]
    assert "| 80% of 250 |" in line
    assert not report.is_fast({**row, "moorage": {**ours, "overall": 200.0}})
    assert report.is_fast({**row, "moorage": {**ours, "overall": 220.0}})


def test_who_schedules_pods_as_they_come_could_not_be_faster() -> None:
    peer = {**FIGURES, "overall": 100.0, "arriving": 110.0}
    ours = {**FIGURES, "overall": 120.0, "arriving": 125.0}
    row = {**ROW, "kube-scheduler": peer, "moorage": ours}

    (line,) = report.table([row])[2:]
    assert "| as fast as they came |" in line
    assert "1 more schedule pods as fast as they come" in report.verdict([row])
    assert not report.keeps_up({**row, "moorage": {**ours, "overall": 100.0}})
    assert not report.keeps_up({**row, "kube-scheduler": {**peer, "arriving": 140.0}})
    assert not report.keeps_up(ROW)


def test_who_is_never_waited_for_could_not_be_faster() -> None:
    ours = {**FIGURES, "overall": 50.0, "arriving": 125.0}

    assert report.keeps_up({**ROW, "moorage": {**ours, "waited": 0.04}})
    assert not report.keeps_up({**ROW, "moorage": {**ours, "waited": 0.3}})


def test_the_time_a_workload_waits_is_part_of_the_whole() -> None:
    collector = Collector(frozenset(["default"]), {})
    assert collector.idle_share == 0.0
    collector._began, collector._scheduled.last, collector.waited = 100.0, 110.0, 2.5

    assert collector.idle_share == 0.25


@pytest.mark.parametrize(
    ("still_deletes", "waited"),
    [
        pytest.param(False, True, id="with nothing else to do it waits for the scheduler"),
        pytest.param(True, False, id="while it still makes room it does not"),
    ],
)
def test_a_workload_waits_for_the_scheduler_when_all_is_done(
    still_deletes: bool, waited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pods_module, "LOOK_SECONDS", 0.01)
    pods = Pods()
    pods.collector = collector = Collector(frozenset(["default"]), {})
    pods.is_leaving = lambda: still_deletes

    async def story() -> None:
        waiting = asyncio.ensure_future(pods.until_scheduled("default", 1, {}))
        await asyncio.sleep(0.03)
        pods._note("ADDED", pod("a").on("n1").build())
        await waiting

    asyncio.run(story())
    assert (collector.waited > 0) is waited


def test_a_workload_goes_on_as_soon_as_the_last_pod_is_there() -> None:
    """It does not wait for the next look: stages of small workloads take less than that."""
    pods = Pods()
    pods.collector = collector = Collector(frozenset(["default"]), {})
    labels = {"type": "measured"}

    async def story() -> int:
        waiting = asyncio.ensure_future(pods.until_scheduled("default", 2, labels))
        turns = 0
        for told in (
            pod("a").labelled(labels).on("n1"),
            pod("b").labelled(labels),
            pod("other").on("n1"),
            pod("b").labelled(labels).on("n2"),
        ):
            assert not waiting.done()
            pods._note("MODIFIED", told.build())
            await asyncio.sleep(0)
        while not waiting.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    assert asyncio.run(story()) < 10
    assert collector.waited < pods_module.LOOK_SECONDS


def test_a_pod_that_leaves_is_missing_again() -> None:
    barrier = Barrier(2, lambda each: bool(each.spec.node_name), [pod("a").on("n1").build()])

    barrier.note(pod("a").on("n1").build(), None)
    barrier.note(None, pod("b").on("n1").build())
    assert not barrier.is_open
    barrier.note(pod("c").build(), pod("c").on("n1").build())

    assert barrier.is_open


class Clock:
    """A time that passes only while somebody sleeps, or when told."""

    def __init__(self) -> None:
        self.time = 0.0

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


def test_a_ticker_keeps_its_pace_and_makes_up_for_nothing() -> None:
    """Work of 30 ms, 30 ms and 350 ms, at a tick every 100 ms."""

    async def ticks() -> list[int]:
        clock, seen = Clock(), []
        ticker = Ticker(0.1, lambda: clock.time, clock.sleep)
        for work in (0.03, 0.03, 0.35, 0.0, 0.0):
            await ticker.tick()
            seen.append(round(clock.time * 1000))
            clock.time += work
        return seen

    assert asyncio.run(ticks()) == [100, 200, 300, 650, 700]


def test_a_run_before_all_others_is_told_however_busy_the_machine_is() -> None:
    busy = {**ROW, "moorage": {**FIGURES, "others": 0.4}, "nice": -20}

    assert report.table([busy])[2:] != []


def test_a_fault_is_listed_beside_what_the_other_did_and_not_in_the_table() -> None:
    row = {**ROW, "moorage": {"fault": "UnsupportedOperation: fly"}}

    assert report.table([row])[2:] == []
    assert report.faults([row, ROW]) == [
        "- SchedulingBasic/5Nodes: kube-scheduler: 100 pods/s, 2.0 ms of CPU for each; "
        "moorage: UnsupportedOperation: fly"
    ]
