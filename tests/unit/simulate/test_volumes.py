"""Claims get volumes: by hand or by provisioner, at once or with the first pod, where allowed."""

from typing import Any

import pytest

from moorage.memory.cluster_resources import CLAIMS, VOLUMES
from moorage.simulate.simulation import Simulation
from moorage.testing import node
from tests.unit.simulate.embedded_runs import Raw, places, run

ZONE = "topology.kubernetes.io/zone"
NODES = [node("a").in_zone("za"), node("b").in_zone("zb"), node("c").in_zone("zc")]


def storage_class(name: str = "fast", mode: str = "WaitForFirstConsumer", **more: Any) -> Raw:
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    annotations = default if more.pop("default", False) else {}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations},
        "provisioner": "disks.example.com",
        "volumeBindingMode": mode,
        **more,
    }


def claim(name: str = "data", size: str = "1Gi", **spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }


def volume(name: str, size: str = "1Gi", *, zone: str = "", **spec: Any) -> Raw:
    reach: Raw = {}
    if zone:
        expression = {"key": ZONE, "operator": "In", "values": [zone]}
        terms = [{"matchExpressions": [expression]}]
        reach = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": spec.pop("labels", {})},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"},
            **reach,
            **spec,
        },
    }


def pod(name: str = "db", *claims: str, **spec: Any) -> Raw:
    volumes = [
        {"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims or ("data",)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": volumes, **spec},
    }


def bound_to(ended: Simulation, name: str = "data") -> str:
    return str(ended.cluster.read(CLAIMS, "default", name)["spec"].get("volumeName") or "")


@pytest.mark.parametrize("mode", ["WaitForFirstConsumer", "Immediate"])
def test_a_claim_is_provisioned(mode: str) -> None:
    ended = run(*NODES, storage_class(mode=mode), claim(storageClassName="fast"), pod())

    assert places(ended)["db"]
    found = ended.cluster.read(CLAIMS, "default", "data")
    assert found["status"]["phase"] == "Bound"
    made = ended.cluster.read(VOLUMES, "", bound_to(ended))
    assert made["status"]["phase"] == "Bound"
    assert made["spec"]["capacity"] == {"storage": "1Gi"}
    assert made["spec"]["persistentVolumeReclaimPolicy"] == "Delete"


def test_the_default_class_is_given_to_a_claim_without_one() -> None:
    ended = run(*NODES, storage_class(default=True), claim(), pod())

    assert places(ended)["db"]
    assert ended.cluster.read(CLAIMS, "default", "data")["spec"]["storageClassName"] == "fast"


def test_without_a_class_and_without_a_volume_a_claim_waits() -> None:
    ended = run(*NODES, claim(), pod())

    assert places(ended) == {"db": ""}


def test_waiting_for_a_first_consumer_nothing_is_made_without_one() -> None:
    ended = run(*NODES, storage_class(), claim(storageClassName="fast"))

    assert bound_to(ended) == ""
    assert ended.cluster.objects(VOLUMES) == []


def test_no_provisioner_makes_nothing() -> None:
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    ended = run(*NODES, local, claim(storageClassName="fast"), pod())

    assert places(ended) == {"db": ""}


@pytest.mark.parametrize("mode", ["WaitForFirstConsumer", "Immediate"])
def test_a_class_keeps_its_volumes_and_pods_within_its_topologies(mode: str) -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["zb"]}]}]
    ended = run(
        *NODES,
        storage_class(mode=mode, allowedTopologies=allowed),
        claim(storageClassName="fast"),
        pod(),
    )

    assert places(ended) == {"db": "b"}


def test_a_provisioned_volume_keeps_later_pods_in_its_topology() -> None:
    csi = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": name},
            "spec": {
                "drivers": [{"name": "disks.example.com", "nodeID": name, "topologyKeys": [ZONE]}]
            },
        }
        for name in "abc"
    ]
    given = [*NODES, *csi, storage_class(), claim(storageClassName="fast")]
    ended = run(*given, pod("first", nodeSelector={ZONE: "zc"}), pod("second"))

    assert places(ended) == {"first": "c", "second": "c"}
    made = ended.cluster.read(VOLUMES, "", bound_to(ended))
    (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["zc"]


def capacity(zone: str, amount: str) -> Raw:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": zone},
        "storageClassName": "fast",
        "capacity": amount,
        "nodeTopology": {"matchLabels": {ZONE: zone}},
    }


DRIVER = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": "disks.example.com"},
    "spec": {"storageCapacity": True},
}


