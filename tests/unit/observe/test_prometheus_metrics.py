"""What Prometheus reads after the scheduler has worked on the embedded cluster."""

import asyncio
import random
from platform import python_version

import pytest

from moorage import KUBE_VERSION, Cycle, Filter, Node, Permit, Pod, Rejection, Wait, __version__
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.cache.cache import Cache
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.framework.plugin import Plugin
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe import catalogue
from moorage.observe.catalogue import CATALOGUE
from moorage.observe.prometheus_metrics import Metrics
from moorage.observe.state_metrics import utilisation_families
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from tests.unit.observe.scraped_metrics import PROFILE, Read, names, read, value

OF_CUSTOM_PLUGINS = (
    catalogue.BREAKER_STATE,
    catalogue.BREAKER_TRIPS,
    catalogue.GUARD_FAILURES,
    catalogue.GUARD_LEFT_OUT,
    catalogue.GUARD_CALLS,
    catalogue.GUARD_SECONDS,
)


def schedule(
    *objects: NodeBuilder | PodBuilder, plugins: tuple[type[Plugin], ...] = (), seconds: float = 30
) -> Metrics:
    """Run the scheduler for a while, every attempt sampled."""
    clock = VirtualClock(1000.0)
    cluster = MemoryCluster(clock=clock, rng=random.Random(1))
    for obj in objects:
        kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
        cluster.apply({"apiVersion": "v1", "kind": kind, **obj.raw})
    known = built_in_plugins.built_in()
    for plugin in plugins:
        known.add(plugin)
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {"enabled": [{"name": made.plugin_name()} for made in plugins]}
                }
            }
        ],
    }
    profiles = build_profiles(
        load(config, known=built_in_plugins.describe_plugins(known)).configuration, known
    )
    metrics = Metrics(sampled=1.0)

    async def main() -> None:
        rng = random.Random(0)
        scheduler = assemble(cluster, profiles, clock=clock, rng=rng, observers=(metrics,))
        metrics.follow(scheduler)
        running = asyncio.ensure_future(scheduler.run())
        await clock.sleep(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert scheduler.observers.switched_off == []

    run_virtual(main(), clock)
    return metrics


class Boom(Filter, frozen=True):
    """Raises."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        raise RuntimeError("boom")


class Patience(Permit, frozen=True):
    """Has pods wait for three seconds in vain."""

    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | Wait | None:
        return Wait(3.0)


@pytest.fixture(scope="module")
def busy() -> Read:
    """Two pods placed, one that fits nowhere, one gated, one of another scheduler."""
    return read(
        schedule(
            node("a").offering(cpu="2"),
            node("b").offering(cpu="2"),
            pod("one").requesting(cpu="1"),
            pod("two").requesting(cpu="1"),
            pod("huge").requesting(cpu="16"),
            pod("gated").gated("example.com/wait"),
            pod("theirs").requesting(cpu="1").scheduled_by("someone-else").on("a"),
        )
    )


@pytest.mark.parametrize(
    ("name", "labels", "want"),
    [
        pytest.param(
            "scheduler_schedule_attempts_total",
            {"result": "scheduled", "profile": PROFILE},
            2,
            id="a pod counts as scheduled when it is bound",
        ),
        pytest.param(
            "scheduler_schedule_attempts_total",
            {"result": "unschedulable", "profile": PROFILE},
            1,
            id="an attempt without a node counts as unschedulable",
        ),
        pytest.param(
            "scheduler_scheduling_attempt_duration_seconds_count",
            {"result": "scheduled", "profile": PROFILE},
            2,
            id="attempts are timed by result",
        ),
        pytest.param(
            "scheduler_scheduling_algorithm_duration_seconds_count",
            {},
            3,
            id="every decision is timed, whatever it is",
        ),
        pytest.param("scheduler_pending_pods", {"queue": "unschedulable"}, 1, id="who waits"),
        pytest.param("scheduler_pending_pods", {"queue": "gated"}, 1, id="who is gated"),
        pytest.param("scheduler_pending_pods", {"queue": "active"}, 0, id="who is ready"),
        pytest.param(
            "scheduler_queue_incoming_pods_total",
            {"queue": "active", "event": "UnscheduledPodAdd"},
            3,
            id="who came to which queue, and why",
        ),
        pytest.param(
            "scheduler_unschedulable_pods",
            {"plugin": "NodeResourcesFit", "profile": PROFILE},
            1,
            id="whom a plugin refuses",
        ),
        pytest.param(
            "scheduler_unschedulable_pods",
            {"plugin": "SchedulingGates", "profile": PROFILE},
            1,
            id="whom a gate holds back",
        ),
        pytest.param("scheduler_cache_size", {"type": "nodes"}, 2, id="nodes in the cache"),
        pytest.param("scheduler_cache_size", {"type": "pods"}, 3, id="pods in the cache"),
        pytest.param("scheduler_cache_size", {"type": "assumed_pods"}, 0, id="none is assumed"),
        pytest.param("scheduler_goroutines", {"operation": "binding"}, 0, id="none is bound"),
        pytest.param("scheduler_pod_scheduling_attempts_sum", {}, 2, id="attempts it took"),
        pytest.param(
            "scheduler_pod_scheduling_sli_duration_seconds_count",
            {"attempts": "1"},
            2,
            id="how long pods waited, by attempts",
        ),
        pytest.param("scheduler_preemption_attempts_total", {}, 1, id="attempts to make room"),
        pytest.param("scheduler_preemption_victims_count", {}, 0, id="nobody had to go"),
        pytest.param("moorage_events_sent_total", {}, 4, id="events that were sent"),
        pytest.param("moorage_events_dropped_total", {}, 0, id="events that were not"),
        pytest.param("moorage_active", {}, 1, id="this replica schedules"),
        pytest.param("moorage_synced", {}, 1, id="everything has been listed"),
        pytest.param("moorage_followed_objects", {"resource": "pods"}, 5, id="what is followed"),
        pytest.param("moorage_observers_switched_off", {}, 0, id="all observers still observe"),
        pytest.param("moorage_nominated_pods", {}, 0, id="nobody was promised a node"),
    ],
)
def test_after_a_little_work(busy: Read, name: str, labels: dict[str, str], want: float) -> None:
    assert value(busy, name, **labels) == want


@pytest.mark.parametrize(
    ("point", "status", "count"),
    [
        ("PreFilter", "Success", 3),
        ("Filter", "Success", 3),
        ("PostFilter", "Unschedulable", 1),
        ("PreScore", "Success", 2),
        ("Score", "Success", 2),
        ("Reserve", "Success", 2),
        ("Permit", "Success", 2),
        ("PreBind", "Success", 2),
        ("Bind", "Success", 2),
        ("PostBind", "Success", 2),
    ],
    ids=lambda part: str(part),
)
def test_extension_points_are_timed(busy: Read, point: str, status: str, count: int) -> None:
    name = "scheduler_framework_extension_point_duration_seconds_count"
    labels = {"extension_point": point, "status": status, "profile": PROFILE}

    assert value(busy, name, **labels) == count


@pytest.mark.parametrize(
    ("plugin", "point"),
    [("NodeResourcesFit", "Filter"), ("NodeResourcesFit", "Score"), ("DefaultBinder", "Bind")],
)
def test_plugins_are_timed_in_sampled_attempts(busy: Read, plugin: str, point: str) -> None:
    labels = {"plugin": plugin, "extension_point": point, "status": "Success"}

    assert value(busy, "scheduler_plugin_execution_duration_seconds_count", **labels)


def test_plugins_are_counted_where_they_were_asked(busy: Read) -> None:
    def asked(plugin: str, point: str) -> float | None:
        labels = {"plugin": plugin, "extension_point": point, "profile": PROFILE}
        return value(busy, "scheduler_plugin_evaluation_total", **labels)

    assert asked("NodeResourcesFit", "Filter") == 3
    assert asked("NodeResourcesFit", "Score") == 2
    assert asked("DefaultPreemption", "PostFilter") is None


def test_every_metric_of_the_catalogue_is_told(busy: Read) -> None:
    told = names(busy)
    lacking = {
        metric.name
        for metric in CATALOGUE
        if not any(name.startswith(metric.name) for name in told)
    }

    assert lacking == {
        "moorage_extender_call_duration_seconds",
        "rest_client_requests",
        "rest_client_request_duration_seconds",
        "rest_client_rate_limiter_duration_seconds",
        "moorage_unreadable_objects",
        "scheduler_permit_wait_duration_seconds",
        "scheduler_inflight_events",
        "moorage_evictions",
        "moorage_plugin_errors",
        "moorage_errors",
        "moorage_config_info",
        "moorage_config_reloads",
        "moorage_version_attempts",
        "moorage_version_attempt_duration_seconds",
        "moorage_canary_percent",
        "moorage_canary_rollbacks",
        "moorage_canary_compared",
        "moorage_canary_p_value",
        "moorage_version_kpi",
        "moorage_standing_in",
        "moorage_yielded",
        "moorage_loop_lag_seconds",
        "moorage_catch_up_duration_seconds",
        "moorage_feed_age_seconds",
        "moorage_feed_reads",
        "moorage_strategy_weight",
        "moorage_namespace_cost_per_hour",
        "moorage_dashboard_viewers",
        "moorage_dashboard_snapshots",
        *(metric.name for metric in CATALOGUE if metric in OF_CUSTOM_PLUGINS),
    }


def test_a_pod_makes_room_and_the_time_until_it_is_bound_is_told() -> None:
    found = read(
        schedule(
            node("a").offering(cpu="2"),
            pod("low").requesting(cpu="2").on("a").with_spec(terminationGracePeriodSeconds=0),
            pod("high").requesting(cpu="2").prioritised(100),
        )
    )

    assert value(found, "scheduler_preemption_victims_sum") == 1
    assert value(found, "scheduler_preemption_attempts_total") == 1
    assert value(found, "moorage_nomination_duration_seconds_count") == 1
    assert value(found, "moorage_evictions_total", way="deletion", result="evicted") == 1
    assert value(found, "moorage_victims_leaving") == 0
    success = {"extension_point": "PostFilter", "status": "Success", "profile": PROFILE}
    name = "scheduler_framework_extension_point_duration_seconds_count"
    assert value(found, name, **success) == 1


def test_a_plugin_that_raises_is_counted_by_name() -> None:
    found = read(schedule(node("a"), pod("web"), plugins=(Boom,), seconds=0.5))

    assert value(found, "moorage_plugin_errors_total", plugin="Boom", extension_point="Filter") == 1
    error = {"result": "error", "profile": PROFILE}
    assert value(found, "scheduler_schedule_attempts_total", **error) == 1
    assert value(found, "scheduler_scheduling_algorithm_duration_seconds_count") == 1
    point = {"extension_point": "Filter", "status": "Error"}
    durations = "scheduler_plugin_execution_duration_seconds_count"
    assert value(found, durations, plugin="Boom", **point) == 1


def test_a_custom_plugin_is_watched_call_by_call() -> None:
    """Ten attempts that fail switch it off twice: after five, and after the trial."""
    found = read(schedule(node("a"), pod("web"), plugins=(Boom,), seconds=75))

    whose = {"plugin": "Boom", "profile": PROFILE}
    assert value(found, "moorage_plugin_breaker_state", **whose) == 2
    assert value(found, "moorage_plugin_breaker_trips_total", **whose) == 2
    failures = value(
        found,
        "moorage_plugin_failures_total",
        extension_point="Filter",
        reason="raised",
        **whose,
    )
    calls = value(found, "moorage_plugin_calls_total", extension_point="Filter", **whose)
    assert failures == calls == 6
    assert (value(found, "moorage_plugin_left_out_total", **whose) or 0) > 0
    assert value(found, "moorage_plugin_seconds_total", extension_point="Filter", **whose)
    assert value(found, "moorage_errors_total", kind="PluginSwitchedOff") == 2


def test_waiting_in_vain_is_timed_and_undone() -> None:
    found = read(schedule(node("a"), pod("web"), plugins=(Patience,), seconds=3.5))

    waits = "scheduler_permit_wait_duration_seconds_count"
    assert value(found, waits, result="Unschedulable") == 1
    point = "scheduler_framework_extension_point_duration_seconds_count"
    wait = {"extension_point": "Permit", "status": "Wait", "profile": PROFILE}
    assert value(found, point, **wait) == 2, "the pod is tried again, and waits again"
    undone = {"extension_point": "Unreserve", "status": "Success", "profile": PROFILE}
    assert value(found, point, **undone) == 1
    scheduled = {"result": "scheduled", "profile": PROFILE}
    assert value(found, "scheduler_schedule_attempts_total", **scheduled) is None


def test_what_runs_is_told(busy: Read) -> None:
    labels = {"version": __version__, "python": python_version(), "kube_version": KUBE_VERSION}

    assert value(busy, "moorage_build_info", **labels) == 1


def test_feasible_nodes_are_counted_by_attempt(busy: Read) -> None:
    """Two attempts had two nodes each; one had none."""
    assert value(busy, "moorage_feasible_nodes_sum", profile=PROFILE) == 4
    assert value(busy, "moorage_feasible_nodes_bucket", profile=PROFILE, le="0.0") == 1


@pytest.mark.parametrize(
    ("metric", "labels", "want"),
    [
        ("moorage_cluster_allocatable", {"resource": "cpu"}, 4.0),
        ("moorage_cluster_requested", {"resource": "cpu"}, 3.0),
        ("moorage_node_utilisation_ratio", {"resource": "cpu", "stat": "mean"}, 0.75),
        ("moorage_node_utilisation_ratio", {"resource": "cpu", "stat": "max"}, 1.0),
    ],
)
def test_how_full_nodes_are_is_told(
    busy: Read, metric: str, labels: dict[str, str], want: float
) -> None:
    assert value(busy, metric, **labels) == want


def test_resources_that_only_waiting_pods_request_hide_no_metric() -> None:
    cache = Cache()
    cache.put_node(node("n1").offering(cpu="4").build())
    before = resources(cache)
    for number in range(20):
        cache.info(pod("p").requesting({f"evil.example/r{number}": "1"}).build())

    assert "cpu" in before
    assert before <= resources(cache)


def resources(cache: Cache) -> set[str]:
    """Whose utilisation is told."""
    families = list(utilisation_families(cache))
    return {sample.labels["resource"] for family in families for sample in family.samples}
