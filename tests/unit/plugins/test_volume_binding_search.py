"""VolumeBinding on nodes: where claims find a volume, or one can be made for them."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import PluginError, unresolvable
from moorage.plugins.volume_binding.plugin import REASONS, VolumeBinding
from moorage.plugins.volume_binding.volume_search import (
    BIND_CONFLICT,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    VOLUME_MISSING,
)
from moorage.plugins.volumes.csi_migration import MIGRATED_PLUGINS
from moorage.plugins.volumes.persistent_volumes import BIND_COMPLETED, SELECTED_NODE
from moorage.testing import Cluster, PodBuilder, node, pod

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
RULE = VolumeBinding()


def on(*hosts: str) -> dict[str, Any]:
    """The node affinity of a volume of these hosts."""
    expression = {"key": HOST, "operator": "In", "values": list(hosts)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def volume(
    name: str,
    size: str = "10Gi",
    phase: str = "Available",
    meta: dict[str, Any] | None = None,
    **spec: Any,
) -> PersistentVolume:
    given = {"storageClassName": "local", "accessModes": ["ReadWriteOnce"], **spec}
    raw = {
        "metadata": {"name": name, **(meta or {})},
        "spec": {"capacity": {"storage": size}, **given},
        "status": {"phase": phase},
    }
    return decode_as(raw, PersistentVolume)


def claim(name: str, size: str = "5Gi", storage_class: str = "local", **spec: Any) -> Any:
    given = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, **spec}
    return decode_as(
        {
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
            "spec": {"resources": {"requests": {"storage": size}}, **given},
        },
        PersistentVolumeClaim,
    )


def bound(name: str, to: str) -> PersistentVolumeClaim:
    raw = {
        "metadata": {"name": name, "namespace": "default", "annotations": {BIND_COMPLETED: "yes"}},
        "spec": {"volumeName": to},
    }
    return decode_as(raw, PersistentVolumeClaim)


def given(name: str, node_name: str) -> PersistentVolumeClaim:
    """A claim of class fast that was given a node in an earlier attempt."""
    raw = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {SELECTED_NODE: node_name},
        },
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}}},
    }
    return decode_as(raw, PersistentVolumeClaim)


def storage_class(name: str, provisioner: str, **more: Any) -> StorageClass:
    raw = {"metadata": {"name": name}, "provisioner": provisioner, **more}
    return decode_as({"volumeBindingMode": "WaitForFirstConsumer", **raw}, StorageClass)


LOCAL = storage_class("local", "kubernetes.io/no-provisioner")
FAST = storage_class("fast", "csi.x")


def using(*claims: str) -> PodBuilder:
    volumes = [
        {"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}}
        for i, name in enumerate(claims)
    ]
    return pod("web").with_spec(volumes=volumes)


def cycle_of(wanted: PodBuilder, *objects: Any) -> Cycle:
    nodes = (node("a").in_zone("x"), node("b").in_zone("y"))
    cycle = Cluster(*nodes, LOCAL, FAST, *objects).cycle(wanted)
    assert RULE.pre_filter(cycle, cycle.pod) is None
    return cycle


def codes(wanted: PodBuilder, *objects: Any) -> dict[str, int]:
    """What each node is refused for, 0 where it is not."""
    cycle = cycle_of(wanted, *objects)
    found = cycle.state["VolumeBinding"].search.run(cycle, Nodes.all(cycle.table)).codes
    return {name: int(found[row]) for name, row in cycle.table.row_of.items()}


def taken(wanted: PodBuilder, *objects: Any) -> dict[str, list[str]]:
    """The volumes each node would take for the pod's claims, in the order of their sizes."""
    cycle = cycle_of(wanted, *objects)
    search = cycle.state["VolumeBinding"].search
    found = search.run(cycle, Nodes.all(cycle.table))
    names = [shelved.volume.name for shelved in search.candidates.shelved]
    return {
        name: [names[things[row]] for _, things in found.taken if things[row] >= 0]
        for name, row in cycle.table.row_of.items()
    }


