"""Near to the pods that a pod talks to."""

import pytest

from moorage.api.cluster_objects import Service
from moorage.api.decode import decode_as
from moorage.config.durations import Duration
from moorage.policies.business.business_score import BusinessScorePlugin
from moorage.policies.network_latency import TOO_FAR, NetworkLatencyPlugin
from moorage.policies.telemetry import latency_measurements
from moorage.testing import Cluster, PodBuilder, node, pod
from tests.unit.policies.asking import faults, refusals, scores, world

TABLE = {"a": {"b": 2.0, "c": 20.0}, "b": {"c": 8.0}}
NODES = tuple(node(f"{zone}{i}").in_zone(zone) for zone in "abc" for i in (1, 2))
PLUGIN = NetworkLatencyPlugin(latencies=TABLE)


def talking(to: str) -> PodBuilder:
    return pod("web").annotated({"moorage.io/talks-to": to})


def database(name: str, on: str, namespace: str = "default") -> PodBuilder:
    return pod(name, namespace).labelled(app="db").on(on)


def service(name: str, namespace: str = "default", **selector: str) -> Service:
    raw = {"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}
    return decode_as(raw, Service)


def test_the_nearer_the_pods_of_its_service_the_better_the_node() -> None:
    cluster = world(PLUGIN, *NODES, service("db", app="db"), database("db-0", "a1"))

    assert scores(cluster, talking("db")) == {
        "a1": 100,
        "a2": 95,
        "b1": 80,
        "b2": 80,
        "c1": 0,
        "c2": 0,
    }


def test_a_node_beyond_the_limit_is_refused() -> None:
    cluster = world(PLUGIN, *NODES, service("db", app="db"), database("db-0", "a1"))

    assert refusals(cluster, talking("db")) == {"c1": TOO_FAR.format(10), "c2": TOO_FAR.format(10)}
    assert TOO_FAR.format(10.0) == (
        "node(s) were more than 10 ms away from the pods that the pod talks to"
    )


@pytest.mark.parametrize("business_first", [False, True])
def test_its_table_counts_beside_a_plugin_that_has_none(business_first: bool) -> None:
    business = BusinessScorePlugin()
    plugins = [business, PLUGIN] if business_first else [PLUGIN, business]
    cluster = Cluster(*NODES, database("db-0", "a1"), plugins=plugins, alone=True)
    alone = world(PLUGIN, *NODES, database("db-0", "a1"))

    found = cluster.scores(talking("app=db"), "NetworkLatencyPlugin")

    # what is too far is refused here, and not scored
    assert found == {at: 100 - far for at, far in (("a1", 0), ("a2", 5), ("b1", 20), ("b2", 20))}
    assert found.items() <= scores(alone, talking("app=db")).items()


def test_of_several_pods_the_mean_counts() -> None:
    replicas = (database("db-0", "a1"), database("db-1", "b1"))
    cluster = world(PLUGIN, *NODES, *replicas)

    assert scores(cluster, talking("app=db")) == {
        "a1": 90,
        "a2": 87,
        "b1": 90,
        "b2": 87,
        "c1": 0,
        "c2": 0,
    }


def test_of_several_peers_the_farthest_counts() -> None:
    cache = pod("cache").labelled(app="cache").on("b1")
    cluster = world(PLUGIN, *NODES, database("db-0", "a1"), cache)

    assert scores(cluster, talking("app=db, app=cache"))["a2"] == 80
    assert scores(cluster, talking("app=cache"))["c1"] == 20
    assert scores(cluster, talking("app=cache, app=db"))["c1"] == 0


@pytest.mark.parametrize(
    "to",
    [
        pytest.param("", id="a pod that talks to nobody"),
        pytest.param("nothing", id="a service that is not there"),
        pytest.param("headless", id="a service that selects nothing"),
        pytest.param("app=other", id="pods that are not there"),
        pytest.param("db", id="a service of another namespace"),
    ],
)
def test_without_peers_no_node_is_better_or_refused(to: str) -> None:
    services = (service("headless"), service("db", "elsewhere", app="db"))
    cluster = world(PLUGIN, *NODES, *services, database("db-0", "a1", "elsewhere"))

    assert set(scores(cluster, talking(to)).values()) == {0}
    assert refusals(cluster, talking(to)) == {}


def test_a_service_of_another_namespace_is_named_with_it() -> None:
    there = (service("db", "elsewhere", app="db"), database("db-0", "a1", "elsewhere"))

    assert scores(world(PLUGIN, *NODES, *there), talking("elsewhere/db"))["b1"] == 80


def test_what_is_not_known_scores_0_and_is_not_refused() -> None:
    nodes = (node("a1").in_zone("a"), node("x1").in_zone("x"), node("nowhere"))
    cluster = world(PLUGIN, *nodes, database("db-0", "a1"))

    assert scores(cluster, talking("app=db")) == {"a1": 100, "nowhere": 0, "x1": 0}
    assert refusals(cluster, talking("app=db")) == {}


def test_nodes_without_a_zone_are_not_all_in_one() -> None:
    cluster = world(PLUGIN, node("n1"), node("n2"), database("db-0", "n1"))

    assert scores(cluster, talking("app=db")) == {"n1": 100, "n2": 0}


def test_latencies_between_nodes_go_before_those_between_zones() -> None:
    plugin = NetworkLatencyPlugin(latencies={**TABLE, "c1": {"a1": 1.0}})
    cluster = world(plugin, *NODES, database("db-0", "a1"))

    found = scores(cluster, talking("app=db"))

    assert (found["c1"], found["c2"], found["b1"]) == (90, 0, 80)


def test_the_way_back_takes_as_long_unless_it_is_known() -> None:
    plugin = NetworkLatencyPlugin(latencies={"a": {"b": 2.0}, "b": {"a": 4.0, "c": 8.0}})
    cluster = world(plugin, *NODES, database("db-0", "a1"))

    assert scores(cluster, talking("app=db"))["b1"] == 60
    cluster = world(plugin, *NODES, database("db-0", "b1"))
    assert scores(cluster, talking("app=db"))["a1"] == 80
    assert scores(cluster, talking("app=db"))["c1"] == 20


def test_weight_limit_and_label_are_arguments() -> None:
    plugin = NetworkLatencyPlugin(
        max_latency_ms=100.0,
        latency_weight=50,
        latencies={"r1": {"r2": 40.0}},
        topology_label="rack",
        same_zone_ms=20.0,
    )
    nodes = (
        node("x").labelled(rack="r1"),
        node("y").labelled(rack="r1"),
        node("z").labelled(rack="r2"),
    )
    cluster = world(plugin, *nodes, database("db-0", "x"))

    assert scores(cluster, talking("app=db")) == {"x": 50, "y": 40, "z": 30}


def test_a_fresh_measurement_goes_before_the_table() -> None:
    plugin = NetworkLatencyPlugin(latencies=TABLE, measurement_interval=Duration.of_seconds(60))
    cluster = world(plugin, *NODES, database("db-0", "a1"))
    measured = latency_measurements.latency_store(cluster.profile.shared)
    assert scores(cluster, talking("app=db"), now=1000.0)["b1"] == 80

    measured.record("a", "b", 5.0, at=1000.0)

    assert scores(cluster, talking("app=db"), now=1000.0)["b1"] == 50
    assert scores(cluster, talking("app=db"), now=1120.0)["b1"] == 50
    assert scores(cluster, talking("app=db"), now=1121.0)["b1"] == 80


def test_a_pod_follows_its_database() -> None:
    cluster = Cluster(*NODES, database("db-0", "b2"), plugins=[PLUGIN])

    assert cluster.place(talking("app=db")) == "b2"
    assert refusals(world(PLUGIN, *NODES, database("db-0", "c1")), talking("app=db")).keys() == {
        "a1",
        "a2",
    }


@pytest.mark.parametrize(
    ("args", "want"),
    [
        pytest.param({}, [], id="the defaults are right"),
        pytest.param({"latencyConfigMap": ""}, [], id="no ConfigMap need be read"),
        pytest.param(
            {"measurementInterval": "0s"},
            ["measurementInterval: must be above 0s"],
            id="measuring all the time",
        ),
        pytest.param(
            {"latencyConfigMap": "latencies"},
            ["latencyConfigMap: NAMESPACE/NAME, or nothing"],
            id="a ConfigMap without its namespace",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused(args: dict[str, str], want: list[str]) -> None:
    assert faults(NetworkLatencyPlugin, **args) == want


def part(name: str, component: str, on: str = "") -> PodBuilder:
    labels = {"app.kubernetes.io/part-of": "shop", "app.kubernetes.io/component": component}
    made = pod(name).labelled(labels)
    return made.on(on) if on else made


def test_without_an_annotation_the_other_components_of_the_application_are_peers() -> None:
    cluster = world(PLUGIN, *NODES, part("db-0", "db", "b1"), part("web-0", "web", "c1"))

    found = scores(cluster, part("web-1", "web"))

    assert max(found, key=lambda name: found[name]) == "b1"
    assert refusals(cluster, part("web-1", "web")) == {}


def test_without_labels_the_pods_behind_other_services_are_peers() -> None:
    services = (service("db", app="db"), service("web", app="web"))
    own = pod("web-0").labelled(app="web").on("c1")
    cluster = world(PLUGIN, *NODES, *services, database("db-0", "a1"), own)

    found = scores(cluster, pod("web-1").labelled(app="web"))

    assert (found["a1"], found["b1"], found["c1"]) == (100, 80, 0)


def test_without_anybody_the_node_in_the_middle_is_best() -> None:
    found = scores(world(PLUGIN, *NODES), pod("web"))

    assert max(found.values()) == found["b1"] == found["b2"] > found["a1"] > found["c1"]


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(NetworkLatencyPlugin(latencies=TABLE, infer_peers=False), id="switched off"),
        pytest.param(NetworkLatencyPlugin(), id="nothing known of any latency"),
    ],
)
def test_nothing_is_inferred(plugin: NetworkLatencyPlugin) -> None:
    assert set(scores(world(plugin, *NODES), pod("web")).values()) == {0}


def test_targets_make_peers_and_set_their_limits() -> None:
    """b is 2 ms away from a: half of 4, and more than 1."""
    others = (*NODES, service("db", app="db"), database("db-0", "a1"))
    loose = NetworkLatencyPlugin(latencies=TABLE, latency_targets={"db": 4.0})
    tight = NetworkLatencyPlugin(latencies=TABLE, latency_targets={"db": 1.0})

    assert scores(world(loose, *others), pod("web"))["b1"] == 50
    assert set(refusals(world(tight, *others), pod("web"))) == {"b1", "b2", "c1", "c2"}
    assert set(refusals(world(loose, *others), pod("web"))) == {"c1", "c2"}
