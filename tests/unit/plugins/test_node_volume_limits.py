"""NodeVolumeLimits: no more volumes of a driver than the node can attach."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from moorage.api.decode import decode_as
from moorage.api.meta import KubeObject
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Hint
from moorage.framework.verdicts import SKIP, PluginError, Rejection, unresolvable, unschedulable
from moorage.plugins.node_volume_limits import plugin as hints
from moorage.plugins.node_volume_limits.plugin import EXCEEDED, NOT_INSTALLED, NodeVolumeLimits
from moorage.testing import Cluster, PodBuilder, node, pod

RULE = NodeVolumeLimits()
EBS = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
FULL = unschedulable(EXCEEDED)


def csi_node(name: str = "n", **limits: int | None) -> CSINode:
    """Drivers with their limits, `csi_x` for the driver csi.x; None for no limit."""
    drivers = [
        {"name": driver.replace("_", "."), "allocatable": None if n is None else {"count": n}}
        for driver, n in limits.items()
    ]
    return decode_as({"metadata": {"name": name}, "spec": {"drivers": drivers}}, CSINode)


def volume(name: str, handle: str | None = None, driver: str = "csi.x") -> PersistentVolume:
    csi = {"driver": driver, "volumeHandle": handle or name}
    return decode_as({"metadata": {"name": name}, "spec": {"csi": csi}}, PersistentVolume)


def claim(name: str, namespace: str = "default", **spec: Any) -> PersistentVolumeClaim:
    raw = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
    return decode_as(raw, PersistentVolumeClaim)


def bound(*names: str) -> list[KubeObject]:
    """Claims with a volume each, of driver csi.x."""
    claims = [claim(name, volumeName=f"pv-{name}") for name in names]
    return [*claims, *(volume(f"pv-{name}") for name in names)]


def using(name: str, *volumes: str | dict[str, Any]) -> PodBuilder:
    """Volumes of claims by name, or as they are given."""
    raw = [
        {"persistentVolumeClaim": {"claimName": each}} if isinstance(each, str) else each
        for each in volumes
    ]
    return pod(name).with_spec(volumes=[{"name": f"v{i}", **each} for i, each in enumerate(raw)])


def attached(name: str, to: str, attacher: str = "csi.x") -> VolumeAttachment:
    spec = {"attacher": attacher, "nodeName": to, "source": {"persistentVolumeName": name}}
    raw = {"metadata": {"name": f"va-{name}"}, "spec": spec}
    return decode_as(raw, VolumeAttachment)


def refusal(cycle: Cycle, name: str = "n") -> Rejection | None:
    table = cycle.table
    out = np.zeros(table.rows, dtype=np.int32)
    RULE.filter_all(cycle, cycle.pod, Nodes.all(table), out)
    code = int(out[table.row_of[name]])
    return RULE.rejection(cycle, cycle.pod, code) if code else None


def verdict(objects: Iterable[Any], wanted: PodBuilder) -> Rejection | None:
    return refusal(Cluster(node("n"), *objects).cycle(wanted))


@pytest.mark.parametrize(
    ("limit", "want"),
    [
        pytest.param(csi_node(csi_x=2), None, id="two of two fit"),
        pytest.param(csi_node(csi_x=1), FULL, id="a second does not fit a limit of one"),
        pytest.param(csi_node(csi_x=None), None, id="a driver without a limit takes any number"),
        pytest.param(csi_node(csi_y=0), None, id="another driver's limit does not matter"),
        pytest.param(csi_node("other", csi_x=0), None, id="nor does another node's"),
    ],
)
def test_a_volume_more(limit: CSINode, want: Rejection | None) -> None:
    objects = [*bound("old", "new"), using("there", "old").on("n")]

    assert verdict([csi_node(csi_x=1), *objects], using("new", "new")) == FULL
    assert verdict([limit, *objects], using("new", "new")) == want


def test_a_volume_that_is_already_there_takes_no_room() -> None:
    there = using("there", "shared").on("n")
    objects = [csi_node(csi_x=1), *bound("shared", "other"), there]

    assert verdict(objects, using("new", "other")) == FULL
    assert verdict(objects, using("new", "shared")) is None


def test_two_volumes_with_one_handle_are_one() -> None:
    claims = [claim("a", volumeName="pv-a"), claim("b", volumeName="pv-b")]
    objects = [csi_node(csi_x=1), *claims, using("there", "a").on("n"), volume("pv-a", handle="h")]

    assert verdict([*objects, volume("pv-b", handle="i")], using("new", "b")) == FULL
    assert verdict([*objects, volume("pv-b", handle="h")], using("new", "b")) is None


def test_a_claim_used_twice_counts_once() -> None:
    objects = [csi_node(csi_x=1), *bound("a", "b")]

    assert verdict(objects, using("new", "a", "b")) == FULL
    assert verdict(objects, using("new", "a", "a")) is None


def test_a_limit_of_none_at_all_refuses_the_first() -> None:
    assert verdict([csi_node(csi_x=0), *bound("a")], using("new", "a")) == FULL


def test_a_claim_of_no_volume_yet_counts_by_its_class() -> None:
    fast = decode_as({"metadata": {"name": "fast"}, "provisioner": "csi.x"}, StorageClass)
    unbound = claim("a", storageClassName="fast")

    assert verdict([csi_node(csi_x=0), fast, unbound], using("new", "a")) == FULL
    assert verdict([csi_node(csi_x=0), unbound], using("new", "a")) is None


def test_a_claim_whose_volume_is_gone_counts_by_its_class() -> None:
    fast = decode_as({"metadata": {"name": "fast"}, "provisioner": "csi.x"}, StorageClass)
    lost = claim("a", storageClassName="fast", volumeName="gone")

    assert verdict([csi_node(csi_x=0), fast, lost], using("new", "a")) == FULL


@pytest.mark.parametrize(
    ("source", "driver", "want"),
    [
        pytest.param(EBS, "ebs.csi.aws.com", FULL, id="EBS counts as its CSI driver's"),
        pytest.param(
            {"azureFile": {"shareName": "s"}},
            "file.csi.azure.com",
            None,
            id="Azure files do not count",
        ),
    ],
)
def test_in_tree_volumes(source: dict[str, Any], driver: str, want: Rejection | None) -> None:
    limit = csi_node("n", **{driver: 0})
    pv = decode_as({"metadata": {"name": "pv"}, "spec": source}, PersistentVolume)
    own = claim("a", volumeName="pv")

    assert verdict([limit, own, volume("pv", driver=driver)], using("new", "a")) == FULL
    assert verdict([limit, own, pv], using("new", "a")) == want
    assert verdict([limit], using("new", source)) == want


def test_a_class_of_an_in_tree_provisioner_counts_as_the_csi_drivers() -> None:
    raw = {"metadata": {"name": "gp2"}, "provisioner": "kubernetes.io/aws-ebs"}
    objects = [csi_node(ebs_csi_aws_com=0), decode_as(raw, StorageClass)]

    found = verdict([*objects, claim("a", storageClassName="gp2")], using("new", "a"))

    assert found == FULL


class TestVolumeAttachments:
    """A volume may still be attached though its pod has left."""

    def test_an_attachment_takes_room(self) -> None:
        objects = [csi_node(csi_x=1), *bound("old", "new"), attached("pv-old", "n")]

        assert verdict(objects, using("new", "new")) == FULL

    def test_the_attachment_of_a_pods_volume_is_not_counted_twice(self) -> None:
        there = using("there", "old").on("n")
        objects = [csi_node(csi_x=2), *bound("old", "other", "new"), there]
        own, foreign = attached("pv-old", "n"), attached("pv-other", "n")

        assert verdict([*objects, own, foreign], using("new", "new")) == FULL
        assert verdict([*objects, own], using("new", "new")) is None

    def test_an_attachment_to_another_node_takes_none(self) -> None:
        objects = [node("elsewhere"), csi_node(csi_x=1), *bound("old", "new")]

        assert verdict([*objects, attached("pv-old", "n")], using("new", "new")) == FULL
        assert verdict([*objects, attached("pv-old", "elsewhere")], using("new", "new")) is None

    def test_an_attachment_of_an_unknown_volume_takes_none(self) -> None:
        objects = [csi_node(csi_x=1), *bound("new"), attached("gone", "n")]

        assert verdict([*objects, volume("gone")], using("new", "new")) == FULL
        assert verdict(objects, using("new", "new")) is None

    def test_an_attachment_counts_for_its_attacher(self) -> None:
        objects = [csi_node(csi_x=1), *bound("old", "new")]

        assert verdict([*objects, attached("pv-old", "n", "csi.x")], using("new", "new")) == FULL
        assert verdict([*objects, attached("pv-old", "n", "csi.y")], using("new", "new")) is None


class TestCounting:
    """Counts follow whatever changes."""

    def test_room_comes_and_goes_with_pods(self) -> None:
        cluster = Cluster(node("n"), csi_node(csi_x=1), *bound("old", "new"))
        wanted = using("new", "new")
        assert refusal(cluster.cycle(wanted)) is None

        cluster.add(using("there", "old").on("n"))
        assert refusal(cluster.cycle(wanted)) == FULL

        cluster.cache.remove_pod("default/there")
        assert refusal(cluster.cycle(wanted)) is None

    def test_a_trial_without_a_pod_has_its_room(self) -> None:
        cluster = Cluster(node("n"), csi_node(csi_x=1), *bound("old", "new"))
        cluster.add(using("there", "old").on("n"))
        cycle = cluster.cycle(using("new", "new"))
        (there,) = cluster.cache.table.pods[0].values()

        with cluster.cache.trial():
            cluster.cache.displace(there)
            assert refusal(cycle) is None

        assert refusal(cycle) == FULL

    def test_a_raised_limit_is_seen(self) -> None:
        cluster = Cluster(node("n"), csi_node(csi_x=0), *bound("new"))
        assert refusal(cluster.cycle(using("new", "new"))) == FULL

        cluster.add(csi_node(csi_x=1))

        assert refusal(cluster.cycle(using("new", "new"))) is None

    def test_a_volume_that_turns_out_to_be_another_drivers_is_seen(self) -> None:
        cluster = Cluster(node("n"), csi_node(csi_x=1), *bound("old", "new"))
        cluster.add(using("there", "old").on("n"))
        assert refusal(cluster.cycle(using("new", "new"))) == FULL

        cluster.add(volume("pv-old", driver="csi.y"))

        assert refusal(cluster.cycle(using("new", "new"))) is None

    def test_a_node_that_comes_later_is_seen(self) -> None:
        cluster = Cluster(node("n"), csi_node(csi_x=1), csi_node("late", csi_x=0), *bound("new"))
        assert refusal(cluster.cycle(using("new", "new"))) is None

        cluster.add(node("late"))

        assert refusal(cluster.cycle(using("new", "new")), "late") == FULL

    def test_a_row_that_passes_to_another_node_is_counted_anew(self) -> None:
        objects = [*bound("old", "other", "new"), csi_node("n", csi_x=1), csi_node("m", csi_x=1)]
        there = [attached("pv-old", "n"), attached("pv-other", "m", "csi.y")]
        cluster = Cluster(node("n"), node("m"), *objects, *there)
        assert refusal(cluster.cycle(using("new", "new")), "m") is None

        for name in ("n", "m"):
            cluster.cache.remove_node(node(name).build())
        cluster.add(node("n"))

        assert refusal(cluster.cycle(using("new", "new")), "n") == FULL


def opting_in(driver: str = "csi.x") -> CSIDriver:
    spec = {"preventPodSchedulingIfMissing": True}
    return decode_as({"metadata": {"name": driver}, "spec": spec}, CSIDriver)


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([csi_node(csi_x=None), opting_in()], None, id="the driver is there"),
        pytest.param(
            [csi_node(csi_y=None), opting_in()],
            unschedulable(NOT_INSTALLED.format("csi.x")),
            id="the driver is not there",
        ),
        pytest.param(
            [opting_in()], unschedulable(NOT_INSTALLED.format("csi.x")), id="there is no CSINode"
        ),
        pytest.param([csi_node(csi_y=None)], None, id="the driver does not ask for it"),
    ],
)
def test_a_driver_may_ask_to_be_installed_first(objects: list[Any], want: Rejection | None) -> None:
    missing = unschedulable(NOT_INSTALLED.format("csi.x"))

    assert verdict([opting_in(), *bound("a")], using("new", "a")) == missing
    assert verdict([*objects, *bound("a")], using("new", "a")) == want


def test_a_claim_that_does_not_exist_refuses_the_pod_everywhere() -> None:
    text = 'looking up PVC default/a: persistentvolumeclaim "a" not found'

    assert verdict([], using("new", "a")) == unresolvable(text)


def test_a_missing_claim_of_a_pod_on_the_node_does_not_count() -> None:
    objects = [csi_node(csi_x=1), *bound("new"), using("there", "gone").on("n")]

    assert verdict([*objects, *bound("gone")], using("new", "new")) == FULL
    assert verdict(objects, using("new", "new")) is None


class TestEphemeral:
    """A generic ephemeral volume's claim must be the pod's own."""

    def test_it_counts_like_any_other(self) -> None:
        owner = [{"kind": "Pod", "name": "new", "uid": "default/new", "controller": True}]
        meta = {"name": "new-v0", "namespace": "default", "ownerReferences": owner}
        own = decode_as({"metadata": meta, "spec": {"volumeName": "pv"}}, PersistentVolumeClaim)
        objects = [csi_node(csi_x=0), own, volume("pv")]

        assert verdict(objects, using("new", {"ephemeral": {}})) == FULL

    def test_another_pods_claim_is_an_error(self) -> None:
        with pytest.raises(PluginError, match="pod is not owner"):
            verdict([claim("new-v0", volumeName="pv")], using("new", {"ephemeral": {}}))

    def test_so_it_is_for_a_pod_on_a_node_with_limits(self) -> None:
        there = using("there", {"ephemeral": {}}).on("n")
        objects = [csi_node(csi_x=9), claim("there-v0"), *bound("new"), there]

        with pytest.raises(PluginError, match="pod is not owner"):
            verdict(objects, using("new", "new"))


@pytest.mark.parametrize(
    ("wanted", "is_skipped"),
    [
        pytest.param(using("new"), True, id="no volumes"),
        pytest.param(using("new", {"hostPath": {"path": "/"}}), True, id="a path of the host"),
        pytest.param(using("new", {"csi": {"driver": "x"}}), True, id="an inline CSI volume"),
        pytest.param(using("new", "a"), False, id="a claim"),
        pytest.param(using("new", {"ephemeral": {}}), False, id="an ephemeral volume"),
        pytest.param(using("new", EBS), False, id="an in-tree volume"),
    ],
)
def test_pods_that_attach_nothing_are_not_looked_at(wanted: PodBuilder, is_skipped: bool) -> None:
    cycle = Cluster(node("n")).cycle(wanted)

    assert RULE.pre_filter(cycle, cycle.pod) is (SKIP if is_skipped else None)


class TestHints:
    """What may give a refused pod room."""

    waiting = using("new", "a").build()

    @pytest.mark.parametrize(
        ("old", "new", "want"),
        [
            pytest.param(csi_node(d=1), csi_node(d=2), Hint.QUEUE, id="a raised limit"),
            pytest.param(csi_node(d=2), csi_node(d=1), Hint.SKIP, id="a lowered limit"),
            pytest.param(csi_node(), csi_node(d=1), Hint.QUEUE, id="a new driver"),
            pytest.param(csi_node(d=1), csi_node(d=None), Hint.QUEUE, id="a limit taken away"),
            pytest.param(csi_node(d=1), csi_node(), Hint.QUEUE, id="a driver taken away"),
            pytest.param(csi_node(d=None), csi_node(d=1), Hint.SKIP, id="a first limit"),
        ],
    )
    def test_csi_node(self, old: CSINode, new: CSINode, want: Hint) -> None:
        assert hints.after_csi_node_update(self.waiting, old, new) is want

    def test_pod_deleted(self) -> None:
        freeing, plain = using("d", "b"), using("d")

        assert hints.after_pod_deleted(self.waiting, freeing.on("n").build(), None) is Hint.QUEUE
        assert hints.after_pod_deleted(self.waiting, freeing.build(), None) is Hint.SKIP
        assert hints.after_pod_deleted(self.waiting, plain.on("n").build(), None) is Hint.SKIP

    def test_claim_added(self) -> None:
        assert hints.after_claim_added(self.waiting, None, claim("a")) is Hint.QUEUE
        assert hints.after_claim_added(self.waiting, None, claim("b")) is Hint.SKIP

    def test_detached(self) -> None:
        in_tree = using("new", EBS).build()
        ours, other = attached("pv", "n", "ebs.csi.aws.com"), attached("pv", "n")

        assert hints.after_detach(self.waiting, other, None) is Hint.QUEUE
        assert hints.after_detach(in_tree, ours, None) is Hint.QUEUE
        assert hints.after_detach(in_tree, other, None) is Hint.SKIP

    def test_detached_where_the_claim_is_made_for_the_pod(self) -> None:
        scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
        waiting = pod("new").with_spec(volumes=[scratch]).build()

        assert hints.after_detach(waiting, attached("pv", "n"), None) is Hint.QUEUE