class TestBoundClaims:
    """The volume must be within the node's reach."""

    def test_a_volume_of_one_host_keeps_the_pod_there(self) -> None:
        found = codes(using("c"), bound("c", "pv"), volume("pv", nodeAffinity=on("b")))

        assert found == {"a": NODE_CONFLICT, "b": 0}

    def test_a_volume_that_is_gone_is_nowhere(self) -> None:
        assert codes(using("c"), bound("c", "gone")) == {"a": VOLUME_MISSING, "b": VOLUME_MISSING}

    def test_the_first_claim_in_the_way_is_the_one_told(self) -> None:
        objects = (bound("c", "pv"), bound("d", "gone"), volume("pv", nodeAffinity=on("a")))

        assert codes(using("c", "d"), *objects) == {"a": VOLUME_MISSING, "b": NODE_CONFLICT}

    def test_both_sorts_of_claims_are_told_of(self) -> None:
        here = volume("pv", phase="Bound", nodeAffinity=on("a"))

        found = codes(using("c", "d"), bound("c", "pv"), here, claim("d"))

        assert found == {"a": BIND_CONFLICT, "b": NODE_CONFLICT | BIND_CONFLICT}

    def test_pods_whose_volumes_have_the_same_reach_share_a_column(self) -> None:
        one = cycle_of(using("c"), bound("c", "p"), volume("p", nodeAffinity=on("a")))
        two = cycle_of(using("d"), bound("d", "q"), volume("q", nodeAffinity=on("a")))

        assert RULE.sign(one) == RULE.sign(two) is not None

    def test_pods_with_claims_to_bind_do_not(self) -> None:
        assert RULE.sign(cycle_of(using("c"), claim("c"))) is None


class TestMigration:
    """An in-tree volume is where its CSI driver says, on nodes that have migrated."""

    @staticmethod
    def csi_node(name: str, plugins: str) -> CSINode:
        meta = {"name": name, "annotations": {MIGRATED_PLUGINS: plugins}}
        return decode_as({"metadata": meta}, CSINode)

    @staticmethod
    def disk(volume_id: str = "vol-1") -> PersistentVolume:
        expression = {"key": ZONE, "operator": "In", "values": ["x", "y"]}
        selector = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        ebs = {"volumeID": volume_id}
        return volume("pv", nodeAffinity={"required": selector}, awsElasticBlockStore=ebs)

    def test_only_where_the_plugin_has_migrated(self) -> None:
        migrated = self.csi_node("a", "kubernetes.io/gce-pd,kubernetes.io/aws-ebs")
        other = self.csi_node("b", "kubernetes.io/gce-pd")

        found = codes(using("c"), bound("c", "pv"), self.disk(), migrated, other)

        assert found == {"a": NODE_CONFLICT, "b": 0}

    def test_a_volume_without_an_equivalent_is_an_error(self) -> None:
        migrated = self.csi_node("a", "kubernetes.io/aws-ebs")
        cycle = cycle_of(using("c"), bound("c", "pv"), self.disk("aws://x/disk"), migrated)
        found = cycle.state["VolumeBinding"].search.run(cycle, Nodes.all(cycle.table)).codes

        assert found[1] == 0
        with pytest.raises(PluginError, match="could not translate pv"):
            RULE.rejection(cycle, cycle.pod, int(found[0]))


