from typing import Any

import pytest

from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_resources import PODS, RESOURCES
from moorage.watch.api_server import Raw


def stored(cluster: MemoryCluster, labels: dict[str, str] | None = None, **spec: Any) -> Raw:
    spec = {"containers": [{"name": "c"}], **spec}
    metadata = {"generateName": "p", "labels": labels or {}}
    pod = cluster.add(PODS, {"metadata": metadata, "spec": spec})
    filled: Raw = cluster.read(PODS, pod.namespace, pod.name)["spec"]
    return filled


def container(cluster: MemoryCluster, fields: Raw, **spec: Any) -> Raw:
    filled: Raw = stored(cluster, containers=[{"name": "c", **fields}], **spec)["containers"][0]
    return filled


def test_a_pod_gets_scheduler_restart_policy_and_grace_period(cluster: MemoryCluster) -> None:
    spec = stored(cluster)

    assert spec["schedulerName"] == "default-scheduler"
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30


def test_what_a_pod_says_itself_is_kept(cluster: MemoryCluster) -> None:
    spec = stored(cluster, schedulerName="moorage", terminationGracePeriodSeconds=0)

    assert spec["schedulerName"] == "moorage"
    assert spec["terminationGracePeriodSeconds"] == 0


def test_no_tolerations_are_added(cluster: MemoryCluster) -> None:
    assert "tolerations" not in stored(cluster)


@pytest.mark.parametrize(
    ("resources", "want"),
    [
        pytest.param({}, None, id="nothing stays nothing"),
        pytest.param(
            {"limits": {"cpu": "2"}}, {"cpu": "2"}, id="a limit stands in for a missing request"
        ),
        pytest.param(
            {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}},
            {"cpu": "1", "memory": "1Gi"},
            id="a request given is kept",
        ),
        pytest.param({"requests": {"cpu": 2}}, {"cpu": "2"}, id="a number becomes a quantity"),
        pytest.param(
            {"limits": {"cpu": 2}, "requests": {"cpu": None}},
            {"cpu": "0"},
            id="a request left empty is none",
        ),
    ],
)
def test_requests(cluster: MemoryCluster, resources: Raw, want: Raw | None) -> None:
    filled = container(cluster, {"resources": resources})

    assert (filled.get("resources") or {}).get("requests") == want


def test_requests_of_init_containers_default_too(cluster: MemoryCluster) -> None:
    init = {"name": "i", "resources": {"limits": {"cpu": "2"}}}

    (filled,) = stored(cluster, initContainers=[init])["initContainers"]

    assert filled["resources"]["requests"] == {"cpu": "2"}


def test_pod_level_limits_stand_in_where_nobody_requests(cluster: MemoryCluster) -> None:
    spec = stored(
        cluster,
        containers=[{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        resources={"limits": {"cpu": "4", "memory": "2Gi"}},
    )

    assert spec["resources"]["requests"] == {"memory": "2Gi"}


@pytest.mark.parametrize(
    ("host_network", "port", "want"),
    [
        pytest.param(
            True,
            {"containerPort": 80},
            {"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
            id="on the host network a container port is a host port",
        ),
        pytest.param(
            False,
            {"containerPort": 80},
            {"containerPort": 80, "protocol": "TCP"},
            id="elsewhere it is not",
        ),
        pytest.param(
            False,
            {"containerPort": 80, "hostPort": 8080, "protocol": "UDP"},
            {"containerPort": 80, "hostPort": 8080, "protocol": "UDP"},
            id="what is given is kept",
        ),
    ],
)
def test_ports(cluster: MemoryCluster, host_network: bool, port: Raw, want: Raw) -> None:
    filled = container(cluster, {"ports": [port]}, hostNetwork=host_network)

    assert filled["ports"] == [want]


def test_label_keys_join_the_selector_of_a_spread_constraint(cluster: MemoryCluster) -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["hash", "absent"],
    }
    spec = stored(cluster, {"hash": "1"}, topologySpreadConstraints=[constraint])

    (merged,) = spec["topologySpreadConstraints"]
    assert merged["labelSelector"] == {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "hash", "operator": "In", "values": ["1"]}],
    }


def test_label_keys_join_the_selectors_of_affinity_terms(cluster: MemoryCluster) -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {},
        "matchLabelKeys": ["a"],
        "mismatchLabelKeys": ["b"],
    }
    affinity = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": term}
            ]
        },
    }
    merged = stored(cluster, {"a": "1", "b": "2"}, affinity=affinity)["affinity"]

    want = [
        {"key": "a", "operator": "In", "values": ["1"]},
        {"key": "b", "operator": "NotIn", "values": ["2"]},
    ]
    required = merged["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    preferred = merged["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]
    assert required["labelSelector"]["matchExpressions"] == want
    assert preferred["podAffinityTerm"]["labelSelector"]["matchExpressions"] == want


def test_label_keys_are_merged_for_each_pod_of_a_shared_spec(cluster: MemoryCluster) -> None:
    constraint = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["hash"]}
    spec = {"containers": [{"name": "c"}], "topologySpreadConstraints": [constraint]}
    values = []
    for value in ("1", "2"):
        metadata = {"name": f"p{value}", "labels": {"hash": value}}
        cluster.add(PODS, {"metadata": metadata, "spec": spec})
        (merged,) = cluster.read(PODS, "default", f"p{value}")["spec"]["topologySpreadConstraints"]
        values.append(merged["labelSelector"]["matchExpressions"][0]["values"])

    assert values == [["1"], ["2"]]


def test_a_term_without_a_selector_selects_nothing_still(cluster: MemoryCluster) -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "matchLabelKeys": ["a"]}
    spec = stored(cluster, {"a": "1"}, topologySpreadConstraints=[constraint])

    assert spec["topologySpreadConstraints"] == [constraint]


def add(cluster: MemoryCluster, plural: str, name: str, **fields: Any) -> Raw:
    metadata = {"name": name, **fields.pop("metadata", {})}
    resource = RESOURCES[plural]
    added = cluster.add(resource, {"metadata": metadata, **fields})
    return cluster.read(resource, added.namespace, added.name)


def test_a_storage_class_binds_at_once_unless_it_says_otherwise(cluster: MemoryCluster) -> None:
    assert add(cluster, "storageclasses", "a")["volumeBindingMode"] == "Immediate"
    waiting = add(cluster, "storageclasses", "b", volumeBindingMode="WaitForFirstConsumer")
    assert waiting["volumeBindingMode"] == "WaitForFirstConsumer"


def test_a_claim_without_a_class_gets_the_default_one(cluster: MemoryCluster) -> None:
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    add(cluster, "storageclasses", "slow")
    add(cluster, "storageclasses", "fast", metadata=default)

    def class_of(name: str, **spec: Any) -> Any:
        claim = add(cluster, "persistentvolumeclaims", name, spec=spec)
        return claim["spec"].get("storageClassName")

    assert class_of("a") == "fast"
    assert class_of("b", storageClassName="slow") == "slow"
    assert class_of("c", storageClassName="") == ""


def test_a_claim_without_a_class_has_none_where_none_is_the_default(
    cluster: MemoryCluster,
) -> None:
    claim = add(cluster, "persistentvolumeclaims", "a", spec={})

    assert claim["spec"] == {"volumeMode": "Filesystem"}