@pytest.mark.parametrize("mode", ["WaitForFirstConsumer", "Immediate"])
def test_storage_capacity_is_heeded_and_used_up(mode: str) -> None:
    given = [*NODES, storage_class(mode=mode), DRIVER, capacity("za", "0"), capacity("zb", "3Gi")]
    claims = [claim(f"d{i}", "2Gi", storageClassName="fast") for i in range(2)]
    ended = run(*given, *claims, pod("p0", "d0"), pod("p1", "d1"))

    assert sorted(bool(where) for where in places(ended).values()) == [False, True]
    if mode == "WaitForFirstConsumer":
        assert sorted(places(ended).values()) == ["", "b"]


class TestByHand:
    @pytest.mark.parametrize(
        ("volumes", "want"),
        [
            pytest.param([volume("v")], "v", id="one that suits"),
            pytest.param([volume("big", "9Gi"), volume("fit", "2Gi")], "fit", id="the smallest"),
            pytest.param([volume("v", "100Mi")], "", id="none that is too small"),
            pytest.param(
                [volume("v", accessModes=["ReadOnlyMany"])], "", id="none of another access mode"
            ),
            pytest.param([volume("v", storageClassName="x")], "", id="none of another class"),
            pytest.param([volume("v", volumeMode="Block")], "", id="none of another mode"),
            pytest.param(
                [volume("v", claimRef={"namespace": "default", "name": "other"})],
                "",
                id="none that is kept for another claim",
            ),
            pytest.param(
                [
                    volume("small"),
                    volume("v", "9Gi", claimRef={"namespace": "default", "name": "data"}),
                ],
                "v",
                id="one that is kept for it, before any other",
            ),
        ],
    )
    def test_a_claim_gets(self, volumes: list[Raw], want: str) -> None:
        ended = run(*NODES, *volumes, claim(storageClassName=""), pod())

        assert bound_to(ended) == want
        assert bool(places(ended)["db"]) == bool(want)

    def test_a_claim_may_name_its_volume(self) -> None:
        ended = run(
            *NODES,
            volume("small"),
            volume("mine", "9Gi"),
            claim(storageClassName="", volumeName="mine"),
            pod(),
        )

        assert bound_to(ended) == "mine"
        assert places(ended)["db"]

    def test_a_claim_may_select_by_labels(self) -> None:
        ended = run(
            *NODES,
            volume("v1", labels={"tier": "a"}),
            volume("v2", labels={"tier": "b"}),
            claim(storageClassName="", selector={"matchLabels": {"tier": "b"}}),
            pod(),
        )

        assert bound_to(ended) == "v2"

    def test_a_volume_takes_the_pod_to_its_node(self) -> None:
        ended = run(*NODES, volume("v", zone="zc"), claim(storageClassName=""), pod())

        assert places(ended) == {"db": "c"}

    def test_with_a_class_that_waits_the_pod_chooses_among_volumes(self) -> None:
        local = storage_class("local", provisioner="kubernetes.io/no-provisioner")
        ended = run(
            *NODES,
            local,
            volume("va", zone="za", storageClassName="local"),
            volume("vc", "5Gi", zone="zc", storageClassName="local"),
            claim(storageClassName="local"),
            pod(nodeSelector={ZONE: "zc"}),
        )

        assert bound_to(ended) == "vc"
        assert places(ended) == {"db": "c"}

    def test_two_claims_do_not_share_a_volume(self) -> None:
        claims = [claim(name, storageClassName="") for name in ("d0", "d1")]
        ended = run(*NODES, volume("v"), *claims)

        assert sorted([bound_to(ended, "d0"), bound_to(ended, "d1")]) == ["", "v"]


def test_a_stateful_sets_claims_are_provisioned() -> None:
    template = {"metadata": {"name": "data"}, "spec": claim(storageClassName="fast")["spec"]}
    labels = {"app": "db"}
    given = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "replicas": 3,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
            "volumeClaimTemplates": [template],
        },
    }
    ended = run(*NODES, storage_class(), given)

    assert all(places(ended).values())
    assert len({bound_to(ended, f"data-db-{i}") for i in range(3)}) == 3


def test_a_generic_ephemeral_volume_gets_its_claim() -> None:
    scratch = {
        "name": "scratch",
        "ephemeral": {"volumeClaimTemplate": {"spec": claim(storageClassName="fast")["spec"]}},
    }
    ended = run(*NODES, storage_class(), pod(volumes=[scratch]))

    assert places(ended)["db"]
    assert bound_to(ended, "db-scratch")