class TestMatching:
    """Claims take free volumes, the smallest that suits."""

    def test_a_node_takes_the_smallest_that_is_large_enough(self) -> None:
        volumes = (volume("large", "20Gi"), volume("small", "6Gi"), volume("tiny", "4Gi"))

        assert taken(using("c"), claim("c"), *volumes) == {"a": ["small"], "b": ["small"]}

    def test_within_its_reach(self) -> None:
        near, far = (
            volume("near", nodeAffinity=on("a")),
            volume("far", "20Gi", nodeAffinity=on("b")),
        )

        assert taken(using("c"), claim("c"), near, far) == {"a": ["near"], "b": ["far"]}

    def test_without_one_the_node_is_refused(self) -> None:
        found = codes(using("c"), claim("c"), volume("pv", nodeAffinity=on("a")))

        assert found == {"a": 0, "b": BIND_CONFLICT}

    def test_smaller_claims_choose_first(self) -> None:
        volumes = (volume("ten", "10Gi"), volume("twenty", "20Gi"))
        claims = (claim("big", "8Gi"), claim("small", "5Gi"))

        assert taken(using("big", "small"), *claims, *volumes)["a"] == ["ten", "twenty"]

    def test_two_claims_never_take_one_volume(self) -> None:
        found = codes(using("c", "d"), claim("c"), claim("d"), volume("pv"))

        assert found == {"a": BIND_CONFLICT, "b": BIND_CONFLICT}

    @pytest.mark.parametrize(
        "unfit",
        [
            pytest.param(volume("pv", storageClassName="other"), id="of another class"),
            pytest.param(volume("pv", accessModes=["ReadOnlyMany"]), id="of another access mode"),
            pytest.param(volume("pv", volumeMode="Block"), id="of another volume mode"),
            pytest.param(volume("pv", volumeAttributesClassName="gold"), id="of other attributes"),
            pytest.param(volume("pv", "4Gi"), id="too small"),
            pytest.param(
                volume("pv", claimRef={"namespace": "default", "name": "d"}), id="kept for another"
            ),
            pytest.param(volume("pv", phase="Released"), id="released, not available"),
            pytest.param(
                volume("pv", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}), id="being deleted"
            ),
        ],
    )
    def test_a_volume_that_does_not_suit_is_not_taken(self, unfit: PersistentVolume) -> None:
        assert taken(using("c"), claim("c"), unfit) == {"a": [], "b": []}

    def test_a_mode_that_is_not_written_is_filesystem(self) -> None:
        written = volume("pv", volumeMode="Filesystem")

        assert taken(using("c"), claim("c"), written)["a"] == ["pv"]

    def test_a_claim_may_select_volumes_by_label(self) -> None:
        wanted = claim("c", selector={"matchLabels": {"tier": "gold"}})
        gold = volume("gold", "90Gi", meta={"labels": {"tier": "gold"}})

        assert taken(using("c"), wanted, volume("tin"), gold)["a"] == ["gold"]

    def test_a_malformed_selector_is_an_error(self) -> None:
        broken = claim("c", selector={"matchExpressions": [{"key": "k", "operator": "Like"}]})
        cycle = cycle_of(using("c"), broken)
        found = cycle.state["VolumeBinding"].search.run(cycle, Nodes.all(cycle.table)).codes

        with pytest.raises(PluginError, match="label selector for claim: default/c"):
            RULE.rejection(cycle, cycle.pod, int(found[0]))

    def test_a_volume_kept_for_the_claim_is_taken_before_a_smaller_one(self) -> None:
        kept = volume("kept", "90Gi", claimRef={"namespace": "default", "name": "c"})

        assert taken(using("c"), claim("c"), volume("free"), kept)["a"] == ["kept"]

    def test_and_where_it_cannot_be_reached_nothing_is(self) -> None:
        ref = {"namespace": "default", "name": "c"}
        kept = volume("kept", claimRef=ref, nodeAffinity=on("a"))

        assert taken(using("c"), claim("c"), volume("free"), kept) == {"a": ["kept"], "b": []}

    def test_a_kept_volume_need_not_be_available_or_of_its_access_mode(self) -> None:
        ref = {"namespace": "default", "name": "c", "uid": "uid-c"}
        kept = volume("kept", claimRef=ref, accessModes=["ReadOnlyMany"])

        assert taken(using("c"), claim("c"), kept)["a"] == ["kept"]

    def test_a_kept_volume_that_is_too_small_does_not_settle_the_matter(self) -> None:
        small = volume("small", "1Gi", claimRef={"namespace": "default", "name": "c"})

        assert taken(using("c"), claim("c"), small, volume("free"))["a"] == ["free"]


class TestProvisioning:
    """What has no volume is made, where that is possible."""

    def test_a_provisioner_makes_volumes_anywhere(self) -> None:
        assert codes(using("c"), claim("c", storage_class="fast")) == {"a": 0, "b": 0}

    def test_a_class_without_a_provisioner_makes_none(self) -> None:
        nobody = storage_class("none", "")

        found = codes(using("c"), nobody, claim("c", storage_class="none"))

        assert found == {"a": BIND_CONFLICT, "b": BIND_CONFLICT}

    @pytest.mark.parametrize(
        ("topologies", "want"),
        [
            pytest.param([[(ZONE, ["x"])]], {"a": 0, "b": BIND_CONFLICT}, id="one zone"),
            pytest.param([[(ZONE, ["x"])], [(ZONE, ["y"])]], {"a": 0, "b": 0}, id="either zone"),
            pytest.param(
                [[(ZONE, ["x"]), (HOST, ["b"])]],
                {"a": BIND_CONFLICT, "b": BIND_CONFLICT},
                id="all labels of a term",
            ),
            pytest.param([[]], {"a": BIND_CONFLICT, "b": BIND_CONFLICT}, id="an empty term"),
            pytest.param(
                [[(ZONE, [])]], {"a": BIND_CONFLICT, "b": BIND_CONFLICT}, id="a term without values"
            ),
        ],
    )
    def test_within_allowed_topologies(
        self, topologies: list[list[tuple[str, list[str]]]], want: dict[str, int]
    ) -> None:
        terms = [
            {"matchLabelExpressions": [{"key": key, "values": values} for key, values in term]}
            for term in topologies
        ]
        zonal = storage_class("zonal", "csi.x", allowedTopologies=terms)

        assert codes(using("c"), zonal, claim("c", storage_class="zonal")) == want

    def test_a_claim_that_was_given_a_node_stays_there(self) -> None:
        assert codes(using("c"), given("c", "b")) == {"a": BIND_CONFLICT, "b": 0}
        assert codes(using("c"), given("c", "gone")) == {"a": BIND_CONFLICT, "b": BIND_CONFLICT}

    def test_two_claims_that_were_given_two_nodes_fit_nowhere(self) -> None:
        found = codes(using("c", "d"), given("c", "a"), given("d", "b"))

        assert found == {"a": BIND_CONFLICT, "b": BIND_CONFLICT}

    def test_what_finds_no_volume_is_made_beside_what_does(self) -> None:
        objects = (claim("c"), claim("d", storage_class="fast"), volume("pv", nodeAffinity=on("a")))

        assert codes(using("c", "d"), *objects) == {"a": 0, "b": BIND_CONFLICT}


class TestCapacity:
    """Where a driver keeps account of its storage, there must be enough."""

    driver = decode_as(
        {"metadata": {"name": "csi.x"}, "spec": {"storageCapacity": True}}, CSIDriver
    )

    @staticmethod
    def pool(name: str, host: str | None, **more: Any) -> CSIStorageCapacity:
        topology = {"nodeTopology": {"matchLabels": {HOST: host}}} if host else {}
        meta = {"name": name, "namespace": "kube-system"}
        raw = {"metadata": meta, "storageClassName": "fast", **topology, **more}
        return decode_as(raw, CSIStorageCapacity)

    def found(self, *objects: Any) -> dict[str, int]:
        return codes(using("c"), claim("c", "5Gi", "fast"), *objects)

    def test_a_node_without_enough_is_refused(self) -> None:
        pools = (self.pool("p", "a", capacity="5Gi"), self.pool("q", "b", capacity="4Gi"))

        assert self.found(self.driver, *pools) == {"a": 0, "b": NOT_ENOUGH_SPACE}

    def test_a_node_that_no_pool_reaches_is_refused(self) -> None:
        pool = self.pool("p", "a", capacity="5Gi")

        assert self.found(self.driver, pool) == {"a": 0, "b": NOT_ENOUGH_SPACE}

    def test_the_largest_volume_goes_before_the_capacity(self) -> None:
        pool = self.pool("p", "a", capacity="50Gi", maximumVolumeSize="4Gi")

        assert self.found(self.driver, pool)["a"] == NOT_ENOUGH_SPACE

    def test_a_pool_without_topology_is_nobodys(self) -> None:
        assert (
            self.found(self.driver, self.pool("p", None, capacity="9Gi"))["a"] == NOT_ENOUGH_SPACE
        )

    def test_a_driver_that_keeps_no_account_always_has_room(self) -> None:
        silent = decode_as({"metadata": {"name": "csi.x"}}, CSIDriver)

        assert self.found(silent) == {"a": 0, "b": 0}
        assert self.found() == {"a": 0, "b": 0}

    def test_a_claim_that_asks_for_no_size_fits_any_pool(self) -> None:
        sizeless = decode_as(
            {
                "metadata": {"name": "c", "namespace": "default"},
                "spec": {"storageClassName": "fast"},
            },
            PersistentVolumeClaim,
        )

        assert codes(using("c"), sizeless, self.driver) == {"a": 0, "b": 0}

    def test_a_pool_that_grew_is_seen(self) -> None:
        cluster = Cluster(node("a"), FAST, self.driver, self.pool("p", "a", capacity="1Gi"))
        cluster.add(claim("c", "5Gi", "fast"))
        assert cluster.place(using("c")) is None

        cluster.add(self.pool("p", "a", capacity="9Gi"))

        assert cluster.place(using("c")) == "a"


def test_reasons_are_told_in_kube_schedulers_order() -> None:
    cycle = cycle_of(using("c"), claim("c"))

    told = RULE.rejection(cycle, cycle.pod, BIND_CONFLICT | NODE_CONFLICT)

    assert told == unresolvable(REASONS[NODE_CONFLICT], REASONS[BIND_CONFLICT])
